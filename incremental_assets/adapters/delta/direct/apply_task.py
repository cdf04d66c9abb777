"""In a task: match one staged batch with its target's files, mark the rows whose place it takes, write the rows that land."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from incremental_assets.adapters.delta.direct import deletion_vector
from incremental_assets.adapters.delta.direct.file_statistics import statistics
from incremental_assets.adapters.delta.direct.log_state import file_path
from incremental_assets.adapters.delta.direct.marked_file import marked_again, removed
from incremental_assets.adapters.delta.direct.unit import Adding, Applied, ApplyUnit, LandedColumn, Replacing
from incremental_assets.adapters.spark.arrow_types import arrow_type
from incremental_assets.adapters.spark.own_names import AT, LATE, OPERATION, RUN_ID, SEQ
from incremental_assets.core.model.batch import Operation

_ROWS_PER_GROUP = 256 * 1024
"""Small enough that a reader who looks for a few keys leaves most of a file out."""


def apply(unit: ApplyUnit) -> Applied:
    """Write the files of one commit; what it says to the log comes back, and nobody sees a row of it before that is committed."""
    batch = _landable(unit)
    gone: dict[int, BitMap64] = {}
    if isinstance(unit.how, Adding):
        rows = _new(unit, unit.how, batch)
    else:
        rows, gone = _changed(unit, unit.how, batch)
    actions: list[Mapping[str, Any]] = []
    now, marked = time.time_ns() // 1_000_000, 0
    for add, numbers in gone.items():
        found = unit.files[add]
        before = deletion_vector.read(unit.table, found.get("deletionVector"))
        marked += len(numbers)
        actions.append({"remove": removed(found, now)})
        again = marked_again(unit.table, found, before | numbers)
        if again is not None:
            actions.append({"add": again})
    written = _write(unit, rows, now)
    if written is not None:
        actions.append({"add": written})
    late = pc.sum(pc.fill_null(rows[LATE], False)).as_py() or 0  # noqa: FBT003
    return Applied(tuple(actions), rows.num_rows, marked, int(late), int(written["size"]) if written else 0)


def _landable(unit: ApplyUnit) -> pa.Table:
    """The staged rows to put, under the names on disk, numbered."""
    names = [f"c{each.place}" for each in unit.columns]
    read = pq.read_table(unit.staged, columns=[*names, LATE, OPERATION], partitioning=None)
    rows = read.filter(pc.equal(read[OPERATION], Operation.PUT.value)).drop_columns([OPERATION])
    schema = pa.schema(
        [*((name, _type(each)) for name, each in zip(names, unit.columns, strict=True)), (LATE, pa.bool_())]
    )
    return rows.select(schema.names).cast(schema)


def _type(column: LandedColumn) -> pa.DataType:
    found = arrow_type(column.type)
    if found is None:
        raise ValueError(f"{column.type} has no place here")
    return found


# --- upsert ---------------------------------------------------------------------------------------------


def _changed(unit: ApplyUnit, how: Replacing, batch: pa.Table) -> tuple[pa.Table, dict[int, BitMap64]]:
    """Rows of the batch that the target does not hold as they are, and per file the rows whose place they take."""
    keys = [unit.columns[place] for place in how.key]
    asked = _numbered([batch[f"c{each.place}"] for each in keys])
    equal = np.zeros(batch.num_rows, dtype=bool)
    found: list[tuple[int, np.ndarray, np.ndarray]] = []
    for index, add in enumerate(unit.files):
        dead = deletion_vector.read(unit.table, add.get("deletionVector"))
        with pq.ParquetFile(file_path(unit.table, add["path"])) as file:
            for group, offset in _groups(file, how):
                there = _columns(file, group, keys)
                rows, theirs = _matches(there, asked)
                if dead:
                    alive = ~np.isin(rows + offset, np.fromiter(dead, dtype=np.int64, count=len(dead)))
                    rows, theirs = rows[alive], theirs[alive]
                if not len(rows):
                    continue
                if how.compares:
                    equal[theirs[_equal(unit, file, group, rows, batch.take(pa.array(theirs)))]] = True
                found.append((index, rows + offset, theirs))
    gone: dict[int, BitMap64] = {}
    for index, rows, theirs in found:
        numbers = rows[~equal[theirs]]
        if len(numbers):
            gone[index] = gone.get(index, BitMap64()) | BitMap64(numbers.tolist())
    return batch.filter(pa.array(~equal)), gone


def _groups(file: pq.ParquetFile, how: Replacing) -> Iterator[tuple[int, int]]:
    """Row groups that may hold a key of the batch, each with the number of its first row."""
    places = {file.schema.column(place).path: place for place in range(len(file.schema))}
    first = 0
    for group in range(file.metadata.num_row_groups):
        told = file.metadata.row_group(group)
        if all(_reaches(told, places.get(each.column), each.lowest, each.highest) for each in how.within):
            yield group, first
        first += told.num_rows


def _reaches(group: Any, place: int | None, lowest: Any, highest: Any) -> bool:
    if place is None:
        return True
    found = group.column(place).statistics
    if found is None or not found.has_min_max:
        return True
    return not (found.max < lowest or (highest is not None and found.min > highest))


def _matches(there: Sequence[pa.ChunkedArray], asked: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of rows there and of rows of the batch that have one key, NULL being equal to NULL."""
    same = " AND ".join(f"held.k{place} IS NOT DISTINCT FROM asked.k{place}" for place in range(len(there)))
    found = _asked(
        f"SELECT held.n AS row, asked.n AS theirs FROM held JOIN asked ON {same}", held=_numbered(there), asked=asked
    )
    return found["row"], found["theirs"]


