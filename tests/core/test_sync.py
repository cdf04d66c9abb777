"""Does every row land once, in every mode, and does the report tell it as it was?"""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from incremental_assets.core.errors import Refused, StageBroken
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.syncing.sync_many import attempt
from tests.core.stories import APPEND, UPSERT, assert_equal, opened
from tests.fakes import SimulatedDatabase, World, ordered
from tests.fakes.lake import FakeLake
from tests.scenario import COUNTRIES, ORDERS, countries, monday, order, shop, stamped, tuesday, wednesday


def between(lower: str, upper: str) -> Window:
    return Window(CursorValue.parse(CursorType.TIMESTAMP, lower), CursorValue.parse(CursorType.TIMESTAMP, upper))


# --- three days ----------------------------------------------------------------------------------------


def test_three_awkward_days_of_an_upsert() -> None:
    world = World(shop())
    clerk = monday(world.database)
    first = world.sync(UPSERT)
    assert first.rows == RowCounts(read=4, inserted=4)
    assert str(first.new_watermark) == "2024-01-29T09:01:58Z", "the clerk's transaction holds it"

    tuesday(world.database, clerk)
    second = world.sync(UPSERT)
    assert second.rows == RowCounts(read=4, inserted=2, updated=1, unchanged=1, late=1)
    assert str(second.new_watermark) == "2024-01-30T09:24:58Z", "the year 2999 does not"
    assert_equal(world)

    wednesday(world.database)
    assert world.sync(UPSERT).rows == RowCounts(read=1, updated=1), "the row of the year 2999 is as it was"
    assert [row["status"] for row in world.rows(ORDERS) if row["customer"] == "barbara"] == ["cancelled"]
    assert_equal(world)
    assert world.sync(UPSERT).status is Status.IDLE


def test_a_report_says_why_spark_did_what_tasks_could_not(monkeypatch: pytest.MonkeyPatch) -> None:
    world, why = World(shop()), "the table has delta.enableChangeDataFeed"
    monday(world.database)
    apply = FakeLake.apply
    monkeypatch.setattr(FakeLake, "apply", lambda *batch: replace(apply(*batch), by_spark=why))
    assert world.sync(UPSERT).by_spark == why
    assert world.sync(UPSERT).by_spark == "", "nothing was committed"


def test_an_append_keeps_every_version_that_a_sync_saw_and_each_once() -> None:
    world = World(shop())
    clerk = monday(world.database)
    world.sync(APPEND)
    tuesday(world.database, clerk)
    assert world.sync(APPEND).rows == RowCounts(read=4, inserted=3, unchanged=1, late=1)
    wednesday(world.database)
    assert world.sync(APPEND).rows == RowCounts(read=1, inserted=1)
    assert [row["status"] for row in world.rows(ORDERS) if row["customer"] == "ada"] == ["new", "sent"]
    assert [row["status"] for row in world.rows(ORDERS) if row["customer"] == "barbara"] == ["new", "cancelled"]
    assert len(world.rows(ORDERS)) == 8


def test_an_append_by_date_keeps_a_version_that_goes_back_to_what_the_row_was_earlier_that_day() -> None:
    shape = stamped(CursorType.DATE)
    spec = replace(APPEND, shape=shape, cursor=Cursor("updated_at", CursorType.DATE))
    database = SimulatedDatabase(shape, clock=datetime(2024, 1, 29, 9, tzinfo=UTC))
    world = World(database)
    database.insert(ORDERS, id=1, customer="ada", status="open", updated_at="2024-01-29")
    database.insert(ORDERS, id=2, customer="grace", status="open", updated_at="2024-01-29")
    world.sync(spec)
    for status in ("closed", "open"):
        world.database.tick(600)
        database.update(ORDERS, {"id": 1}, status=status, updated_at="2024-01-29")
        assert world.sync(spec).rows.inserted == 1
    versions = [(row["id"], row["status"]) for row in world.rows(ORDERS)]
    assert versions == [(1, "open"), (2, "open"), (1, "closed"), (1, "open")]

    # Read again, nothing lands twice.
    today = Window(CursorValue.parse(CursorType.DATE, "2024-01-29"), CursorValue.parse(CursorType.DATE, "2024-01-30"))
    assert world.backfill(spec, today).rows == RowCounts(read=2, unchanged=2)
    reset_table(spec=spec, to=None, run_id="reset", checkpoints=world.checkpoints)
    assert world.sync(spec).rows == RowCounts(read=2, unchanged=2)


