"""What can be read here of a table: through its store, and in files of a kind that is known."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Whatever cannot be read in this block is left to Spark, which reads more kinds of files, or says what is wrong with this one."""
    try:
        yield
    except (FileNotFoundError, UnicodeDecodeError, struct.error, pa.ArrowException) as error:
        first = next(iter(str(error).splitlines()), "")
        raise NotByTasks(f"{what} cannot be read here ({type(error).__name__}: {first})") from error


def store_for(path: str) -> LakeStore:
    """The store of a table. Raises NotByTasks where only Spark can reach it."""
    store = store_of(path)
    if store is None:
        raise NotByTasks("only Spark can reach its lake")
    return store
