"""Folders and locks of the lake; those of a lake that only Spark can reach by Hadoop's API in its JVM."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.permissions import own_folder, plain_file
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import Busy, LakeRefused
from incremental_assets.core.model.paths import lock_path
from incremental_assets.core.model.table_id import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = timedelta(seconds=60)
"""How long to wait for another process's commit; one that takes longer is asleep or in trouble."""
_SOMETHING_ELSE = (errno.ELOOP, errno.EISDIR, errno.ENXIO)
"""What opening a link, a folder and a socket says."""
_LONGEST = 20
"""The characters that are read of a lock file, which holds the number of its process."""


def remove_folder(path: str, session: Callable[[], SparkSession]) -> None:
    """Remove a folder and all in it; silent if there is none."""
    store = store_of(path)
    if store is not None:
        store.delete_prefix(path)
        return
    system, place = _hadoop(path, session)
    recursive = True
    system.delete(place, recursive)


def make_own_folder(path: str) -> None:
    """A folder that a JVM will write to, kept to this user; a store has its own ways."""
    store = store_of(path)
    if store is not None:
        store.own_folder(path)


def names_in(path: str, session: Callable[[], SparkSession]) -> tuple[str, ...]:
    """Names of what lies in a folder; none if there is no such folder."""
    store = store_of(path)
    if store is not None:
        try:
            return tuple(store.list_from(path))
        except FileNotFoundError:
            return ()
    system, place = _hadoop(path, session)
    return tuple(str(status.getPath().getName()) for status in system.listStatus(place)) if system.exists(place) else ()


@contextmanager
def commit_lock(lake: str, table: TableId, patience: timedelta = PATIENCE) -> Iterator[None]:
    """Lets only one process at a time commit to a table of a local lake: Delta's log store for local disks is safe within one JVM only.

    The lock ends with its process, however that ends. Raises Busy where another process holds it for longer than `patience`, and LakeRefused for a
    lock file that is not ours; where there are no locks it does nothing.
    """
    store = store_of(lake)
    if store is None or not store.promises.locks:
        yield
        return
    path = Path(lock_path(lake, table))
    own_folder(path.parent)
    with _lock_file(path, table) as file:
        _acquire(file.fileno(), table, path, patience)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _lock_file(path: Path, table: TableId) -> TextIO:
    """Open a lock file, created for this user alone, as anybody who can read a file can lock it. Raises LakeRefused for what is no lock of ours.

    Where others may write to the lake, somebody can have put there a link to a file that only this user may write.
    """
    refused = LakeRefused(f"{table}: {path} is no lock file of this program's, and was left as it is; remove it")
    try:
        descriptor = plain_file(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in _SOMETHING_ELSE:
            raise refused from None
        raise
    if descriptor is None:
        raise refused
    file = os.fdopen(descriptor, "r+", encoding="utf-8", errors="replace")
    held = file.read(_LONGEST)
    if held and not held.isdigit():
        file.close()
        raise refused
    file.seek(0)
    return file


def _acquire(descriptor: int, table: TableId, path: Path, patience: timedelta) -> None:
    deadline = time.monotonic() + patience.total_seconds()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            this_process.refuse(table)
            if time.monotonic() > deadline:
                owner = path.read_text(encoding="utf-8").strip() or "unknown"
                raise Busy(
                    table,
                    f"process {owner} on this machine has been committing for more than {patience.total_seconds():.0f} s",
                ) from None
            time.sleep(0.05)
        else:
            return


def _hadoop(path: str, session: Callable[[], SparkSession]) -> tuple[Any, Any]:
    spark: Any = session()
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(spark._jsc.hadoopConfiguration()), place
