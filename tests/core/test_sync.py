"""The story of a sync, told over the awkward orders: what lands, what the report says, and what stops it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.errors import (
    Busy,
    CommitMissing,
    CursorIsNull,
    LeaseLost,
    Refused,
    SchemaChanged,
    StageBroken,
    TargetChanged,
)
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Cursor, FuturePolicy, NullPolicy, Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.planning.settled_bound import Guarantee
from incremental_assets.core.syncing.reset import reset_table
from incremental_assets.core.syncing.sync_many import attempt
from tests.fakes import SimulatedDatabase, World, ordered
from tests.fakes.delta_table import LogEntry
from tests.scenario import COUNTRIES, ORDERS, countries, monday, order, orders, shop, stamped, tuesday, wednesday

UPSERT, APPEND = orders(Strategy.UPSERT), orders(Strategy.APPEND)
BY_ID = orders(Strategy.APPEND, cursor="id")


def assert_equal(world: World) -> None:
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def between(lower: str, upper: str) -> Window:
    return Window(CursorValue.parse(CursorType.TIMESTAMP, lower), CursorValue.parse(CursorType.TIMESTAMP, upper))


def opened() -> World:
    """Two orders on Monday morning, synced by nobody yet."""
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.database.tick(60)
    order(world.database, "grace", world.database.stamp())
    world.database.tick(60)
    return world


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


def test_numbers_that_commit_out_of_order_all_land() -> None:
    world = World(shop())
    slow, quick = world.database.begin(), world.database.begin()
    order(slow, "slow", slow.stamp())
    order(quick, "quick", quick.stamp())
    quick.commit()
    assert world.sync(BY_ID).new_watermark is None, "number 1 may still come"
    slow.commit()
    world.database.tick(60)
    late = world.sync(BY_ID)
    assert (late.rows.inserted, late.rows.late, str(late.new_watermark)) == (1, 1, "3")
    assert_equal(world)


def test_numbers_that_a_crash_gives_out_again_land_although_they_had_been_read() -> None:
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.database.write_to_disk()
    for name in ("grace", "edsger", "alan"):
        order(world.database, name, world.database.stamp())
    world.database.tick(60)
    assert str(world.sync(BY_ID).new_watermark) == "None"
    world.database.crash()
    world.database.tick(60)
    order(world.database, "barbara", world.database.stamp())
    world.database.tick(60)
    assert str(world.sync(BY_ID).new_watermark) == "None", "2 to 4 may still come again"
    order(world.database, "donald", world.database.stamp())
    world.database.write_to_disk()
    world.database.tick(60)
    last = world.sync(BY_ID)
    assert (last.rows.inserted, str(last.new_watermark)) == (1, "4")
    assert {"barbara", "donald"} <= {row["customer"] for row in world.rows(ORDERS)}


def test_a_row_that_gets_the_highest_number_after_it_has_settled_lands_once_and_then_the_table_is_idle() -> None:
    by_batch = replace(BY_ID, shape=replace(BY_ID.shape, primary_key=()), key=(), key_enforced=False)
    world = World(shop())
    for number in (1, 1, 2):
        order(world.database, "ada", world.database.stamp(), number=number)
    world.database.tick(60)
    first = world.sync(by_batch)
    assert (first.rows.inserted, first.guarantee, str(first.new_watermark)) == (3, Guarantee.SETTLED, "2")
    order(world.database, "grace", world.database.stamp(), number=2)
    world.database.tick(60)
    again = world.sync(by_batch)
    assert (again.rows.read, again.rows.inserted, again.rows.unchanged) == (2, 1, 1)
    assert_equal(world)
    assert [world.sync(by_batch).status for _ in range(2)] == [Status.IDLE, Status.IDLE]


def test_a_number_that_was_drawn_and_not_written_yet_is_waited_for() -> None:
    world = World(shop())
    slow, quick = world.database.begin(), world.database.begin()
    drawn = world.database.nextval()
    order(quick, "quick", quick.stamp())
    quick.commit()
    assert world.sync(BY_ID).new_watermark is None, "number 1 may still come"
    order(slow, "slow", slow.stamp(), number=drawn)
    slow.commit()
    world.sync(BY_ID)
    assert_equal(world)


def test_a_session_that_stands_still_before_it_shows_its_stamp_is_waited_for() -> None:
    world = opened()
    world.sync(UPSERT)
    still = world.database.begin()
    still.stand_still(idle=1.0)
    world.database.tick(60)
    order(world.database, "edsger", world.database.stamp())
    world.sync(UPSERT)
    still.show()
    order(still, "alan", still.stamp())
    still.commit()
    world.database.tick(60)
    world.sync(UPSERT)
    assert_equal(world)


def test_a_stamp_taken_just_before_its_transaction_shows_is_behind_the_guard() -> None:
    world = opened()
    unseen = world.database.begin(shown=False)
    world.database.tick(0.001)
    order(world.database, "edsger", world.database.stamp())
    world.sync(UPSERT)
    unseen.show()
    order(unseen, "alan", unseen.stamp())
    unseen.commit()
    world.database.tick(60)
    world.sync(UPSERT)
    assert_equal(world)


def test_a_prepared_transaction_keeps_the_watermark_and_its_rows_land_when_it_commits() -> None:
    world = opened()
    world.sync(UPSERT)
    prepared = world.database.begin()
    order(prepared, "edsger", prepared.stamp())
    prepared.prepare("gx-1")
    world.database.tick(3600)
    order(world.database, "alan", world.database.stamp())
    held = world.sync(UPSERT)
    assert held.new_watermark == held.previous_watermark
    prepared.commit()
    world.database.tick(60)
    world.sync(UPSERT)
    assert_equal(world)


@pytest.mark.parametrize(
    "moment", ["before observe", "after observe", "before inspect", "before snapshot", "after snapshot"]
)
@pytest.mark.parametrize("spec", [UPSERT, APPEND, BY_ID], ids=["upsert", "append", "by id"])
def test_what_commits_while_a_sync_runs_lands_with_this_one_or_the_next(spec: TableSpec, moment: str) -> None:
    world = opened()
    world.sync(spec)
    slow = world.database.begin()
    order(slow, "slow", slow.stamp())
    world.database.tick(600)
    order(world.database, "quick", world.database.stamp())
    process = world.process()
    process.at[moment] = slow.commit
    world.sync(spec, process=process)
    world.database.tick(60)
    world.sync(spec)
    assert_equal(world)


# --- nothing moved -------------------------------------------------------------------------------------


def test_an_idle_table_is_asked_and_neither_read_nor_written() -> None:
    world = opened()
    world.sync(UPSERT)
    world.database.tick(60)
    process = world.process()
    report = world.sync(UPSERT, process=process)
    assert (report.status, report.reason) == (Status.IDLE, "nothing changed")
    assert str(report.new_watermark) == "2024-01-29T09:02:58Z"
    assert [moment for moment in process.moments if moment.startswith("before")] == [
        "before lease",
        "before position",
        "before observe",
        "before version",
        "before idle",
    ]


def test_a_second_change_under_the_same_stamp_is_seen() -> None:
    world = opened()
    stamp = world.database.stamp()
    world.database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=stamp)
    world.sync(UPSERT)
    world.database.update(ORDERS, {"customer": "ada"}, status="sent", updated_at=stamp)
    assert world.sync(UPSERT).rows.updated == 1
    assert_equal(world)


def test_rows_that_were_held_back_land_although_nobody_touched_them_since() -> None:
    spec = orders(holdback=timedelta(minutes=15))
    world = opened()
    assert world.sync(spec).rows.read == 0
    world.database.tick(3600)
    assert world.sync(spec).rows.inserted == 2
    assert world.sync(spec).status is Status.IDLE
    assert_equal(world)


def test_a_row_that_waits_for_its_time_lands_when_the_clock_has_passed_it() -> None:
    spec = orders(future=FuturePolicy.WAIT)
    world = opened()
    order(world.database, "alan", "2024-01-29T12:00:00Z", "preorder")
    assert world.sync(spec).rows.read == 2
    world.database.tick(3600)
    assert world.sync(spec).status is Status.IDLE
    world.database.tick(2 * 3600)
    assert world.sync(spec).rows.inserted == 1
    assert_equal(world)


@pytest.mark.parametrize("policy", [FuturePolicy.WAIT, FuturePolicy.QUARANTINE])
def test_rows_from_the_future_land_one_by_one_as_their_time_comes_and_cost_nothing_until_then(
    policy: FuturePolicy,
) -> None:
    spec, world = orders(future=policy), opened()
    order(world.database, "alan", "2024-01-29T12:00:00Z")
    order(world.database, "mary", "2024-01-29T14:30:00Z")
    order(world.database, "eve", "2999-12-31T00:00:00Z")
    world.sync(spec)
    landed = []
    for _ in range(20):
        world.database.tick(1800)
        report = world.sync(spec)
        landed.append(report.rows.inserted if report.status is Status.LANDED else None)
    assert [each for each in landed if each is not None] == [1, 1]
    assert sorted(row["customer"] for row in world.rows(ORDERS)) == ["ada", "alan", "grace", "mary"]


def test_a_change_that_leaves_nothing_to_read_moves_the_watermark_without_a_commit() -> None:
    world = opened()
    slow = world.database.begin()
    order(slow, "slow", slow.stamp())
    order(world.database, "quick", world.database.stamp())
    world.sync(UPSERT)
    version = world.lake.tables[ORDERS].version
    slow.abort()
    world.database.delete(ORDERS, {"customer": "grace"})
    world.database.delete(ORDERS, {"customer": "quick"})
    world.database.tick(60)
    report = world.sync(UPSERT)
    assert (report.status, report.rows, report.target_version) == (Status.LANDED, RowCounts(), version)
    assert world.lake.tables[ORDERS].version == version
    assert world.stage.batches == {}
    order(world.database, "alan", world.database.stamp())
    assert world.sync(UPSERT).rows.inserted == 1


def test_an_empty_table_becomes_an_empty_table() -> None:
    world = World(shop())
    assert world.sync(UPSERT).status is Status.LANDED
    assert world.rows(ORDERS) == []
    world.database.tick(60)
    assert world.sync(UPSERT).status is Status.IDLE


# --- rows without a cursor, without a key, from the future ---------------------------------------------------


def with_a_null() -> World:
    world = opened()
    world.database.insert(ORDERS, id=90, customer="nobody", status="new", updated_at=None)
    return world


def test_rows_without_a_cursor_stop_a_sync_that_was_not_told_what_to_do_with_them() -> None:
    world = with_a_null()
    with pytest.raises(CursorIsNull, match="1 row has no 'updated_at'"):
        world.sync(UPSERT)
    assert world.lake.tables == {}
    assert world.stage.batches == {}
    assert world.checkpoints.kinds(ORDERS) == ["intent", "failed"]


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
def test_rows_without_a_cursor_are_read_whenever_they_are_written_and_land_once(strategy: Strategy) -> None:
    spec = orders(strategy, nulls=NullPolicy.ALWAYS)
    world = with_a_null()
    assert world.sync(spec).rows.inserted == 3
    world.database.tick(60)
    assert world.sync(spec).status is Status.IDLE
    order(world.database, "alan", world.database.stamp())
    assert world.sync(spec).rows == RowCounts(read=1, inserted=1)
    world.database.update(ORDERS, {"id": 90}, status="paid")
    assert world.sync(spec).rows.read == 1
    paid = [row["status"] for row in world.rows(ORDERS) if row["id"] == 90]
    assert paid == (["new", "paid"] if strategy is Strategy.APPEND else ["paid"])


def test_rows_without_a_cursor_are_left_where_they_are_if_that_is_what_was_said() -> None:
    world = with_a_null()
    assert world.sync(orders(nulls=NullPolicy.SKIP)).rows.read == 2


def test_a_row_without_a_key_goes_to_quarantine_once_and_the_others_land() -> None:
    spec = replace(UPSERT, key=("customer",), key_enforced=False)
    world = opened()
    world.database.insert(ORDERS, id=90, customer=None, status="new", updated_at=world.database.stamp())
    assert world.sync(spec).rows == RowCounts(read=3, inserted=2, quarantined=1)
    order(world.database, "alan", world.database.stamp())
    world.sync(spec)
    assert [row["id"] for row in world.lake.quarantine[ORDERS]] == [90]
    assert len(world.rows(ORDERS)) == 3


def test_rows_from_the_future_go_to_quarantine_if_that_is_what_was_said() -> None:
    world = opened()
    order(world.database, "alan", "2999-12-31T00:00:00Z")
    assert world.sync(orders(future=FuturePolicy.QUARANTINE)).rows == RowCounts(read=3, inserted=2, quarantined=1)


def test_a_row_that_can_no_longer_land_leaves_an_upsert_copy_and_lands_again_when_it_can() -> None:
    world = opened()
    world.sync(UPSERT)
    world.database.update(ORDERS, {"customer": "ada"}, status="unfit", updated_at=world.database.stamp())
    assert world.sync(UPSERT).rows == RowCounts(read=1, deleted=1, quarantined=1)
    assert "ada" not in {row["customer"] for row in world.rows(ORDERS)}
    assert [row["status"] for row in world.lake.quarantine[ORDERS]] == ["unfit"]

    world.database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=world.database.stamp())
    assert world.sync(UPSERT).rows.inserted == 1
    assert_equal(world)


def test_a_row_that_moves_into_the_future_leaves_an_upsert_copy_and_lands_again_when_its_time_has_come() -> None:
    world, spec = opened(), orders(future=FuturePolicy.QUARANTINE)
    world.sync(spec)
    later = world.database.stamp(at=world.database.clock + timedelta(hours=1))
    world.database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=later)
    assert world.sync(spec).rows.deleted == 1
    assert "ada" not in {row["customer"] for row in world.rows(ORDERS)}

    world.database.tick(2 * 3600)
    assert world.sync(spec).rows.inserted == 1
    assert_equal(world)


def test_an_append_copy_keeps_the_versions_before_one_that_cannot_land() -> None:
    world = opened()
    world.sync(APPEND)
    before = world.rows(ORDERS)
    world.database.update(ORDERS, {"customer": "ada"}, status="unfit", updated_at=world.database.stamp())
    assert world.sync(APPEND).rows.quarantined == 1
    assert world.rows(ORDERS) == before


def identified(spec: TableSpec, **numbers: str) -> TableSpec:
    """The table as a source shows it that numbers its columns."""
    columns = tuple(replace(each, identity=numbers.get(each.name, "")) for each in spec.columns)
    return replace(spec, shape=replace(spec.shape, columns=columns))


@pytest.mark.parametrize("back", [True, False], ids=["put back", "read again"])
def test_columns_that_exchange_their_names_stop_the_table_until_all_is_read_again(back: bool) -> None:
    first, swapped = identified(UPSERT, customer="7.2", status="7.3"), identified(UPSERT, customer="7.3", status="7.2")
    world = opened()
    world.sync(first)
    order(world.database, "alan", world.database.stamp())
    before = world.rows(ORDERS)
    with pytest.raises(SchemaChanged, match="'customer' and 'status' now name another column"):
        world.sync(swapped)
    assert world.rows(ORDERS) == before

    if back:
        assert world.sync(first).rows.inserted == 1
    else:
        world.sync(swapped, mode=Mode.FULL_REFRESH)
        order(world.database, "mary", world.database.stamp())
        assert world.sync(swapped).rows.inserted == 1
    assert_equal(world)


@pytest.mark.parametrize(
    "later",
    [{"customer": "8.3", "status": "8.2"}, {"customer": "", "status": ""}, {"customer": "7.2", "status": "7.3"}],
    ids=["a table recreated", "a source that tells none", "the same"],
)
def test_columns_of_which_nothing_else_can_be_told_go_on_under_their_names(later: dict[str, str]) -> None:
    world = opened()
    world.sync(identified(UPSERT, customer="7.2", status="7.3"))
    order(world.database, "alan", world.database.stamp())
    assert world.sync(identified(UPSERT, **later)).rows.inserted == 1


def without_status(spec: TableSpec) -> TableSpec:
    """As a role sees the table that may not read `status`."""
    columns = tuple(each for each in spec.columns if each.name != "status")
    return replace(spec, shape=replace(spec.shape, columns=columns))


def with_state(spec: TableSpec) -> TableSpec:
    """After `ALTER TABLE orders RENAME status TO state`."""
    columns = tuple(replace(each, name="state") if each.name == "status" else each for each in spec.columns)
    return replace(spec, shape=replace(spec.shape, columns=columns))


def paid(world: World) -> None:
    """Ada pays: a row is written that a sync reads without its status."""
    world.database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=world.database.stamp())
    world.database.tick(60)


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
@pytest.mark.parametrize("away", [without_status, with_state], ids=["not granted", "renamed"])
@pytest.mark.parametrize("numbers", [{"status": "7.3"}, {}], ids=["numbered", "a source that tells none"])
def test_a_column_that_is_back_is_told_by_the_run_that_meets_it_as_rows_written_meanwhile_lack_it(
    strategy: Strategy, away: Callable[[TableSpec], TableSpec], numbers: dict[str, str]
) -> None:
    world, shown = opened(), identified(orders(strategy), **numbers)
    world.sync(shown)
    paid(world)
    assert world.sync(away(shown)).warnings == ()
    order(world.database, "alan", world.database.stamp())
    world.sync(away(shown))
    order(world.database, "mary", world.database.stamp())
    (told,) = world.sync(shown).warnings
    assert told.startswith("columns (status) are back after an absence; rows that were written meanwhile")
    assert told.endswith("read everything again with `incremental-assets reset --select shop.public.orders --yes`")
    order(world.database, "barbara", world.database.stamp())
    assert world.sync(shown).warnings == ()


def test_a_column_that_went_away_after_a_reset_is_told_as_well_when_it_is_back() -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    reset_table(spec=shown, to=None, run_id="reset", checkpoints=world.checkpoints)
    paid(world)
    world.sync(without_status(shown))
    order(world.database, "mary", world.database.stamp())
    assert "columns (status) are back" in " ".join(world.sync(shown).warnings)


@pytest.mark.parametrize("cure", ["reset", "full refresh"])
def test_a_column_that_is_back_when_everything_is_read_again_is_no_news(cure: str) -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    paid(world)
    world.sync(without_status(shown))
    if cure == "reset":
        reset_table(spec=shown, to=None, run_id="reset", checkpoints=world.checkpoints)
        assert world.sync(shown).warnings == ()
    else:
        assert world.sync(shown, mode=Mode.FULL_REFRESH).warnings == ()
    order(world.database, "mary", world.database.stamp())
    assert world.sync(shown).warnings == ()


def test_a_column_that_was_away_while_nothing_landed_is_no_news() -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    assert world.sync(without_status(shown)).status is Status.IDLE
    paid(world)
    assert world.sync(shown).warnings == ()


def test_a_column_that_is_back_below_a_watermark_that_was_set_by_hand_is_still_told() -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    paid(world)
    world.sync(without_status(shown))
    latest = CursorValue.parse(CursorType.TIMESTAMP, world.database.stamp())
    reset_table(spec=shown, to=latest.minus(timedelta(seconds=30)), run_id="reset", checkpoints=world.checkpoints)
    order(world.database, "mary", world.database.stamp())
    assert "columns (status) are back" in " ".join(world.sync(shown).warnings)


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


# --- what a run must not do -------------------------------------------------------------------------------------------


def test_a_second_run_fails_at_once_and_names_the_first() -> None:
    world = opened()
    process = world.process("host:42")

    def meanwhile() -> None:
        with pytest.raises(Busy, match="host:42"):
            world.sync(UPSERT)

    process.at["after snapshot"] = meanwhile
    assert world.sync(UPSERT, process=process).status is Status.LANDED


def test_a_batch_that_is_not_whole_is_noticed_and_its_sequence_never_used_again() -> None:
    world = opened()
    world.stage.loses = 1
    with pytest.raises(StageBroken, match="1 rows were staged where the source counted 2"):
        world.sync(UPSERT)
    world.stage.loses = 0
    assert world.sync(UPSERT).seq == 1
    assert_equal(world)


@pytest.mark.parametrize(
    ("moment", "error"),
    [("before staged", LeaseLost), ("before commit", CommitMissing), ("before landed", LeaseLost)],
)
def test_a_run_whose_lease_was_taken_says_so_and_leaves_nothing_behind(moment: str, error: type[Exception]) -> None:
    world = opened()
    sleeper = world.asleep(APPEND, moment)
    world.pass_time(61)
    world.sync(APPEND)
    sleeper.wake()
    assert isinstance(sleeper.error, error)
    assert_equal(world)
    assert world.stage.batches == {}


def test_nothing_runs_beside_a_live_run_however_long_it_takes() -> None:
    world = opened()
    with world.checkpoints.lease(ORDERS, "long") as lease:
        for _ in range(5):
            world.pass_time(50)
            lease.beat()
        with pytest.raises(Busy):
            world.sync(UPSERT)


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


def test_a_run_that_cannot_see_transactions_says_so_and_never_calls_itself_settled() -> None:
    world = opened()
    world.database.begin(private=True)
    report = world.sync(UPSERT)
    assert report.guarantee is Guarantee.BEST_EFFORT
    assert "hides when it began" in report.guarantee_reason


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


def test_a_few_rows_are_counted_again_rather_than_asked_about_twice() -> None:
    """The watermark of a time cursor moves at every look: a thousand idle tables would cost two thousand questions."""
    world = World(shop())
    spec = orders()
    order(world.database, "only", "2024-01-10T00:00:00Z")
    world.sync(spec)
    kept = world.checkpoints.position(ORDERS).state
    for _ in range(2):
        world.pass_time(60)
        assert world.sync(spec).status is Status.IDLE
    state = world.checkpoints.position(ORDERS).state
    assert kept is not None
    assert state is not None
    assert state.fingerprint == kept.fingerprint
    assert state.position.watermark != kept.position.watermark


def test_numbers_that_settle_while_nothing_moves_are_counted_no_more() -> None:
    """Else every look at a table that stands still would count all of it."""
    world = World(shop())
    spec = orders(Strategy.APPEND, cursor="id")
    for number in range(1, 2_001):
        order(world.database, f"row {number}", "2024-01-10T00:00:00Z")
    open_one = world.database.begin()
    assert world.sync(spec).new_watermark is None
    open_one.abort()
    world.pass_time(10)
    assert world.sync(spec).status is Status.IDLE
    world.sync(spec)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert state.fingerprint is not None
    assert (str(state.position.watermark), str(state.fingerprint.lower), state.fingerprint.rows) == ("2001", "2001", 0)

    world.database.update(ORDERS, {"id": 1}, status="below the watermark")
    assert world.sync(spec).status is Status.IDLE
    order(world.database, "new", "2024-01-10T00:00:00Z")
    assert world.sync(spec).rows.inserted == 1


def test_a_copy_that_was_changed_while_the_source_stood_still_stops_the_sync() -> None:
    """An older version restored, rows deleted by another hand: nothing moved in the source, and the copy is not what it was."""
    world = opened()
    world.sync(UPSERT)
    world.database.tick(60)
    assert world.sync(UPSERT).status is Status.IDLE
    world.lake.tables[ORDERS].log.append(LogEntry((), "RESTORE", ours=False))
    with pytest.raises(TargetChanged, match="RESTORE"):
        world.sync(UPSERT)


def test_a_commit_that_leaves_every_row_as_it_is_stops_no_idle_table() -> None:
    world = opened()
    world.sync(UPSERT)
    table = world.lake.tables[ORDERS]
    table.log.append(LogEntry(table.rows, "OPTIMIZE", ours=False, changes_rows=False))
    assert world.sync(UPSERT).status is Status.IDLE


def test_a_copy_that_was_removed_while_the_source_stood_still_stops_the_sync() -> None:
    world = opened()
    world.sync(UPSERT)
    world.lake.drop(ORDERS)
    with pytest.raises(TargetChanged, match="gone from the lake"):
        world.sync(UPSERT)
