"""What a task of ours puts into a quarantine, and what it says of it later, is what Spark would have: value by value, as the same texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.measure import NULL, spark_row_text
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.quarantine import by_tasks, kept_rows, waiting
from incremental_assets.adapters.delta.quarantine.texts import as_texts, contents
from incremental_assets.adapters.delta.quarantine.waiting import canonical
from incremental_assets.adapters.delta.staging.staging import as_text
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.contract import ColumnRules, Contract
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from tests.adapters.batches import APP, Desk, Row, table
from tests.adapters.test_lazy_session import WithoutSql
from tests.left_to_spark import left_to_spark
from tests.snapshots import as_read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CONTRACT = Contract(rules=(ColumnRules("at", ge=0),), file="sources.yaml", line=7)
ORDERS = replace(
    table(
        "id bigint, day date, amount decimal(38,18), note string, moment timestamp, local timestamp_ntz, is_new boolean, raw binary, few smallint, at bigint",
        key=("id", "day"),
    ),
    contract=CONTRACT,
)
ODD = 'a "quote", a \\ and \\u001f, \x0b\x1f\x00\t\n\r\b\f, \u2028, ẞ and \N{GRINNING FACE}/'


def order(number: int, at: int, note: str | None = None) -> Row:
    moment = datetime(1900 + number, 1, 2, 3, 4, 5, 120_000 * (number % 3), UTC)
    amount = (Decimal("0E-18"), Decimal("-0.000000000000000001"), Decimal("12345678901234567890.5"))[number % 3]
    day = (date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31))[number % 3]
    local = None if number == 3 else moment.replace(tzinfo=None, microsecond=100 * number)
    told = (None, number % 2 == 0, True)[number % 3]
    raw = (b"", b"\x00\xff", None)[number % 3]
    return (number, day, amount, ODD if note is None else note, moment, local, told, raw, -number, at)


def story(desk: Desk, spec: TableSpec) -> None:
    """Rows are held, held again just as they are, in another version and fixed; one is rejected, one goes, one comes back as it was."""
    desk.land(spec, [order(1, 10), order(2, -2), order(3, -3), order(4, 4, "bad"), order(5, -5)], bad=["bad"])
    desk.land(spec, [order(1, -11), order(2, -2), order(3, -33), order(4, 4, "bad"), order(6, -6)], bad=["bad"])
    desk.land(spec, [order(1, 12), order(2, -2), order(5, -5), order(6, 60), order(7, -7)], gone=[5])
    desk.land(spec, [order(1, -11), order(6, -6)])


def kept(desk: Desk, spec: TableSpec) -> list[tuple[Any, ...]]:
    """Every column of every row; of moments of ours only whether they are there."""
    rows = desk.quarantined(spec)
    moments = ("_sync_at", "_sync_resolved_at")
    told = [{name: value is not None if name in moments else value for name, value in row.items()} for row in rows]
    return sorted((tuple(sorted(row.items())) for row in told), key=str)


def by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("keep", "settle"):
        monkeypatch.setattr(by_tasks, step, left_to_spark)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(ORDERS, id="an upsert"),
        pytest.param(
            replace(ORDERS, strategy=Strategy.FULL_REFRESH, cursor=None, key=(), key_enforced=False),
            id="a table that is read whole",
            marks=pytest.mark.acceptance,
        ),
        pytest.param(
            replace(ORDERS, deletes=Deletes(DeleteMode.DIFF, Then.MARK)),
            id="one that marks what is gone",
            marks=pytest.mark.acceptance,
        ),
    ],
)
def test_both_keep_and_resolve_the_same_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: TableSpec
) -> None:
    ours, theirs = Desk(tmp_path / "ours", spark), Desk(tmp_path / "theirs", spark)
    story(ours, spec)
    by_spark(monkeypatch)
    story(theirs, spec)
    assert kept(ours, spec) == kept(theirs, spec)
    assert {dict(row)["_sync_resolution"] for row in kept(ours, spec)} >= {"superseded", None}
    logs = [open_log(quarantine_path(str(desk.folder), spec.id)) for desk in (ours, theirs)]
    (engine, _), (last, theirs_last) = (
        [log.commits(0)[-1].engine for log in logs if log],
        [log.last_sequence(f"{APP}/quarantine") for log in logs if log],
    )
    assert engine.startswith("incremental-assets/")
    assert last == theirs_last
    # What one of them has kept, the other one knows again.
    before = len(kept(ours, spec))
    ours.land(spec, [order(1, -11), order(6, -6), order(4, 4, "bad")], bad=["bad"])
    # A row that cannot land and was gone from a table that is read whole is another one when it comes back.
    assert len(kept(ours, spec)) == before + (spec.strategy is Strategy.FULL_REFRESH)


@pytest.mark.acceptance
@pytest.mark.parametrize("way", ["tasks", pytest.param("Spark", marks=pytest.mark.acceptance)])
def test_a_row_that_is_read_again_as_it_was_stays_held_once_a_column_has_come(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    before, after = (
        replace(table(columns), contract=CONTRACT)
        for columns in ("id bigint, at bigint", "id bigint, at bigint, note string")
    )
    desk = Desk(tmp_path, spark)
    if way == "Spark":
        by_spark(monkeypatch)
    desk.land(before, [(1, -1), (2, -2), (3, -3)])
    desk.land(after, [(1, -1, None), (2, -2, "now with a value"), (3, 3, None)])
    held = [(row["id"], row["note"], row["_sync_resolution"]) for row in desk.quarantined(after)]
    assert sorted(held, key=str) == [
        ("1", None, None),
        ("2", "now with a value", None),
        ("2", None, "superseded"),
        ("3", None, "superseded"),
    ]


VALUES = {
    "bigint": [-(2**63), 0, None],
    "tinyint": [-128, 127],
    "boolean": [True, False, None],
    "decimal(38,18)": [Decimal("0E-18"), Decimal("1E-18"), Decimal("-99999999999999999999.999999999999999999")],
    "decimal(38,0)": [Decimal(10) ** 37, Decimal(0)],
    "decimal(4,4)": [Decimal("0.0001"), Decimal("-0.5000")],
    "date": [date(1, 1, 1), date(999, 12, 31), date(1969, 12, 31), date(9999, 12, 31), None],
    "timestamp": [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1582, 10, 10, 1, 2, 3, 1, UTC),
        datetime(1899, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(2024, 1, 1, 10, 0, 0, 100_000, UTC),
        datetime(2024, 1, 1, 10, 20, 30, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_990, UTC),
    ],
    "timestamp_ntz": [datetime(2024, 3, 31, 2, 30), datetime(1, 1, 1, 0, 0, 0, 10), None],  # noqa: DTZ001
    "binary": [b"", b"\x00\xff\x10", None],
    "string": [ODD, "", " ", None],
}


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", VALUES)
def test_values_are_the_texts_that_spark_makes_of_them(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    values = pa.chunked_array([pa.array(VALUES[kind], required_type(kind))])
    pq.write_table(pa.table({"v": values, "n": pa.array(range(len(values)))}), tmp_path / "v.parquet")
    rows = spark.read.schema(f"v {kind}, n bigint").parquet(str(tmp_path / "v.parquet")).orderBy("n")
    text = as_text(Column("v", kind, kind, Fidelity.EXACT))
    told = sf.expr(spark_row_text([Column("v", kind, kind, Fidelity.EXACT)]))
    frame = rows.select("n", text.alias("t"), text.alias("u"), told.alias("k"))
    theirs = frame.select("t", "k", kept_rows.content(["t", "u", "no_such"], frame).alias("c")).orderBy("n").collect()
    ours = as_texts(values, kind)
    assert pc.fill_null(canonical(ours, kind), NULL).to_pylist() == [row["k"] for row in theirs]
    assert ours.to_pylist() == [row["t"] for row in theirs]
    nothing = pa.chunked_array([pa.nulls(len(values), pa.string())])
    assert contents([ours, ours, nothing]) == [row["c"] for row in theirs]


def test_a_batch_that_holds_rows_begins_no_sql(spark: SparkSession, tmp_path: Path) -> None:
    desk = Desk(tmp_path / "lake", spark)
    session = cast("SparkSession", WithoutSql(spark.sparkContext, {}))
    offline = DeltaLake(str(desk.folder), lambda: session)
    for rows in ([order(1, 10), order(2, -2)], [order(1, -11), order(2, 20)]):
        plan, shown = desk.plan(ORDERS), desk.show(ORDERS, rows)
        batch = desk.stage.write(plan, shown)
        desk.previous = landed_state(plan, as_read(shown.rows, shown.highest, None))
        offline.apply(plan, batch, desk.previous)
    assert sorted(
        (row["id"], row["at"], row["_sync_stale"], row["_sync_resolution"]) for row in desk.quarantined(ORDERS)
    ) == [
        ("1", "-11", True, None),
        ("2", "-2", False, "superseded"),
    ]


@pytest.mark.acceptance
@pytest.mark.parametrize("key", [("id", "day"), ("moment", "amount"), ("note", "raw", "is_new", "local", "few")])
def test_both_find_the_same_keys_and_cursors_of_what_is_held(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...]
) -> None:
    desk, spec = Desk(tmp_path / "lake", spark), replace(ORDERS, key=key, strategy=Strategy.APPEND)
    desk.land(spec, [order(1, 10), order(2, -2), order(3, -3), order(4, -4), order(5, -5), order(2, -2)])
    by_moment = replace(spec, cursor=Cursor("moment", CursorType.TIMESTAMP))
    session = cast("SparkSession", WithoutSql(spark.sparkContext, {}))
    ours = DeltaLake(str(desk.folder), lambda: session)
    keys = ours.waiting_keys(spec)
    cursors = [{*(ours.held_cursors(each) or ())} for each in (spec, by_moment)]

    def refuses(*_: object) -> None:
        raise NotByTasks

    for name in ("keys", "cursors"):
        monkeypatch.setattr(waiting, name, refuses)
    assert keys == desk.lake.waiting_keys(spec)
    assert cursors == [{*(desk.lake.held_cursors(each) or ())} for each in (spec, by_moment)]
    assert [len(each) for each in (keys, *cursors)] == [4, 4, 4]


@pytest.mark.acceptance
def test_a_quarantine_with_more_than_we_know_is_spark_s_to_write(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "lake", spark)
    desk.land(ORDERS, [order(2, -2)])
    monkeypatch.setattr(eligible, "refused_by_table", lambda _: "the table has a feature")
    desk.land(ORDERS, [order(2, 20), order(3, -3)])
    log = open_log(quarantine_path(str(desk.folder), ORDERS.id))
    assert log is not None
    assert [commit.engine.startswith("incremental-assets/") for commit in log.commits(0)] == [False, False, True]
    assert sorted((row["id"], row["_sync_resolution"]) for row in desk.quarantined(ORDERS)) == [
        ("2", "superseded"),
        ("3", None),
    ]
