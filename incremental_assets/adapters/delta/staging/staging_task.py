"""Runs in a task: reads some rows of a snapshot as Arrow, counts them and writes them as a part of a staged batch."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.databases.dialect import ReadPart
from incremental_assets.adapters.delta.encoding import encoding
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import (
    BREACH,
    BREACH_COLUMN,
    LATE,
    OPERATION,
    RAW,
    READ_FLAGS,
    REJECT_COLUMN,
    REJECT_REASON,
)
from incremental_assets.core.model.batch import Operation

if TYPE_CHECKING:
    from incremental_assets.adapters.contracts.judge import Judge

_GROUP_BYTES = 16 * 2**20
"""The bytes of rows in memory that become one row group: of four times as many a task needs twice the memory, and a third more time to get it."""
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark by which the source says of a row that it is gone: the place of the column, and what it holds there as text; None: anything but NULL."""

    place: int
    value: str | None

    def rows(self, rows: pa.Table, types: Sequence[str]) -> pa.ChunkedArray:
        """Whether each of them is marked."""
        column = rows.column(self.place)
        if self.value is None:
            return column.is_valid()
        texts = column.cast(required_type(types[self.place])).cast(pa.string())
        return pc.fill_null(pc.equal(texts, self.value), fill_value=False)


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted of a batch, by the places of its columns.

    `key`: with the names, of a batch in which a row without a whole key cannot land. `ends`: of these the smallest and the largest are reported.
    `cursor`: its value, or the fallback's; `future`: counted from here on, in the cursor's own unit (days, microseconds, or as it is).
    `mark`: of a batch in which a marked row leaves the copy.
    """

    key: tuple[tuple[int, str], ...] = ()
    names: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()
    cursor: tuple[int, ...] = ()
    future: int | None = None
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """The contract of the rows. `holds`: one that breaks it does not land; else it is only counted."""

    judge: Judge
    holds: bool


@dataclass(frozen=True, slots=True)
class StageUnit:
    """One part of a read, and the file that it becomes."""

    part: ReadPart
    types: tuple[str, ...]
    counting: Counting
    file: str
    contract: Trial | None = None

    @property
    def size(self) -> int:
        """The bytes that its part is expected to have, by which units are spread over tasks."""
        return self.part.size


@dataclass(slots=True)
class StagedPart:
    """What was counted of one part; `lower` and `future` are in the cursor's own unit, `ends` are per column of `Counting.ends`."""

    rows: int = 0
    rejected: int = 0
    gone: int = 0
    future: int = 0
    nulls: int = 0
    lower: Any = None
    ends: tuple[tuple[int, int] | None, ...] = ()
    digest: str = ""
    held: int = 0
    broken: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    """Rows that break each rule of a contract; one may break several."""


def apply(unit: StageUnit) -> StagedPart:
    """Write the part's rows to its file, and count them on the way."""
    counted = StagedPart(ends=(None,) * len(unit.counting.ends))
    schema = staged_schema(unit.types)
    with pq.ParquetWriter(unit.file, schema, **encoding(schema)) as writer:
        for rows in _read(unit, counted):
            staged = with_operation(rows).cast(schema)
            count_rows(counted, staged, unit.counting)
            writer.write_table(staged, row_group_size=max(1, staged.num_rows))
            del rows, staged  # or they would be held while the next ones are read
    counted.digest = digest(Path(unit.file))
    return counted


def _read(unit: StageUnit, counted: StagedPart) -> Iterator[pa.Table]:
    # By `map`: a loop would hold a group while the next one is read.
    rows = map(partial(_told_of_keys, unit), grouped(unit.part.batches()))
    if unit.contract is None:
        return rows
    # Only here: a table without a contract does not wait for pandas.
    from incremental_assets.adapters.delta.staging.contracted import judged

    passed = judged(unit.contract.judge, rows, counted.rules)
    return map(partial(_held, counted=counted, holds=unit.contract.holds), passed)


def _told_of_keys(unit: StageUnit, rows: pa.Table) -> pa.Table:
    return _without_marked(_flag_null_keys(rows, unit.counting), unit)


def _without_marked(rows: pa.Table, unit: StageUnit) -> pa.Table:
    """A row that the source has marked is gone, so no contract judges it."""
    mark = unit.counting.mark
    if mark is None:
        return rows
    goes = pc.or_(pc.is_valid(rows.column(REJECT_REASON)), mark.rows(rows, unit.types))
    return rows.append_column(OPERATION, pc.if_else(goes, Operation.GONE.value, Operation.PUT.value))


