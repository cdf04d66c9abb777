"""Random batches and what other writers do in between: a table written by our own commits is what a list of rows says it must be."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import example, given, settings
from hypothesis import strategies as st

from incremental_assets.adapters.delta.log.log_state import file_path
from incremental_assets.adapters.delta.tasks.files import data_file, deletion_vector, wanted_values
from incremental_assets.adapters.delta.tasks.files.unit import Adding, Overwriting, Replacing
from incremental_assets.adapters.delta.tasks.matching import replacing, sharing
from incremental_assets.adapters.spark.arrow_types import arrow_type
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.compaction import How
from tests.adapters.tasks.tables import Row, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DDL = (
    "id bigint, part string, v double, d decimal(38,10), t timestamp, n timestamp_ntz, day date, b binary, x.`y string"
)
EXAMPLES = settings(max_examples=200 if os.environ.get("TESTS") == "all" else 5, deadline=None, derandomize=True)

PARTS = (None, "a", "é😀", "")
VALUES = (
    (None, math.nan, -0.0, 0.0, math.inf, 5e-324),
    (None, Decimal("9" * 28 + ".0000000001"), Decimal(0), Decimal("-0.5")),
    (None, datetime(1582, 10, 4, 0, 0, 0, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    (None, datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001 - as a database gives it
    (None, date(1, 1, 1), date(9999, 12, 31)),
    (None, b"", b"\x00\xff"),
    (None, "", "z" * 40, "\U0010ffff" * 33, '"tightBounds":true,'),
)
ROWS = st.tuples(st.integers(0, 6), st.sampled_from(PARTS), *(st.sampled_from(values) for values in VALUES))
"""Few keys, so that they meet again, and many values that are nearly the same."""


def told(row: Iterable[Any]) -> Row:
    """A row as one value that equals another one where the source would say so."""
    return tuple(_text(value) for value in row)


def _text(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return format(value, ".10f") if isinstance(value, Decimal) else repr(value)


def key(row: Row) -> Row:
    return row[:2]


def one_per_key(rows: Sequence[Row]) -> list[Row]:
    return list({key(row): row for row in rows}.values())


@dataclass
class Model:
    """Rows with the sequence that brought them, -1 for those of another writer."""

    rows: list[tuple[Row, int]] = field(default_factory=list)

    def upsert(self, batch: Sequence[Row], gone: Sequence[Row], seq: int, *, compares: bool) -> None:
        there = {told(row) for row, _ in self.rows} if compares else set()
        new = [row for row in batch if told(row) not in there]
        leaving = {key(row) for row in gone if None not in key(row)} - {key(row) for row in batch}
        out = {key(row) for row in new} | leaving
        self.rows = [each for each in self.rows if key(each[0]) not in out] + [(row, seq) for row in new]

    def add_new(self, batch: Sequence[Row], seq: int) -> None:
        there = Counter(told(row) for row, _ in self.rows)
        for row in batch:
            if there[told(row)]:
                there[told(row)] -= 1
            else:
                self.rows.append((row, seq))

    def add_versions(self, batch: Sequence[Row], seq: int) -> None:
        newest = {key(row): told(row) for row, _ in sorted(self.rows, key=lambda each: each[1])}
        self.rows += [(row, seq) for row in batch if newest.get(key(row)) != told(row)]


def foreign_append(table: Table, rows: Sequence[Row]) -> None:
    arrays = [
        pa.array(list(values), arrow_type(column.type))
        for column, values in zip(table.columns, zip(*rows, strict=True), strict=True)
    ]
    write_deltalake(
        table.path, pa.table(arrays, names=[each.name for each in table.columns]), mode="append", schema_mode="merge"
    )


def meddle(table: Table, model: Model, step: tuple[str, list[Row]]) -> None:
    """What another writer does between two batches."""
    what, rows = step
    if what == "append" and rows:
        foreign_append(table, rows)
        model.rows += [(row, -1) for row in rows]
    elif what == "delete" and rows:
        DeltaTable(table.path).delete(f"id = {rows[0][0]}")
        model.rows = [each for each in model.rows if each[0][0] != rows[0][0]]
    elif what == "compact":
        DeltaTable(table.path).optimize.compact()
    elif what in ("gather", "purge"):
        with suppress(CommitMissing):
            table.compact(How(what))
    elif what == "checkpoint":
        DeltaTable(table.path).create_checkpoint()


def check(table: Table, model: Model) -> None:
    assert sorted(map(told, table.read())) == sorted(told(row) for row, _ in model.rows)
    state = table.state
    assert state.version == table.version
    assert all(Path(file_path(str(table.path), add["path"])).exists() for add in state.files.values())


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few rows make many row groups, vectors of both kinds, and many shares."""
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 3)
    monkeypatch.setattr(deletion_vector, "_INLINE_BYTES", 40)
    monkeypatch.setattr(sharing, "LEAST_ROWS", 1)
    monkeypatch.setattr(sharing, "SHARE_ROWS", 1)
    monkeypatch.setattr(sharing, "_STAYING_BYTES", 1)
    monkeypatch.setattr(replacing, "_HELD_ROWS", 5)
    monkeypatch.setattr(wanted_values, "_RUN_ROWS", 2)