def _equal(unit: ApplyUnit, file: pq.ParquetFile, group: int, rows: np.ndarray, batch: pa.Table) -> np.ndarray:
    """Per pair of rows, whether all of the source's columns are equal; floats as their texts, as -0.0 and 0.0 are two values for a source."""
    same = np.ones(len(rows), dtype=bool)
    numbers = pa.array(rows)
    for column in unit.columns:
        (there,) = _columns(file, group, [column])
        ours, theirs = batch[f"c{column.place}"], there.take(numbers)
        if pa.types.is_floating(ours.type):
            ours, theirs = ours.cast(pa.string()), theirs.cast(pa.string())
        alike = pc.or_(pc.fill_null(pc.equal(ours, theirs), False), pc.and_(pc.is_null(ours), pc.is_null(theirs)))  # noqa: FBT003
        same &= alike.to_numpy()
    return same


# --- append ---------------------------------------------------------------------------------------------


def _new(unit: ApplyUnit, how: Adding, batch: pa.Table) -> pa.Table:
    """Rows that the target does not hold yet: of a key only its newest version counts, without one as often as they are there."""
    if not how.compares:
        return batch
    held = pa.concat_tables([*_comparable_rows(unit, how), _empty(unit)])
    ours = _numbered([batch[f"c{each.place}"] for each in unit.columns])
    places = range(len(unit.columns))
    texts = {place for place in places if unit.columns[place].type in ("float", "double")}

    def value(side: str, place: int) -> str:
        return f"CAST({side}k{place} AS VARCHAR)" if place in texts else f"{side}k{place}"

    every = ", ".join(value("", place) for place in places)
    same = " AND ".join(f"{value('a.', place)} IS NOT DISTINCT FROM {value('b.', place)}" for place in places)
    held_rows, batched = "held", "ours"
    if how.version_key:
        key = ", ".join(value("", place) for place in how.version_key)
        held_rows = f"SELECT * FROM held QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY seq DESC) = 1"
    else:
        copies = f"SELECT *, row_number() OVER (PARTITION BY {every}) AS copy FROM"
        held_rows, batched = f"{copies} held", f"({copies} ours)"
        same = f"{same} AND a.copy = b.copy"
    found = _asked(
        f"SELECT a.n FROM {batched} AS a ANTI JOIN ({held_rows}) AS b ON {same} ORDER BY 1", held=held, ours=ours
    )
    return batch.take(pa.array(found["n"]))