def test_a_second_change_under_the_same_stamp_is_seen() -> None:
    world = opened()
    stamp = world.database.stamp()
    world.database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=stamp)
    world.sync(UPSERT)
    world.database.update(ORDERS, {"customer": "ada"}, status="sent", updated_at=stamp)
    assert world.sync(UPSERT).rows.updated == 1
    assert_equal(world)


def test_a_datetime_cursor_in_the_hour_that_comes_twice_loses_nothing() -> None:
    """01:30 is stamped, an hour later 01:10 comes again."""
    world = World(shop())
    world.database.zone = "America/New_York"
    assert UPSERT.cursor is not None
    spec = replace(UPSERT, cursor=replace(UPSERT.cursor, type=CursorType.DATETIME))
    for utc in ("05:30", "06:10", "06:40", "07:30"):
        world.database.clock = datetime.fromisoformat(f"2024-11-03T{utc}:00").replace(tzinfo=UTC)
        order(world.database, utc, world.database.stamp(CursorType.DATETIME))
        world.database.tick(5)
        world.sync(spec)
        assert_equal(world)


# --- backfills --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [UPSERT, APPEND], ids=["upsert", "append"])
def test_a_backfill_before_the_first_sync_costs_neither_a_row_nor_a_double(spec: TableSpec) -> None:
    world = opened()
    report = world.backfill(spec, between("2024-01-29T09:01:00Z", "2024-01-29T10:00:00Z"))
    assert (report.rows.inserted, report.new_watermark) == (1, None)
    assert world.sync(spec).rows == RowCounts(read=2, inserted=1, unchanged=1)
    assert_equal(world)


def test_a_backfill_of_todays_partition_just_before_a_sync_doubles_nothing_in_an_append() -> None:
    world = opened()
    world.sync(APPEND)
    order(world.database, "alan", world.database.stamp())
    world.database.tick(1)
    today = between("2024-01-29T00:00:00Z", "2024-01-30T00:00:00Z")
    assert world.backfill(APPEND, today).rows == RowCounts(read=3, inserted=1, unchanged=2)
    order(world.database, "mary", world.database.stamp())
    assert world.sync(APPEND).rows.inserted == 1
    assert_equal(world)


def test_a_backfill_of_an_old_window_after_newer_changes_takes_no_row_back() -> None:
    world = opened()
    world.sync(UPSERT)
    world.database.update(ORDERS, {"customer": "ada"}, status="paid")
    assert world.sync(UPSERT).status is Status.IDLE, "a change that does not touch the cursor is invisible to it"
    world.backfill(UPSERT, between("2024-01-29T00:00:00Z", "2024-01-30T00:00:00Z"))
    assert_equal(world)


# --- tables that are read whole ------------------------------------------------------------------------------------


def land(world: World, code: str) -> None:
    world.database.insert(COUNTRIES, code=code, name=code)


def test_a_whole_table_is_replaced_when_it_is_due() -> None:
    world = World(shop())
    for code in ("FR", "DE", "YU"):
        land(world, code)
    world.sync(countries())
    world.database.delete(COUNTRIES, {"code": "YU"})
    assert world.sync(countries()).status is Status.IDLE
    world.database.tick(86_400)
    assert world.sync(countries()).rows.read == 2
    assert ordered(world.rows(COUNTRIES)) == ordered(world.database.rows(COUNTRIES))