def _held(rows: pa.Table, counted: StagedPart, *, holds: bool) -> pa.Table:
    """Rows that break their contract are rejected for it, where it holds them; only with OPERATION does it show that they are."""
    why, where = rows.column(BREACH), rows.column(BREACH_COLUMN)
    counted.broken += rows.num_rows - why.null_count
    rows = rows.drop_columns([BREACH, BREACH_COLUMN])
    if not holds or why.null_count == rows.num_rows:
        return rows
    breaks = pc.is_valid(why)
    rows = with_operation(rows)
    told = {
        REJECT_REASON: pc.coalesce(rows.column(REJECT_REASON), why),
        REJECT_COLUMN: pc.coalesce(rows.column(REJECT_COLUMN), where),
        OPERATION: pc.if_else(breaks, Operation.HELD.value, rows.column(OPERATION)),
    }
    for name, values in told.items():
        rows = rows.set_column(rows.column_names.index(name), name, values)
    return rows


def staged_schema(types: Sequence[str]) -> pa.Schema:
    """The schema of the files of a batch."""
    columns = [(f"c{place}", required_type(kind)) for place, kind in enumerate(types)]
    return pa.schema(
        [
            *columns,
            *((name, pa.bool_() if name == LATE else pa.string()) for name in READ_FLAGS),
            (OPERATION, pa.string()),
        ]
    )


def grouped(batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Together, so that a row group is worth its place; never more than fits."""
    held: list[pa.Table] = []
    size = 0
    for rows in batches:
        held.append(rows)
        size += rows.nbytes
        if size >= _GROUP_BYTES:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)


def _flag_null_keys(rows: pa.Table, counting: Counting) -> pa.Table:
    """Flags rows with a NULL in the key as rejected, where `counting` names a key: they cannot be told apart from each other."""
    if not any(rows.column(place).null_count for place, _ in counting.key):
        return rows
    columns, reasons, raws = (rows.column(name).to_pylist() for name in (REJECT_COLUMN, REJECT_REASON, RAW))
    missing = [(name, rows.column(place).is_null().to_pylist()) for place, name in counting.key]
    for number in range(rows.num_rows):
        absent = next((name for name, is_null in missing if is_null[number]), None)
        if absent is not None and reasons[number] is None:
            columns[number], reasons[number] = absent, "a part of the key is NULL"
            raws[number] = _as_json(rows, number, counting.names)
    for name, values in ((REJECT_COLUMN, columns), (REJECT_REASON, reasons), (RAW, raws)):
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values, pa.string()))
    return rows


def _as_json(rows: pa.Table, number: int, names: Sequence[str]) -> str:
    """The row as one JSON object of texts, as the source gives it for rows that it rejects itself."""
    values = (rows.column(place)[number].as_py() for place in range(len(names)))
    return json.dumps({name: _text(value) for name, value in zip(names, values, strict=True)}, ensure_ascii=False)


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex().upper()
    return None if value is None else str(value)


def with_operation(rows: pa.Table) -> pa.Table:
    """A row that cannot land leaves no older one of its key behind, unless it is known to be held."""
    if OPERATION in rows.column_names:
        return rows
    goes = pc.is_valid(rows.column(REJECT_REASON))
    return rows.append_column(OPERATION, pc.if_else(goes, Operation.GONE.value, Operation.PUT.value))


def count_rows(counted: StagedPart, rows: pa.Table, counting: Counting) -> None:
    """Add rows, which say what they do to the copy, to what was counted so far."""
    puts = pc.equal(rows.column(OPERATION), Operation.PUT.value)
    # Nearly always every row lands, and to filter is to copy.
    lands = rows if pc.all(puts).as_py() else rows.filter(puts)
    counted.rows += rows.num_rows
    rejected = rows.num_rows - rows.column(REJECT_REASON).null_count
    counted.rejected += rejected
    counted.gone += rows.num_rows - lands.num_rows - rejected
    counted.held += pc.sum(pc.equal(rows.column(OPERATION), Operation.HELD.value)).as_py() or 0
    counted.ends = tuple(
        _wider(ends, lands.column(place)) for ends, place in zip(counted.ends, counting.ends, strict=True)
    )
    if counting.cursor:
        cursor = pc.coalesce(*(_ordered(lands.column(place)) for place in counting.cursor))
        counted.nulls += cursor.null_count
        lowest = pc.min(cursor).as_py()
        if lowest is not None and (counted.lower is None or lowest < counted.lower):
            counted.lower = lowest
        if counting.future is not None:
            counted.future += _from_on(cursor, counting.future)


def _ordered(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A cursor as whole numbers: days, microseconds, or what it is."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).cast(pa.int64())
    return column if pa.types.is_decimal(column.type) else column.cast(pa.int64())


def _from_on(cursor: pa.ChunkedArray, value: int) -> int:
    return pc.sum(pc.greater_equal(cursor, value)).as_py() or 0


def _wider(ends: tuple[int, int] | None, column: pa.ChunkedArray) -> tuple[int, int] | None:
    found = pc.min_max(column).as_py()
    if found["min"] is None:
        return ends
    low, high = found["min"], found["max"]
    return (low, high) if ends is None else (min(low, ends[0]), max(high, ends[1]))


def digest(path: Path) -> str:
    """The first 32 hexadecimal digits of the BLAKE2b hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