def _comparable_rows(unit: ApplyUnit, how: Adding) -> Iterator[pa.Table]:
    """The target's live rows whose cursor is NULL or not below the lowest of the batch."""
    for add in unit.files:
        dead = deletion_vector.read(unit.table, add.get("deletionVector"))
        with pq.ParquetFile(file_path(unit.table, add["path"])) as file:
            places = {file.schema.column(place).path: place for place in range(len(file.schema))}
            first = 0
            for group in range(file.metadata.num_row_groups):
                told = file.metadata.row_group(group)
                numbers = np.arange(first, first + told.num_rows)
                first += told.num_rows
                if (
                    how.cursor is not None
                    and how.lower is not None
                    and not _may_be_above(told, places.get(unit.columns[how.cursor].name), how.lower)
                ):
                    continue
                columns = _columns(file, group, unit.columns)
                (sequence,) = _columns(file, group, [LandedColumn(0, SEQ, "bigint")])
                rows = _numbered(columns).append_column("seq", sequence)
                yield (
                    rows.filter(pa.array(~np.isin(numbers, np.fromiter(dead, dtype=np.int64, count=len(dead)))))
                    if dead
                    else rows
                )


def _may_be_above(group: Any, place: int | None, lower: Any) -> bool:
    if place is None:
        return True
    found = group.column(place).statistics
    if found is None or not found.has_min_max or not found.has_null_count or found.null_count:
        return True
    return not found.max < lower


def _empty(unit: ApplyUnit) -> pa.Table:
    fields = [(f"k{place}", _type(each)) for place, each in enumerate(unit.columns)]
    return pa.schema([*fields, ("n", pa.int64()), ("seq", pa.int64())]).empty_table()


# --- files ----------------------------------------------------------------------------------------------


def _columns(file: pq.ParquetFile, group: int, columns: Sequence[LandedColumn]) -> list[pa.ChunkedArray]:
    """Columns of one row group; one that the file is older than is NULL in all of its rows."""
    names = [each.name for each in columns]
    there = file.read_row_group(group, columns=names)
    absent = file.metadata.row_group(group).num_rows
    held = set(there.column_names)
    return [
        there.column(each.name).cast(_type(each))
        if each.name in held
        else pa.chunked_array([pa.nulls(absent, _type(each))])
        for each in columns
    ]


def _numbered(columns: Sequence[pa.ChunkedArray]) -> pa.Table:
    """Under names of our own, so that none of a source's can stand in the way, with the number of each row."""
    count = len(columns[0])
    names = [f"k{place}" for place in range(len(columns))]
    return pa.table([*columns, pa.array(np.arange(count))], names=[*names, "n"])


def _write(unit: ApplyUnit, rows: pa.Table, now: int) -> dict[str, Any] | None:
    """One data file, on disk before the log can name it; None where no row lands."""
    if not rows.num_rows:
        return None
    count = rows.num_rows
    columns = [rows[f"c{each.place}"] for each in unit.columns]
    columns.append(pa.chunked_array([pa.repeat(pa.scalar(unit.marks.run_id, pa.string()), count)]))
    columns.append(pa.chunked_array([pa.repeat(pa.scalar(unit.marks.seq, pa.int64()), count)]))
    columns.append(pa.chunked_array([pa.repeat(pa.scalar(unit.marks.at, pa.timestamp("us", tz="UTC")), count)]))
    shaped = pa.table(columns, names=[*(each.name for each in unit.columns), RUN_ID, SEQ, AT])
    name = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    path = os.path.join(unit.table, name)
    with open(path, "xb") as file:
        pq.write_table(shaped, file, compression="snappy", row_group_size=_ROWS_PER_GROUP)
        file.flush()
        os.fsync(file.fileno())
    return {
        "path": name,
        "partitionValues": {},
        "size": os.path.getsize(path),
        "modificationTime": now,
        "dataChange": True,
        "stats": statistics(shaped, unit.statistics),
    }


_kept: list[duckdb.DuckDBPyConnection] = []


def _asked(sql: str, **tables: pa.Table) -> dict[str, Any]:
    """A query's columns. One connection per worker, and one thread: the cores are Spark's to share out."""
    if not _kept:
        _kept.append(duckdb.connect(":memory:", config={"threads": 1}))
    (connection,) = _kept
    for name, rows in tables.items():
        connection.register(name, rows)
    try:
        return connection.execute(sql).fetchnumpy()
    finally:
        for name in tables:
            connection.unregister(name)