def test_many_rows_that_are_gone_are_told_with_separators() -> None:
    world = World(shop())
    for number in range(1_000):
        land(world, f"{number:03}")
    world.sync(countries())
    for number in range(1_000):
        world.database.delete(COUNTRIES, {"code": f"{number:03}"})
    world.database.tick(86_400)
    with pytest.raises(Refused, match="0 rows where the last whole read had 1,000, so"):
        world.sync(countries())


def test_an_emptied_source_does_not_empty_the_copy_unless_it_is_allowed() -> None:
    world = World(shop())
    for code in ("FR", "DE", "NL"):
        land(world, code)
    world.sync(countries())
    for code in ("FR", "DE", "NL"):
        world.database.delete(COUNTRIES, {"code": code})
    world.database.tick(86_400)
    with pytest.raises(Refused, match="0 rows where the last whole read had 3"):
        world.sync(countries())
    assert len(world.rows(COUNTRIES)) == 3
    assert world.stage.batches == {}
    assert world.sync(countries(), allow_shrink=True).rows.deleted == 3
    assert world.rows(COUNTRIES) == []


def test_a_full_refresh_removes_what_the_source_deleted_and_goes_on_from_there() -> None:
    world = opened()
    world.sync(UPSERT)
    world.database.delete(ORDERS, {"customer": "ada"})
    world.database.tick(60)
    world.sync(UPSERT, mode=Mode.FULL_REFRESH)
    assert_equal(world)
    order(world.database, "alan", world.database.stamp())
    assert world.sync(UPSERT).rows.read == 1
    assert_equal(world)


# --- the report ----------------------------------------------------------------------------------------------------


def test_the_report_tells_the_whole_sync() -> None:
    world = opened()
    report = world.sync(UPSERT)
    assert report == replace(
        report,
        table=ORDERS,
        strategy=Strategy.UPSERT,
        mode=Mode.SYNC,
        status=Status.LANDED,
        guarantee=Guarantee.SETTLED,
        guarantee_reason="no transaction was open",
        window=Window(None, None),
        settled=CursorValue(CursorType.TIMESTAMP, "2024-01-29T09:01:58Z"),
        previous_watermark=None,
        new_watermark=CursorValue(CursorType.TIMESTAMP, "2024-01-29T09:01:58Z"),
        seq=0,
        rows=RowCounts(read=2, inserted=2),
        target_version=1,
        error=None,
    )
    assert [stage for stage, _ in report.phases] == ["plan", "read", "apply"]
    assert [stage for _, stage in world.observer.phases] == ["plan", "read", "apply", "landed"]
    assert world.checkpoints.position(ORDERS).last_report == report


def test_a_failure_is_told_in_one_sentence_and_remembered() -> None:
    world = opened()
    world.stage.loses = 1
    report = attempt(UPSERT, Request("run-x"), world.ports())
    assert (report.status, report.run_id) == (Status.FAILED, "run-x")
    assert report.error == "shop.public.orders: 1 rows were staged where the source counted 2"
    remembered = world.checkpoints.position(ORDERS).last_report
    assert remembered is not None
    assert (remembered.status, remembered.error) == (Status.FAILED, report.error)


def test_a_batch_that_is_not_whole_is_noticed_and_its_sequence_never_used_again() -> None:
    world = opened()
    world.stage.loses = 1
    with pytest.raises(StageBroken, match="1 rows were staged where the source counted 2"):
        world.sync(UPSERT)
    world.stage.loses = 0
    assert world.sync(UPSERT).seq == 1
    assert_equal(world)


def test_a_run_that_cannot_see_transactions_says_so_and_never_calls_itself_settled() -> None:
    world = opened()
    world.database.begin(private=True)
    report = world.sync(UPSERT)
    assert report.guarantee is Guarantee.BEST_EFFORT
    assert "hides when it began" in report.guarantee_reason
