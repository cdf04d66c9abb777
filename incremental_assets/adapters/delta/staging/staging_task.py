"""Runs in a task: reads some rows of a snapshot as Arrow, counts them and writes them as a part of a staged batch."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.delta.encoding import encoding
from incremental_assets.adapters.delta.erased import Left
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.staging.counting import Counting, StagedPart, count_rows, with_operation
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
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.model.batch import Operation

if TYPE_CHECKING:
    from incremental_assets.adapters.contracts.judge import Judge

_GROUP_BYTES = 16 * 2**20
"""The bytes of rows in memory that become one row group: of four times as many a task needs twice the memory, and a third more time to get it."""
_BLOCK = 2**20


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
    left: Left | None = None
    """What keeps out rows whose keys were erased; None where none was."""

    @property
    def size(self) -> int:
        """The bytes that its part is expected to have, by which units are spread over tasks."""
        return self.part.size

    @property
    def budget(self) -> Budget | None:
        """That of the source which its part asks."""
        return self.part.budget


def apply(unit: StageUnit) -> StagedPart:
    """Write the part's rows to its file, and count them on the way."""
    counted = StagedPart(ends=(None,) * len(unit.counting.ends))
    schema = staged_schema(unit.types)
    with store_for(unit.file).passing(unit.file) as file:
        hashed = Hashed(file)
        with pq.ParquetWriter(hashed, schema, **encoding(schema)) as writer:
            for rows in _read(unit, counted):
                staged = with_operation(rows).cast(schema)
                if unit.left is not None:
                    staged = unit.left.rows(staged)
                    counted.erased += rows.num_rows - staged.num_rows
                count_rows(counted, staged, unit.counting)
                writer.write_table(staged, row_group_size=max(1, staged.num_rows))
                del rows, staged  # or they would be held while the next ones are read
    counted.digest = hashed.digest
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


class Hashed(io.RawIOBase):
    """A file that is hashed while it is written."""

    def __init__(self, file: Any) -> None:
        self._file, self._hash = file, hashlib.blake2b()

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """To the file, and to the hash."""
        self._hash.update(data)
        self._file.write(data)
        return memoryview(data).nbytes

    @property
    def digest(self) -> str:
        """The first 32 hexadecimal digits of the BLAKE2b hash of what was written."""
        return self._hash.hexdigest()[:32]
