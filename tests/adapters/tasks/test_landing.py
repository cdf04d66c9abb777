"""Commits of our own on real Spark and Delta: which way a batch lands, and tables that Spark and we write in turn."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.commit_file import ENGINE
from incremental_assets.adapters.delta.tasks.matching import sharing
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import Overtaken
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import Desk, Row, table
from tests.adapters.tasks.kernel import kernel_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id bigint, note string, at bigint"
ORDERS = table(COLUMNS)
EVENTS = table(COLUMNS, Strategy.APPEND, key=())
COUNTRIES = table(COLUMNS, Strategy.FULL_REFRESH, cursor="")
FIRST: list[Row] = [(number, "a", number) for number in range(1, 21)]


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(tmp_path / "lake", spark)


def commits(desk: Desk, spec: TableSpec) -> list[str]:
    """What each version says it is, `ours` or `Spark's`, without those that only make the table."""
    history = DeltaTable(desk.path(spec)).history()
    return [
        f"{'ours' if each['engineInfo'] == ENGINE else 'Spark'}: {each['operation']}"
        for each in reversed(history)
        if each["operation"] not in ("CREATE TABLE", "SET TBLPROPERTIES")
    ]


def as_told_by_delta_rs(desk: Desk, spec: TableSpec) -> list[Row]:
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in spec.shape.names)
    found = QueryBuilder().register("t", DeltaTable(desk.path(spec))).execute(f"SELECT {listed} FROM t").read_all()
    return sorted((tuple(each.as_py() for each in row) for row in zip(*found.columns, strict=True)), key=str)


def test_an_upsert_that_replaces_adds_and_takes_away(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    second = desk.land(ORDERS, [(1, "b", 30), (2, "a", 2), (99, "b", 31)], late=[99])
    assert second.rows == RowCounts(read=3, inserted=1, updated=1, unchanged=1, late=1)
    third = desk.land(ORDERS, [(3, "gone", 40), (4, "bad", 41), (5, "b", 42), (6, "a", 6)], gone=["gone"], bad=["bad"])
    assert third.rows == RowCounts(read=4, inserted=0, updated=1, deleted=2, unchanged=1, quarantined=1)
    assert [("1 row" in text) for text in third.warnings] == [True]
    fourth = desk.land(ORDERS, [(77, "gone", 50), (7, "b", 51)], gone=["gone"])
    assert fourth.rows == RowCounts(read=2, updated=1)
    assert commits(desk, ORDERS) == ["ours: WRITE", "ours: WRITE", "ours: MERGE", "ours: WRITE"]
    changed = {1: "b", 5: "b", 7: "b"}
    expected = [
        (key, changed.get(key, "a"), {1: 30, 5: 42, 7: 51}.get(key, key)) for key in range(1, 21) if key not in (3, 4)
    ]
    expected = sorted([*expected, (99, "b", 31)], key=str)
    assert desk.rows(ORDERS) == as_told_by_delta_rs(desk, ORDERS) == expected
    assert kernel_rows(desk.spark, desk.path(ORDERS), ("getLong", "getString", "getLong")) == expected
    assert desk.lake.find(ORDERS, "batch3") is not None


@pytest.mark.acceptance
def test_a_batch_that_tasks_share_is_one_commit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "LEAST_ROWS", 1)
    monkeypatch.setattr(sharing, "SHARE_ROWS", 1)
    desk.land(ORDERS, [(number, "a", number) for number in range(1, 201)])
    rows: list[Row] = [(number, "b" if number % 2 else "a", number) for number in range(1, 101)]
    done = desk.land(
        ORDERS, [*rows, (150, "gone", 150), (151, "bad", 151), (300, "b", 300)], gone=["gone"], bad=["bad"], late=[300]
    )
    assert done.rows == RowCounts(read=103, inserted=1, updated=50, deleted=2, unchanged=50, late=1, quarantined=1)
    assert commits(desk, ORDERS) == ["ours: WRITE", "ours: MERGE"]
    state = log_cache.at(desk.path(ORDERS), DeltaTable(desk.path(ORDERS)).version())
    assert len(state.files) > 3, "each task wrote a file"
    expected = [
        (number, "b" if number % 2 and number < 101 else "a", number)
        for number in range(1, 201)
        if number not in (150, 151)
    ]
    expected = sorted([*expected, (300, "b", 300)], key=str)
    assert desk.rows(ORDERS) == as_told_by_delta_rs(desk, ORDERS) == expected
    assert kernel_rows(desk.spark, desk.path(ORDERS), ("getLong", "getString", "getLong")) == expected


@pytest.mark.acceptance
def test_the_vectors_of_one_commit_lie_in_one_file(desk: Desk) -> None:
    expected: dict[int, Row] = {}

    def land(note: str, *numbers: range) -> None:
        rows: list[Row] = [(number, note, len(expected) + number) for part in numbers for number in part]
        expected.update((row[0], row) for row in rows)
        desk.land(ORDERS, rows)

    land("first", range(30_000))
    land("second", range(50_000, 56_000))
    land("third", range(70_000, 75_000))
    land("b", range(0, 30_000, 40), range(50_000, 56_000, 8))
    land("c", range(1, 30_000, 40), range(70_000, 75_000, 7))
    assert len([path for path in Path(desk.path(ORDERS)).iterdir() if path.suffix == ".bin"]) == 2
    state = log_cache.at(desk.path(ORDERS), DeltaTable(desk.path(ORDERS)).version())
    placed = sorted(add["deletionVector"]["offset"] for add in state.files.values() if add.get("deletionVector"))
    assert placed[0] == 1 < placed[1], "two in one file, and one that stays where it lies behind another"
    assert len(placed) == 3
    rows = sorted(expected.values(), key=str)
    assert desk.rows(ORDERS) == as_told_by_delta_rs(desk, ORDERS) == rows
    assert kernel_rows(desk.spark, desk.path(ORDERS), ("getLong", "getString", "getLong")) == rows


@pytest.mark.acceptance
def test_an_append_a_full_refresh_and_a_position(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 1), (1, "a", 1), (2, None, 2)])
    assert desk.land(EVENTS, [(1, "a", 1), (1, "a", 1), (1, "a", 1), (2, None, 2)]).rows.inserted == 1
    assert commits(desk, EVENTS) == ["ours: WRITE"] * 2
    again = Desk(desk.folder / "other", desk.spark)
    again.land(COUNTRIES, FIRST, mode=Mode.SYNC)
    second = again.land(COUNTRIES, [(1, "b", 1)])
    assert (second.rows.inserted, second.rows.deleted) == (1, 20)
    assert again.rows(COUNTRIES) == as_told_by_delta_rs(again, COUNTRIES) == [(1, "b", 1)]
    assert commits(again, COUNTRIES) == ["ours: WRITE"] * 2
    loaded = Desk(desk.folder / "loaded", desk.spark)
    plan, shown = loaded.loading(ORDERS), loaded.show(ORDERS, FIRST)
    loaded.apply(plan, loaded.lake.load(plan, shown), shown)
    assert commits(loaded, ORDERS) == ["Spark: WRITE", "ours: WRITE"]
    assert len(loaded.rows(ORDERS)) == 20


@pytest.mark.acceptance
def test_names_that_need_column_mapping(desk: Desk) -> None:
    awkward = table("a `b` bigint, x.y string, Z;9 int, at bigint", key=("a `b`",))
    desk.land(awkward, [(number, "a", 1, number) for number in range(20)])
    desk.land(awkward, [(3, "b", 2, 30), (50, "c", None, 31)])
    assert commits(desk, awkward) == ["ours: WRITE"] * 2
    rows = desk.rows(awkward)
    assert rows == as_told_by_delta_rs(desk, awkward)
    assert rows == kernel_rows(desk.spark, desk.path(awkward), ("getLong", "getString", "getInt", "getLong"))
    assert ((3, "b", 2, 30) in rows, (50, "c", None, 31) in rows, len(rows)) == (True, True, 21)
    assert desk.read(awkward).where("`a ``b``` = 50").count() == 1, "files are left out by their own names"


@pytest.mark.acceptance
def test_what_spark_has_done_to_a_table_is_gone_on_from(desk: Desk) -> None:
    rows: list[Row] = [(number, "a", number) for number in range(1, 3001)]
    desk.land(ORDERS, rows)
    desk.sql("DELETE FROM {t} WHERE id % 2 = 0", ORDERS)
    desk.sql("UPDATE {t} SET note = 'u' WHERE id = 5", ORDERS)
    log = Path(desk.path(ORDERS)) / "_delta_log"
    vectors = {
        add.get("deletionVector", {}).get("storageType") for add in log_cache.at(desk.path(ORDERS), 3).files.values()
    }
    assert "u" in vectors, "a vector that Spark has written"
    desk.previous = None
    desk.spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
        desk.spark._jsparkSession, desk.path(ORDERS)
    ).checkpoint()  # type: ignore[union-attr, operator, misc]
    assert (log / "_last_checkpoint").exists()
    expected = dict.fromkeys(range(1, 3001, 2), "a") | {5: "u"}
    for tick in range(3):
        desk.land(ORDERS, [(5, f"t{tick}", 4000 + tick), (2, f"t{tick}", 4000 + tick), (7, f"t{tick}", 4000 + tick)])
        expected |= dict.fromkeys((2, 5, 7), f"t{tick}")
        if tick == 1:
            desk.sql("OPTIMIZE {t}", ORDERS)
    assert commits(desk, ORDERS)[-4:] == ["ours: WRITE", "ours: WRITE", "Spark: OPTIMIZE", "ours: WRITE"]
    assert {row[0]: row[1] for row in desk.rows(ORDERS)} == expected
    assert {row[0]: row[1] for row in as_told_by_delta_rs(desk, ORDERS)} == expected
    assert dict(kernel_rows(desk.spark, desk.path(ORDERS), ("getLong", "getString"))) == expected
    desk.sql("REORG TABLE {t} APPLY (PURGE)", ORDERS)
    assert {row[0]: row[1] for row in desk.rows(ORDERS)} == expected


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("ALTER TABLE {t} SET TBLPROPERTIES (delta.enableChangeDataFeed = 'true')", "changeDataFeed"),
        ("ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)", "checkConstraints"),
        ("ALTER TABLE {t} SET TBLPROPERTIES (delta.enableInCommitTimestamps = 'true')", "inCommitTimestamp"),
        ("ALTER TABLE {t} CLUSTER BY (at)", "clustering"),
    ],
)
def test_what_we_do_not_know_of_a_table_is_sparks_to_write_and_the_reason_is_told(
    desk: Desk, statement: str, why: str
) -> None:
    desk.land(ORDERS, FIRST)
    desk.sql(statement, ORDERS)
    done = desk.land(ORDERS, [(1, "b", 30)])
    assert done.rows.updated == 1
    assert why in done.by_spark
    assert commits(desk, ORDERS)[-1] == "Spark: WRITE"


@pytest.mark.acceptance
def test_a_file_that_only_spark_should_read_is_left_to_it_by_the_task(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    (name,) = Path(desk.path(ORDERS)).glob("part-*.parquet")
    pq.write_table(pq.read_table(name).replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), name)
    assert desk.land(ORDERS, [(1, "b", 30)]).rows.updated == 1
    assert commits(desk, ORDERS) == ["ours: WRITE", "Spark: WRITE"]


@pytest.mark.acceptance
def test_a_batch_whose_task_is_killed_lands_by_spark(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: Any) -> None:
        desk.spark.range(1).mapInArrow(lambda _: os._exit(9), "id long").collect()

    desk.land(ORDERS, FIRST)
    monkeypatch.setattr("incremental_assets.adapters.spark.tasks._job", killed)
    assert desk.land(ORDERS, [(1, "b", 30)]).rows.updated == 1
    assert commits(desk, ORDERS) == ["ours: WRITE", "Spark: WRITE"]


def test_another_hand_that_is_first_leaves_nothing_of_us(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.land(ORDERS, FIRST)
    run = Tasks.run

    def overtaken(tasks: Tasks, module: str, unit: Any) -> Any:
        done = run(tasks, module, unit)
        desk.sql("DELETE FROM {t} WHERE id = 1", ORDERS)
        return done

    folder = Path(desk.path(ORDERS))
    plan, shown = desk.plan(ORDERS), desk.show(ORDERS, [(2, "b", 30)])
    batch = desk.stage.write(plan, shown)
    monkeypatch.setattr(Tasks, "run", overtaken)
    with pytest.raises(Overtaken):
        desk.apply(plan, batch, shown)
    named = {add["path"] for add in log_cache.at(desk.path(ORDERS), DeltaTable(folder).version()).files.values()}
    assert {path.name for path in folder.glob("part-*")} == named, "what was written for nothing is gone"
    assert desk.rows(ORDERS) == sorted(FIRST[1:], key=str)


@pytest.mark.acceptance
def test_values_of_every_type_are_read_as_they_were_staged(desk: Desk) -> None:
    spec = table(
        "id bigint, a tinyint, b smallint, c int, d float, e double, f boolean, g string, h binary, i date, j timestamp, k timestamp_ntz, "
        "l decimal(5,2), m decimal(15,2), n decimal(38,10), at bigint"
    )
    moment = datetime(1969, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - as a database gives it
    highest = Decimal("9" * 28 + "." + "9" * 10)
    numbers = (Decimal("-999.99"), Decimal("9999999999999.99"), highest)
    full = (
        -128,
        -32768,
        -(2**31),
        0.1,
        5e-324,
        True,
        "é😀\x00",
        b"\x00\xff",
        date(1, 1, 1),
        moment.replace(tzinfo=UTC),
        moment,
    )
    rows: list[Row] = [(1, *full, *numbers, 1), (2, *(None for _ in full), None, None, None, 2)]
    desk.land(spec, [(3, *(None for _ in full), None, None, None, 3)])
    assert desk.land(spec, rows).rows.inserted == 2
    assert desk.land(spec, rows).rows.unchanged == 2, "as they are read, they are equal"
    assert commits(desk, spec) == ["ours: WRITE"] * 3
    found = {row[0]: row for row in desk.rows(spec)}
    assert found[2] == rows[1]
    told = (*full[:3], float(np.float32(0.1)), *full[4:8], date(1, 1, 1))
    assert found[1][1:10] == (*told[:7], bytearray(b"\x00\xff"), told[8])
    assert found[1][11:] == (moment, *numbers, 1)
    assert desk.read(spec).where("m = 9999999999999.99 AND l < 0 AND n > 1 AND j < '1970-01-01'").count() == 1
    getters = ("getLong", "getByte", "getShort", "getInt", "getFloat", "getDouble", "getBoolean", "getString")
    assert kernel_rows(desk.spark, desk.path(spec), getters)[0][1:] == pytest.approx(told[:7])


def test_days_before_the_calendar_of_today_are_read_by_any_spark(desk: Desk) -> None:
    spec = table("id bigint, day date, t timestamp, at bigint")
    rows: list[Row] = [(1, date(1, 1, 1), datetime(1582, 10, 4, tzinfo=UTC), 1), (2, date(9999, 12, 31), None, 2)]
    desk.land(spec, rows)
    assert commits(desk, spec) == ["ours: WRITE"]
    desk.spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION")
    try:
        assert [row[1] for row in desk.rows(spec)] == [date(1, 1, 1), date(9999, 12, 31)]
    finally:
        desk.spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    assert (
        json.loads(next(iter(log_cache.at(desk.path(spec), 1).files.values()))["stats"])["minValues"]["day"]
        == "0001-01-01"
    )
