"""Rows of a read and what their contract says of each: for tasks, and for Spark's own tasks where a batch is written by Spark."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.contracts.judge import Breach, Judge, breaches, reasons
from incremental_assets.adapters.spark.own_names import BREACH, BREACH_COLUMN, OPERATION, REJECT_REASON
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.model.batch import Operation

_GROUP_ROWS = 64 * 1024
_NOT_UNIQUE = "is not unique"


@dataclass(frozen=True, slots=True)
class Joined:
    """Implements `spark.read_part.ReadPart`: several parts, one after the other, for what only one task can tell of them all."""

    parts: tuple[ReadPart, ...]

    @property
    def size(self) -> int:
        """Bytes that are expected."""
        return sum(part.size for part in self.parts)

    @property
    def budget(self) -> Budget | None:
        """That of the source: the parts are of one table."""
        return self.parts[0].budget

    def batches(self) -> Iterator[pa.Table]:
        """The rows of each."""
        for part in self.parts:
            yield from part.batches()


def judged(judge: Judge, batches: Iterator[pa.Table], broken: Counter[str]) -> Iterator[pa.Table]:
    """The rows with BREACH and BREACH_COLUMN; `broken` counts the rows of each rule. A row that cannot land anyway is not judged.

    Where a value may come once, all rows are seen before the first is given back; they wait on disk.
    """
    if not judge.unique:
        yield from map(partial(_judged, judge, broken), batches)
        return
    with tempfile.TemporaryDirectory(prefix="contract-") as folder:
        path = Path(folder) / "rows.parquet"
        if not _kept(path, batches):
            return
        repeated = [(of, _repeated(path, [f"c{judge.names.index(name)}" for name in of])) for of in judge.unique]
        first = 0
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_GROUP_ROWS, use_threads=False):
                rows = pa.Table.from_batches([batch])
                twice = [_twice(of, numbers, first, rows.num_rows) for of, numbers in repeated]
                first += rows.num_rows
                yield _told(rows, (*breaches(judge, rows), *twice), broken)


def _judged(judge: Judge, broken: Counter[str], rows: pa.Table) -> pa.Table:
    return _told(rows, breaches(judge, rows), broken)


def _told(rows: pa.Table, found: Sequence[Breach], broken: Counter[str]) -> pa.Table:
    lands = _lands(rows)
    found = [Breach(each.column, each.rule, each.rows & lands) for each in found]
    for each in found:
        if count := int(each.rows.sum()):
            broken[each.reason] += count
    _, why, columns = reasons(found, rows.num_rows)
    return rows.append_column(BREACH, why).append_column(BREACH_COLUMN, columns)


def _lands(rows: pa.Table) -> NDArray[np.bool_]:
    lands = rows.column(REJECT_REASON).is_null()
    if OPERATION in rows.column_names:
        lands = pc.and_(lands, pc.equal(rows.column(OPERATION), Operation.PUT.value))
    return np.asarray(lands.to_numpy(), dtype=np.bool_)


def _kept(path: Path, batches: Iterator[pa.Table]) -> bool:
    first = next(batches, None)
    if first is None:
        return False
    with pq.ParquetWriter(path, first.schema, compression="snappy") as writer:
        writer.write_table(first)
        for rows in batches:
            writer.write_table(rows)
    return True


def _repeated(path: Path, columns: Sequence[str]) -> NDArray[np.int64]:
    """Numbers of the rows that are not alone with their values; NULL is equal to nothing."""
    import duckdb

    whole = [f"{name} IS NOT NULL" for name in columns] + [f"{REJECT_REASON} IS NULL"]
    if OPERATION in pq.read_schema(path).names:
        whole.append(f"{OPERATION} = '{Operation.PUT}'")
    rows = f"read_parquet('{path}', file_row_number = true)"
    sql = (
        f"SELECT r.file_row_number AS n FROM {rows} AS r SEMI JOIN "  # noqa: S608 - our own names
        f"(SELECT {', '.join(columns)} FROM {rows} WHERE {' AND '.join(whole)} GROUP BY ALL HAVING count(*) > 1) AS t "
        f"ON {' AND '.join(f'r.{name} = t.{name}' for name in columns)} ORDER BY n"
    )
    with duckdb.connect(":memory:", config={"threads": 1, "temp_directory": str(path.parent)}) as connection:
        found: NDArray[np.int64] = connection.execute(sql).fetchnumpy()["n"].astype(np.int64)
    return found


def _twice(of: Sequence[str], numbers: NDArray[np.int64], first: int, rows: int) -> Breach:
    mask = np.zeros(rows, dtype=bool)
    here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, first + rows)]
    mask[here - first] = True
    return Breach(of[0], _NOT_UNIQUE, mask) if len(of) == 1 else Breach("", f"{', '.join(of)}: {_NOT_UNIQUE}", mask)


def judged_batches(judge: Judge, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same for `mapInArrow`, whose batches have the source's own names, which come back."""
    names: list[str] = []

    def placed() -> Iterator[pa.Table]:
        for batch in batches:
            names[:] = batch.schema.names
            places = [f"c{place}" for place in range(len(judge.names))]
            yield pa.Table.from_batches([batch]).rename_columns([*places, *names[len(places) :]])

    for rows in judged(judge, placed(), Counter()):
        yield from rows.rename_columns([*names, BREACH, BREACH_COLUMN]).to_batches()
