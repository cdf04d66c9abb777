"""Why a commit is left to Spark's writer, and where Spark may not make it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.core.errors import LakeRefused


class NotByTasks(Exception):
    """What a table, its log, one of its files or the file system has that is not known here: its words say what."""


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Whatever cannot be read in this block is left to Spark, which reads more kinds of files, or says what is wrong with this one."""
    try:
        yield
    except (FileNotFoundError, UnicodeDecodeError, struct.error, pa.ArrowException) as error:
        first = next(iter(str(error).splitlines()), "")
        raise NotByTasks(f"{what} cannot be read here ({type(error).__name__}: {first})") from error


def leave_to_spark(path: str, why: object) -> None:
    """Checks that Spark may commit to a table what is not done here. Raises LakeRefused where it does not ask whether another writer was first."""
    if not spark_commits(path):
        raise LakeRefused(
            f"{path}: only Spark could make this commit ({why}), and of two writers in S3 Spark would let both win, so it was not made; "
            "take away what is in its way, or keep this lake on a disk"
        )


def spark_commits(path: str) -> bool:
    """Whether commits of Spark's own are safe there."""
    store = store_of(path)
    return store is None or store.promises.spark_commits


def store_for(path: str) -> LakeStore:
    """The store of a table. Raises NotByTasks where only Spark can reach it."""
    store = store_of(path)
    if store is None:
        raise NotByTasks("only Spark can reach its lake")
    return store