BY_SPARK = {
    "update": "UPDATE {table} SET `x.``y` = 'u' WHERE id = {number}",
    "delete": "DELETE FROM {table} WHERE id = {number}",
    "optimize": "OPTIMIZE {table}",
    "purge": "REORG TABLE {table} APPLY (PURGE)",
    "checkpoint": "ALTER TABLE {table} SET TBLPROPERTIES (delta.checkpointInterval = 1)",
}
BATCH = st.lists(ROWS, max_size=8)
MEDDLING = st.tuples(
    st.sampled_from(["nothing", "append", "delete", "compact", "gather", "purge", "checkpoint"]),
    st.lists(ROWS, max_size=3),
)


@EXAMPLES
@given(st.lists(st.tuples(BATCH, BATCH, st.booleans(), MEDDLING), min_size=1, max_size=8), st.booleans(), st.booleans())
def test_upserts(
    steps: list[tuple[list[Row], list[Row], bool, tuple[str, list[Row]]]], shared: bool, marks: bool
) -> None:
    with TemporaryDirectory() as folder:
        table, model = Table(Path(folder), DDL), Model()
        for number, (batch, gone, compares, meddling) in enumerate(steps):
            rows = one_per_key(batch)
            before = len(model.rows)
            # Files with marked rows are written anew once they are to have none.
            table.marks = marks or number % 2 == 0
            model.upsert(rows, gone, table.seq + 1, compares=compares)
            land = table.land_shared if shared else table.land
            done = land(Replacing((0, 1), compares=compares, leaves=True), rows, gone[::2], gone[1::2])
            assert before - done.marked + done.written == len(model.rows)
            assert table.marks or not any("deletionVector" in each.get("add", ()) for each in done.actions)
            check(table, model)
            meddle(table, model, meddling)
            check(table, model)


SHORT = st.lists(st.tuples(st.integers(0, 6), st.sampled_from([None, "a", "b"])), max_size=6)


@EXAMPLES
@given(st.lists(st.tuples(SHORT, SHORT, SHORT, st.booleans()), min_size=1, max_size=8), st.booleans())
@example([([(1, "a")], [], [], True), ([], [(1, None)], [], True), ([(1, "a")], [], [], True)], False)
def test_upserts_of_a_table_that_marks_what_is_gone(
    steps: list[tuple[list[Row], list[Row], list[Row], bool]], shared: bool
) -> None:
    with TemporaryDirectory() as folder:
        table, held = Table(Path(folder), "id bigint, note string", flags=True), dict[int, tuple[Row, bool]]()
        for batch, gone, unfit, compares in steps:
            rows = list({row[0]: row for row in batch}.values())
            land = table.land_shared if shared else table.land
            done = land(Replacing((0,), compares=compares, leaves=True, flagged_at=7), rows, gone, unfit)
            put, bad = {row[0] for row in rows}, {row[0] for row in unfit}
            flagged = {row[0] for row in gone} - put - bad
            assert done.flagged == sum(not is_gone for key, (_, is_gone) in held.items() if key in flagged)
            assert done.left == done.unfit == len([key for key in held if key in bad - put])
            kept = {
                key: (row, is_gone or key in flagged) for key, (row, is_gone) in held.items() if key not in bad - put
            }
            held = kept | {row[0]: (row, False) for row in rows}
            assert sorted(table.read_flagged(), key=repr) == sorted(held.values(), key=repr)


