"""The keys of a copy: tasks tell of them what Spark tells."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta.audit.checksums import Held
from incremental_assets.adapters.delta.audit.keys import HeldKeys
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks.audit.keyed import KeysByTasks
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.spark.tasks import Tasks, TasksUnavailable
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import TableSpec
from tests.adapters.batches import Desk, Row, table
from tests.spark_jobs import sql_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = table("id bigint, note string, at bigint")
NUMBER_ROWS: list[Row] = [(place * 7 - 300, f"note, {place % 5}", place) for place in range(100)]
MANY = table(
    "code string, day date, no decimal(38,4), raw binary, seen timestamp, id int, at bigint",
    key=("seen", "code", "day", "no", "raw", "id"),
)
MANY_ROWS: list[Row] = [
    (code, day, no, raw, seen, number, number)
    for number, (code, day, no, raw, seen) in enumerate(
        itertools.product(
            ("a,b", "", "ü1:", "~"),
            (date(2024, 2, 29), date(1969, 12, 31)),
            (Decimal("-1.0000"), Decimal("1234567890123456789012345678901234.5678")),
            (b"", b"\x00\xff"),
            (datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(2026, 1, 1, tzinfo=UTC)),
        )
    )
]
BOTH = pytest.mark.parametrize(
    ("spec", "rows"),
    [
        pytest.param(NUMBERS, NUMBER_ROWS, id="a number", marks=pytest.mark.acceptance),
        pytest.param(MANY, MANY_ROWS, id="many types"),
    ],
)


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 16)
    return Desk(tmp_path / "lake", spark)


def told(desk: Desk, spec: TableSpec) -> tuple[KeysByTasks, HeldKeys]:
    """By tasks, and by Spark."""
    log = open_log(desk.path(spec))
    assert log is not None
    held = Held(desk.spark, desk.path(spec), log, spec)
    by_spark = HeldKeys(held, str(desk.folder))
    return KeysByTasks(Tasks(lambda: desk.spark), held, str(desk.folder), lambda: by_spark), by_spark


def assert_alike(by_tasks: KeysByTasks, by_spark: HeldKeys, rows: int) -> None:
    spread = by_tasks.spread()
    assert (spread, spread.rows) == (by_spark.spread(), rows)
    everywhere = KeyParts(spread.lowest, spread.highest)
    shift = (spread.highest - spread.lowest).bit_length() - 3
    parts = by_spark.sums(everywhere, shift)
    assert by_tasks.sums(everywhere, shift) == parts
    some = replace(everywhere, shift=shift, numbers=frozenset(sorted(parts)[:2]))
    texts = by_spark.texts(some)
    assert by_tasks.texts(some) == texts
    assert 0 < len(texts) < rows
    sought = frozenset(sorted(texts)[::2])
    here, there = by_tasks.rows(sought), by_spark.rows(sought)
    assert (here.column_names, here.num_rows) == (there.column_names, len(sought))
    assert sorted(map(repr, here.to_pylist())) == sorted(map(repr, there.to_pylist()))


@pytest.mark.acceptance
@BOTH
def test_tasks_tell_what_spark_tells(desk: Desk, spec: TableSpec, rows: list[Row]) -> None:
    desk.land(spec, rows)
    # Marks in the first file, and rows in another one.
    desk.land(spec, [(*row[:-1], row[-1] + 1000) for row in rows[5:9]])
    assert_alike(*told(desk, spec), len(rows))


@pytest.mark.acceptance
def test_a_row_that_is_marked_as_gone_has_no_key_there(desk: Desk) -> None:
    spec = replace(NUMBERS, deletes=Deletes(DeleteMode.DIFF, Then.MARK))
    desk.land(spec, NUMBER_ROWS)
    desk.land(spec, [(number, "", 1000) for number in (-300, -293)], gone=[-300, -293])
    by_tasks, by_spark = told(desk, spec)
    assert by_tasks.spread().lowest == -286
    assert_alike(by_tasks, by_spark, 98)


@pytest.mark.acceptance
def test_the_keys_of_marked_rows_are_told_once_such_rows_are_to_leave(desk: Desk) -> None:
    marking = replace(NUMBERS, deletes=Deletes(DeleteMode.DIFF, Then.MARK))
    desk.land(marking, NUMBER_ROWS)
    desk.land(marking, [(number, "", 1000) for number in (-300, -293)], gone=[-300, -293])
    assert [keys.marked() for keys in told(desk, marking)] == [frozenset(), frozenset()]
    removing = replace(NUMBERS, deletes=Deletes(DeleteMode.DIFF))
    for keys in told(desk, removing):
        assert keys.marked() == {"-300", "-293"}
        assert keys.spread().rows == 98
        assert keys.texts(KeyParts(-286, -286)) == {"-286"}
        found = keys.rows(frozenset({"-300", "-293", "-286"}))
        assert sorted(found["id"].to_pylist()) == [-300, -293, -286]


@pytest.mark.acceptance
def test_a_key_that_was_read_twice_is_told_once(desk: Desk) -> None:
    desk.land(NUMBERS, NUMBER_ROWS)
    by_tasks, _ = told(desk, NUMBERS)
    for within in (KeyParts(-300, 0), KeyParts(-300, -290)):
        assert "-300" in by_tasks.texts(within)
    assert by_tasks.rows(frozenset({"-300", "-1"})).to_pylist() == [{"id": -300}]
    assert by_tasks.rows(frozenset({"-293"})).to_pylist() == [{"id": -293}]


@pytest.mark.acceptance
def test_a_key_that_spark_alone_has_told_is_found_by_spark(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.land(NUMBERS, NUMBER_ROWS)
    by_tasks, _ = told(desk, NUMBERS)

    def unavailable(*_: object) -> None:
        raise TasksUnavailable("a worker ended in the middle of it")

    first = by_tasks.texts(KeyParts(-300, -300))
    monkeypatch.setattr(Tasks, "run_all", unavailable)
    second = by_tasks.texts(KeyParts(-293, -293))
    assert (first, second) == (frozenset({"-300"}), frozenset({"-293"}))
    assert sorted(row["id"] for row in by_tasks.rows(first | second).to_pylist()) == [-300, -293]


@pytest.mark.acceptance
def test_a_file_of_the_copy_that_is_missing_is_one_sentence(desk: Desk) -> None:
    desk.land(NUMBERS, NUMBER_ROWS)
    for file in Path(desk.path(NUMBERS)).glob("*.parquet"):
        file.unlink()
    found = desk.lake.keys(NUMBERS)
    assert found is not None
    everywhere = KeyParts(-300, 400)
    for ask in (lambda: found.sums(everywhere, 3), lambda: found.texts(everywhere)):
        with pytest.raises(TargetChanged, match=r"a file of the copy is gone \(.*\.parquet\), and its rows with it"):
            ask()


def test_spark_does_not_even_load_what_tasks_tell_of(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.land(NUMBERS, NUMBER_ROWS)
    before = sql_statements(desk.spark)
    found = desk.lake.keys(NUMBERS)
    assert found is not None
    assert (found.spread().rows, len(found.texts(KeyParts(-300, -200)))) == (100, 15)
    assert found.rows(frozenset({"-300"})).to_pylist() == [{"id": -300}]
    assert sql_statements(desk.spark) == before


@pytest.mark.acceptance
@pytest.mark.parametrize("reason", ["no task can run", "a key of floats"])
def test_what_tasks_do_not_tell_spark_does(desk: Desk, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    spec, rows = NUMBERS, NUMBER_ROWS
    if reason == "a key of floats":
        spec = table("id double, note string, at bigint")
        rows = [(number / 4, note, at) for number, note, at in NUMBER_ROWS]
    desk.land(spec, rows)
    asked: list[str] = []
    by_tasks, by_spark = told(desk, spec)

    def unavailable(_: Tasks, name: str, *__: object) -> None:
        asked.append(name)
        raise TasksUnavailable("its workers lack this package")

    monkeypatch.setattr(Tasks, "run_all", unavailable)
    assert_alike(by_tasks, by_spark, 100)
    assert bool(asked) is (reason == "no task can run")
