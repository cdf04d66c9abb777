"""Joins of Arrow tables, by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

from incremental_assets.adapters.spark.not_by_tasks import NotByTasks

_SETTINGS: dict[str, Any] = {
    # The cores are Spark's to share out.
    "threads": 1,
    # It looks nothing up on the network, and leaves no file in the folder that a worker happens to be in.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}
_kept: list[DuckDBPyConnection] = []


def asked(sql: str, **tables: pa.Table) -> dict[str, np.ndarray[Any, Any]]:
    """A query's columns. One connection per worker. Raises NotByTasks where memory does not do: Spark spills to disk."""
    # Only a task joins: the process that hands tasks out does not load it, as DuckDB would make noise when that process ends.
    import duckdb

    if not _kept:
        _kept.append(duckdb.connect(":memory:", config=_SETTINGS))
    (connection,) = _kept
    for name, rows in tables.items():
        connection.register(name, rows)
    try:
        return connection.execute(sql).fetchnumpy()
    except duckdb.OutOfMemoryException as error:
        raise NotByTasks("a join needs more memory than there is") from error
    finally:
        for name in tables:
            connection.unregister(name)


def numbered(columns: Sequence[pa.ChunkedArray]) -> pa.Table:
    """The columns under names of our own (`k0`, `k1`, …), so that none of a source's can stand in the way, with the number `n` of each row."""
    names = [f"k{place}" for place in range(len(columns))]
    return pa.table([*columns, pa.array(np.arange(len(columns[0])))], names=[*names, "n"])