@pytest.mark.acceptance
@EXAMPLES
@given(st.lists(st.tuples(BATCH, MEDDLING), min_size=1, max_size=8))
def test_appends_without_a_key_count_equal_rows(steps: list[tuple[list[Row], tuple[str, list[Row]]]]) -> None:
    with TemporaryDirectory() as folder:
        table, model = Table(Path(folder), DDL), Model()
        for batch, meddling in steps:
            model.add_new(batch, table.seq + 1)
            table.land(Adding(compares=True), batch)
            check(table, model)
            meddle(table, model, meddling)
            # What is there is read again, which adds nothing.
            assert table.land(Adding(compares=True), [row for row, _ in model.rows]).written == 0
            check(table, model)


@pytest.mark.acceptance
@EXAMPLES
@given(
    st.lists(
        st.tuples(BATCH, st.sampled_from(["nothing", "compact", "gather", "purge", "checkpoint"])),
        min_size=1,
        max_size=8,
    )
)
def test_appends_with_a_key_add_versions(steps: list[tuple[list[Row], str]]) -> None:
    with TemporaryDirectory() as folder:
        table, model = Table(Path(folder), DDL), Model()
        for batch, meddling in steps:
            rows = one_per_key(batch)
            model.add_versions(rows, table.seq + 1)
            table.land(Adding(compares=True, version_key=(0, 1)), rows)
            meddle(table, model, (meddling, []))
            check(table, model)


@pytest.mark.acceptance
@EXAMPLES
@given(st.lists(st.tuples(BATCH, st.booleans(), MEDDLING), min_size=1, max_size=6), st.booleans())
def test_upserts_that_write_along_what_stays(
    steps: list[tuple[list[Row], bool, tuple[str, list[Row]]]],
    shared: bool,
) -> None:
    with TemporaryDirectory() as folder:
        table, model = Table(Path(folder), DDL), Model()
        for batch, whole, meddling in steps:
            rows = one_per_key(batch)
            model.upsert(rows, (), table.seq + 1, compares=False)
            land = table.land_shared if shared else table.land
            done = land(Replacing((0, 1), compares=False, whole=whole), rows)
            assert not whole or done.kept + done.written == len(model.rows)
            check(table, model)
            meddle(table, model, meddling)


@pytest.mark.acceptance
@settings(EXAMPLES, max_examples=40 if os.environ.get("TESTS") == "all" else 4)
@given(steps=st.lists(st.tuples(BATCH, st.sampled_from(sorted(BY_SPARK)), st.integers(0, 6)), min_size=2, max_size=5))
def test_upserts_between_what_spark_does(spark: SparkSession, steps: list[tuple[list[Row], str, int]]) -> None:
    with TemporaryDirectory() as folder:
        table, model = Table(Path(folder), DDL), Model()
        for batch, what, number in steps:
            rows = one_per_key(batch)
            model.upsert(rows, (), table.seq + 1, compares=True)
            table.land(Replacing((0, 1), compares=True), rows)
            spark.sql(BY_SPARK[what].format(table=f"delta.`{table.path}`", number=number)).collect()
            if what == "update":
                model.rows = [((*row[:-1], "u") if row[0] == number else row, seq) for row, seq in model.rows]
            if what == "delete":
                model.rows = [(row, seq) for row, seq in model.rows if row[0] != number]
            check(table, model)
            with suppress(CommitMissing):
                table.compact(How.GATHER if number % 2 else How.PURGE)
            check(table, model)
            names = [each.name for each in table.columns]
            read = spark.read.format("delta").load(str(table.path)).toArrow().select(names).to_pylist()
            assert sorted(told(row.values()) for row in read) == sorted(told(row) for row, _ in model.rows)


@pytest.mark.acceptance
@EXAMPLES
@given(st.lists(st.tuples(BATCH, MEDDLING), min_size=1, max_size=5), st.booleans())
def test_overwrites_leave_nothing_of_what_was_there(
    steps: list[tuple[list[Row], tuple[str, list[Row]]]],
    shared: bool,
) -> None:
    with TemporaryDirectory() as folder:
        table, model = Table(Path(folder), DDL), Model()
        for batch, meddling in steps:
            meddle(table, model, meddling)
            (table.land_shared if shared else table.land)(Overwriting(), batch)
            model.rows = [(row, table.seq) for row in batch]
            check(table, model)
