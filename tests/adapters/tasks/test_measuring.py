"""Rows and hashes of a table by tasks: bit for bit what the words of `adapters/databases/measure.py` say, and what Spark computes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.databases import byte_hash
from incremental_assets.adapters.delta.audit import checksums
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks.audit.measure_task import Ends, MeasureUnit, apply
from incremental_assets.adapters.delta.tasks.audit.measuring import check_versions, measured, units_of
from incremental_assets.adapters.delta.tasks.audit.repeating import may_repeat
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Replacing, Stored
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.measure import RowHash
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from tests.adapters.batches import Desk, table
from tests.adapters.tasks.tables import Row, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DDL = "id bigint, a tinyint, f boolean, s string, b binary, day date, t timestamp, n timestamp_ntz, d decimal(5,2), e decimal(38,10)"
MOMENT = datetime(1969, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - as a database gives it
ROWS: list[Row] = [
    (1, -128, True, "é😀,~", b"\x00\xff", date(1, 1, 1), MOMENT.replace(tzinfo=UTC), MOMENT, Decimal("-0.50"), Decimal(1)),
    (2, 127, False, "", b"", date(9999, 12, 31), MOMENT.replace(tzinfo=UTC), MOMENT, Decimal("999.99"), Decimal("9" * 28 + ".0000000001")),
    (3, *[None] * 9),
    (4, 0, None, "~", None, date(1970, 1, 1), None, None, Decimal(0), Decimal("-0.0000000001")),
]  # fmt: skip
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def text(value: Any) -> str:
    match value:
        case None:
            return "~"
        case bool():
            return str(value).lower()
        case str():
            return f"{len(value)}:{value}"
        case bytes():
            return value.hex()
        case datetime():
            return str((value.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1))
        case date():
            return str(value.toordinal() - EPOCH.toordinal())
    return str(value)


def told(row: Row) -> str:
    parts = [text(value) for value in row[:-2]]
    parts += [
        "~" if value is None else format(value, f".{digits}f") for value, digits in zip(row[-2:], (2, 10), strict=True)
    ]
    return ",".join(parts)


def expected(rows: Iterable[Row]) -> tuple[int, int]:
    hashes = [int(hashlib.md5(told(row).encode()).hexdigest()[:15], 16) for row in rows]
    return len(hashes), sum(hashes)


def unit(held: Table, *windows: Ends, cursor: tuple[int, ...] = (), gone: Stored | None = None) -> MeasureUnit:
    return MeasureUnit(str(held.path), tuple(held.state.files.values()), held.columns, cursor, windows, gone)


def test_every_value_has_its_text(tmp_path: Path) -> None:
    held = Table(tmp_path, DDL)
    held.land(Replacing((0,), compares=True), ROWS)
    assert apply(unit(held, Ends(None, None))) == [expected(ROWS)]


def test_a_decimal_all_of_whose_digits_are_after_the_point_has_its_zero_before_it(tmp_path: Path) -> None:
    held = Table(tmp_path, "id bigint, a decimal(4,4), b decimal(38,38)")
    held.land(
        Replacing((0,), compares=True), [(1, Decimal("0.5"), Decimal("1e-38")), (2, Decimal("-0.25"), Decimal(0))]
    )
    texts = ("1,0.5000,0." + "0" * 37 + "1", "2,-0.2500,0." + "0" * 38)
    hashes = [int(hashlib.md5(each.encode()).hexdigest()[:15], 16) for each in texts]
    assert apply(unit(held, Ends(None, None))) == [(2, sum(hashes))]


def test_rows_that_are_gone_from_a_file_or_marked_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 2)
    held = Table(tmp_path, DDL)
    held.land(Replacing((0,), compares=True), ROWS)
    changed = (1, *ROWS[1][1:])
    held.land(Replacing((0,), compares=True), [changed])
    assert apply(unit(held, Ends(None, None))) == [expected([changed, *ROWS[1:]])]
    assert apply(unit(held, Ends(None, None), gone=Stored("t", "timestamp"))) == [expected([ROWS[2], ROWS[3]])]


def test_each_row_counts_in_the_window_of_its_cursor_or_of_the_fallback(tmp_path: Path) -> None:
    held = Table(tmp_path, "day date, id bigint, other date")
    days = [(date(1970, 1, 1 + place), place, None) for place in range(6)]
    rows: list[Row] = [*days, (None, 6, date(1970, 1, 3)), (None, 7, None)]
    held.land(Replacing((1,), compares=True), rows)
    windows = (Ends(None, 1), Ends(1, 3), Ends(4, None))
    assert [count for count, _ in apply(unit(held, *windows, cursor=(0,)))] == [1, 2, 2]
    assert [count for count, _ in apply(unit(held, *windows, cursor=(0, 2)))] == [1, 3, 2]


def test_texts_of_which_few_are_different_are_hashed_as_any_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 200)
    held = Table(tmp_path, "id bigint, few string, many string")
    of_few = ("é😀", None, "", "a", "b", "a text that is not short")
    rows: list[Row] = [(place, of_few[place // 150 % 6], f"text number {place}") for place in range(1000)]
    held.land(Replacing((0,), compares=True), rows)
    held.land(Replacing((0,), compares=True), [(7, "other", "one")])
    rows[7] = (7, "other", "one")
    measures = apply(replace(unit(held, Ends(None, 500), Ends(500, None), cursor=(0,)), by=RowHash.BYTES))
    assert measures == [by_bytes(rows[:500]), by_bytes(rows[500:])]
    first = next(iter(held.state.files.values()))
    with row_groups(str(held.path), first, (), encoded=True) as groups:
        kinds = [each.type for each in groups[1].columns(held.columns)]
        found = [value for group in groups for value in group.columns(held.columns)[1].to_pylist()]
    assert kinds == [pa.int64(), pa.dictionary(pa.int32(), pa.string()), pa.string()]
    assert found == [of_few[place // 150 % 6] for place in range(1000)]


def by_bytes(rows: list[Row]) -> tuple[int, int]:
    kinds = (pa.int64(), pa.string(), pa.string())
    columns = [
        pa.chunked_array([pa.array(values, kind)]) for kind, values in zip(kinds, zip(*rows, strict=True), strict=True)
    ]
    return len(rows), sum(byte_hash.row_hashes(columns).tolist())


@pytest.mark.acceptance
def test_spark_computes_the_same(spark: SparkSession, tmp_path: Path) -> None:
    spec = table(f"{DDL}, at bigint")
    desk = Desk(tmp_path / "lake", spark)
    rows: list[Row] = [(*row, place) for place, row in enumerate(ROWS)]
    desk.land(spec, rows)
    desk.land(spec, [(*ROWS[0], 9), (*(7, *ROWS[1][1:]), 10)])
    log = open_log(desk.path(spec))
    assert log is not None
    tasks = Tasks(lambda: spark)
    ends = [None, *(CursorValue(CursorType.INTEGER, text) for text in ("2", "10")), None]
    for windows in (
        [Window(None, None)],
        [Window(lower, upper) for lower, upper in pairwise(ends)],
    ):
        units = units_of(desk.path(spec), log, spec, windows)
        by_tasks = measured(tasks, units, windows, RowHash.TEXT)
        assert by_tasks == checksums.measure(checksums.Held(spark, desk.path(spec), log, spec), windows)
        assert sum(found.rows for found in by_tasks) == 5


@pytest.mark.acceptance
def test_of_an_append_in_which_no_key_is_there_twice_every_row_counts(spark: SparkSession, tmp_path: Path) -> None:
    spec, desk, tasks = (
        table(f"{DDL}, at bigint", Strategy.APPEND),
        Desk(tmp_path / "lake", spark),
        Tasks(lambda: spark),
    )
    whole = [Window(None, None)]
    desk.land(spec, [(*row, place) for place, row in enumerate(ROWS)])
    log = open_log(desk.path(spec))
    assert log is not None
    check_versions(spec, lambda: may_repeat(tasks, desk.path(spec), log, spec))
    by_tasks = measured(tasks, units_of(desk.path(spec), log, spec, whole), whole, RowHash.TEXT)
    assert by_tasks == checksums.measure(checksums.Held(spark, desk.path(spec), log, spec), whole)
    assert by_tasks[0].rows == len(ROWS)

    desk.land(spec, [(*ROWS[0], 9)])
    log = open_log(desk.path(spec))
    assert log is not None
    with pytest.raises(NotByTasks, match="last version"):
        check_versions(spec, lambda: may_repeat(tasks, desk.path(spec), log, spec))
