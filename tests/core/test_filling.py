"""Columns that come after rows have landed: their values are read for these rows, a range at a time, whatever a run dies of."""

import itertools
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.captures.database import fill_ranges
from incremental_assets.core.captures.database.fill_ranges import MOST_RANGES, ranges, slices
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.errors import EngineLost, Interrupted, SourceUnreachable
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.schedule import Schedule
from incremental_assets.core.model.schema_change import Change
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request, SyncPlan
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.planning.target import Target
from incremental_assets.core.ports import DifferingRows, GoneRows, Snapshot, Source, Stage
from incremental_assets.core.preview.pending import look_over
from incremental_assets.core.syncing import filling
from incremental_assets.core.syncing.filling import sync_and_fill
from incremental_assets.core.syncing.sync import sync_table
from tests.core.stories import UPSERT, assert_equal, one_more
from tests.fakes import Killed, Process, World, ordered
from tests.fakes.lake import FakeLake
from tests.scenario import ORDERS, order, orders, shop

CUSTOMERS = ("ada", "grace", "barbara", "alan", "mary")


def without_status(spec: TableSpec) -> TableSpec:
    """As it was before it got its status."""
    return replace(spec, shape=replace(spec.shape, columns=tuple(c for c in spec.columns if c.name != "status")))


def altered(spec: TableSpec = UPSERT) -> World:
    """Five orders that landed without a status, an hour apart, and have one now; the copy shows none of it."""
    world = World(shop())
    for customer in CUSTOMERS:
        order(world.database, customer, world.database.stamp())
        world.database.tick(3600)
    filled(world, without_status(spec))
    table = world.lake.tables[ORDERS]
    table.log[-1] = replace(table.log[-1], rows=tuple({**row, "status": None} for row in table.rows))
    world.lake.known = {ORDERS: without_status(spec).columns}
    return world


def filled(world: World, spec: TableSpec, process: Process | None = None) -> SyncReport:
    """One sync, and what it fills."""
    return sync_and_fill(spec, world.request(Mode.SYNC), world.ports(process))


class Telling:
    """A source that keeps which columns were asked for to fill rows."""

    def __init__(self, source: Source) -> None:
        self._source, self.filled = source, list[tuple[str, ...]]()

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Snapshot]:
        """One snapshot."""
        if plan.request.mode is Mode.FILL:
            self.filled.append(plan.spec.shape.names)
        return self._source.snapshot(plan)

    @property
    def differing(self) -> DifferingRows | None:
        """What the source has of it."""
        return self._source.differing


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row is as much as a range may have."""
    monkeypatch.setattr(fill_ranges, "MOST_ROWS", 1)
    monkeypatch.setattr(filling, "MOST_ROWS", 1)


def test_a_column_with_a_default_has_it_in_all_rows_though_none_of_them_moved() -> None:
    world = altered()
    report = filled(world, UPSERT)
    assert_equal(world)
    assert (report.status, report.rows.updated, report.unfilled) == (Status.LANDED, 5, ())
    assert [change.change for change in report.schema_changes] == [Change.ADDED, Change.FILLED]
    assert filled(world, UPSERT).status is Status.IDLE


def test_rows_that_the_sync_itself_read_again_are_not_said_to_have_been_filled_in_none() -> None:
    spec = replace(UPSERT, lookback=timedelta(days=1))
    world = altered(spec)
    report = filled(world, spec)
    assert_equal(world)
    assert (report.rows.updated, report.unfilled, report.warnings) == (5, (), ())


@pytest.mark.parametrize(("whole", "read"), [(False, ("id", "status", "updated_at")), (True, UPSERT.shape.names)])
def test_a_table_to_which_only_whole_rows_can_be_written_has_them_read_whole(
    whole: bool, read: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    inspect = FakeLake.inspect

    def inspected(lake: FakeLake, spec: TableSpec, since: int | None) -> Target | None:
        found = inspect(lake, spec, since)
        return None if found is None else replace(found, whole_rows_only=whole)

    world = altered()
    monkeypatch.setattr(FakeLake, "inspect", inspected)
    ports = world.ports()
    telling = Telling(ports.source)
    sync_and_fill(UPSERT, world.request(Mode.SYNC), replace(ports, source=telling))
    assert_equal(world)
    assert {*telling.filled[-1]} == {*read}


@pytest.mark.usefixtures("small_ranges")
def test_a_sync_reads_a_bounded_part_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill_ranges, "MOST_RANGES", 2)
    world = altered()
    first, second, third = (filled(world, UPSERT) for _ in range(3))
    assert [len(each.unfilled) for each in (first, second, third)] == [1, 1, 0]
    assert "the next sync goes on from" in first.warnings[-1]
    assert_equal(world)
    assert sum(each.rows.updated for each in (first, second, third)) == len(CUSTOMERS)


@pytest.mark.usefixtures("small_ranges")
def test_whatever_moment_it_dies_at_the_next_sync_goes_on_and_nothing_lands_twice() -> None:
    for number in itertools.count():
        world, process = altered(), Process("dying")
        process.kill_at = number
        process.on_death = lambda: world.memory.gone.add("dying")  # noqa: B023 - called at once
        try:
            filled(world, UPSERT, process)
            break
        except Killed:
            pass
        one_more(world)
        filled(world, UPSERT)
        filled(world, UPSERT)
        assert_equal(world)
        assert world.checkpoints.position(ORDERS).open is None
        assert world.checkpoints.position(ORDERS).state.unfilled is None  # type: ignore[union-attr]
    assert number > 100


class Writing:
    """A stage that keeps how many columns each batch had."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self.columns = stage, list[int]()

    def write(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None = None) -> Batch:
        """One batch."""
        self.columns.append(len(plan.spec.columns))
        return self._stage.write(plan, snapshot, gone)

    def discard(self, table: TableId, batch_id: str) -> tuple[str, ...]:
        """Likewise."""
        return self._stage.discard(table, batch_id)


def test_a_range_with_a_row_that_cannot_land_is_read_once_and_whole() -> None:
    world = altered()
    world.database.update(ORDERS, {"customer": "grace"}, status="unfit")
    ports = world.ports()
    stage = Writing(ports.stage)
    sync_and_fill(UPSERT, world.request(Mode.SYNC), replace(ports, stage=stage))
    assert stage.columns[-1] == len(UPSERT.columns)
    assert len(stage.columns) == 2
    assert [row["customer"] for row in world.lake.quarantine[ORDERS]] == ["grace"]


def test_a_row_that_moves_before_its_range_is_read_is_left_to_the_next_sync_and_never_shown_by_half() -> None:
    world, process = altered(), Process("running")

    def moves() -> None:
        stamp = world.database.stamp()
        world.database.update(ORDERS, {"customer": "ada"}, customer="ada l.", status="paid", updated_at=stamp)

    process.at["after snapshot"] = lambda: process.at.update({"before snapshot": moves})
    filled(world, UPSERT, process)
    halves = [row for row in world.rows(ORDERS) if row["customer"] == "ada" and row["status"] == "paid"]
    assert halves == []
    filled(world, UPSERT)
    assert_equal(world)


def test_the_source_that_goes_away_between_two_ranges_leaves_what_has_landed() -> None:
    world, process = altered(), Process("running")
    order(world.database, "late", world.database.stamp())
    world.database.tick(60)

    def gone() -> None:
        raise SourceUnreachable("shop: it does not answer")

    process.at["after snapshot"] = lambda: process.at.update({"before snapshot": gone})
    report = filled(world, UPSERT, process)
    assert (report.status, report.unfilled) == (Status.LANDED, ("status",))
    assert "could not be read for all rows that landed before" in report.warnings[-1]
    filled(world, UPSERT)
    assert_equal(world)


@pytest.mark.parametrize("moment", ["before snapshot", "before write", "before commit", "after commit", "after apply"])
@pytest.mark.parametrize("ranges_of", ["one", "small"])
def test_an_engine_that_is_lost_while_values_are_read_costs_no_value(
    moment: str, ranges_of: str, request: pytest.FixtureRequest
) -> None:
    if ranges_of == "small":
        request.getfixturevalue("small_ranges")
    world, process, lost = altered(), Process("running"), EngineLost(4711, "engine.log")
    order(world.database, "late", world.database.stamp())
    world.database.tick(60)

    def ended() -> None:
        raise lost

    process.at["after snapshot"] = lambda: process.at.update(
        {"after discard": lambda: process.at.update({moment: ended})}
    )
    report = filled(world, UPSERT, process)
    assert world.observer.retries == [(ORDERS, lost)]
    assert_equal(world)
    assert (report.status, report.unfilled) == (Status.LANDED, ())
    assert not any("could not be read" in warning for warning in report.warnings)
    assert filled(world, UPSERT).status is Status.IDLE


@pytest.mark.usefixtures("small_ranges")
def test_a_range_that_has_landed_is_told_though_the_next_one_fails() -> None:
    world, process = altered(), Process("running")
    snapshots = itertools.count()

    def gone_at_the_second_range() -> None:
        # The first is that of the sync, the second that of the first range.
        if next(snapshots) == 2:
            raise SourceUnreachable("shop: it does not answer")
        process.at["before snapshot"] = gone_at_the_second_range

    process.at["before snapshot"] = gone_at_the_second_range
    report = filled(world, UPSERT, process)
    assert (report.status, report.rows.updated, report.unfilled) == (Status.LANDED, 1, ("status",))
    assert report.seq == world.checkpoints.position(ORDERS).state.seq  # type: ignore[union-attr]
    assert "could not be read for all rows that landed before" in report.warnings[-1]
    filled(world, UPSERT)
    assert_equal(world)


def test_who_ends_a_run_between_two_ranges_ends_it() -> None:
    world, process = altered(), Process("running")

    def ended() -> None:
        raise Interrupted(ORDERS)

    process.at["after snapshot"] = lambda: process.at.update({"before snapshot": ended})
    with pytest.raises(Interrupted):
        filled(world, UPSERT, process)
    filled(world, UPSERT)
    assert_equal(world)


def test_rows_from_before_the_start_of_a_table_are_not_read_for_their_new_columns() -> None:
    first = CursorValue(CursorType.TIMESTAMP, "2024-01-29T10:30:00Z")
    late = replace(UPSERT, start=first)
    world = altered(late)
    assert len(world.rows(ORDERS)) < len(world.database.rows(ORDERS))
    report = filled(world, late)
    assert (report.rows.read, report.rows.updated, report.unfilled) == (len(world.rows(ORDERS)),) * 2 + ((),)
    assert {row["status"] for row in world.rows(ORDERS)} == {"new"}


def test_an_append_keeps_each_version_as_it_was_read() -> None:
    append = orders(Strategy.APPEND)
    world = altered(append)
    before = ordered(world.rows(ORDERS))
    assert filled(world, append).status is Status.IDLE
    assert ordered(world.rows(ORDERS)) == before


def test_a_full_refresh_and_a_reset_leave_nothing_to_be_filled() -> None:
    world = altered()
    sync = world.sync(UPSERT)
    assert sync.unfilled == ("status",)
    assert world.sync(UPSERT, mode=Mode.FULL_REFRESH).unfilled == ()
    assert_equal(world)


@pytest.mark.parametrize(
    ("spec", "read"),
    [
        (UPSERT, ("id", "status", "updated_at")),
        (replace(UPSERT, contract=Contract()), UPSERT.shape.names),
        (replace(UPSERT, key_enforced=False), UPSERT.shape.names),
    ],
    ids=["key, cursor and column", "under a contract", "of a declared key"],
)
def test_what_is_read_of_a_row_that_is_filled(spec: TableSpec, read: tuple[str, ...]) -> None:
    world = altered(spec)
    ports = world.ports()
    source = Telling(ports.source)
    sync_and_fill(spec, world.request(Mode.SYNC), replace(ports, source=source))
    assert source.filled == [read]
    assert_equal(world)


@pytest.mark.usefixtures("small_ranges")
def test_what_is_left_outlives_the_run_a_reset_of_the_watermark_and_no_other_range_is_taken_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fill_ranges, "MOST_RANGES", 2)
    world = altered()
    filled(world, UPSERT)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert state.unfilled is not None
    assert state_of(state.to_json()) == state

    skipping = Request("skips", Mode.FILL, Window(state.position.watermark, None))
    assert sync_table(UPSERT, skipping, world.ports()).status is Status.IDLE
    reset_table(spec=UPSERT, to=state.position.watermark, run_id="reset", checkpoints=world.checkpoints)
    filled(world, UPSERT)
    filled(world, UPSERT)
    assert_equal(world)


def test_a_table_that_stands_still_is_asked_for_while_values_are_left() -> None:
    world = altered()
    world.sync(UPSERT)
    position = world.checkpoints.position(ORDERS)
    seen = world.ports().probe.observe((ObserveRequest(UPSERT, position.state),))
    moved, _, still = look_over([UPSERT], {ORDERS: position}, seen)
    assert ([each.spec for each in moved], still) == ([UPSERT], ())


def value(number: int) -> CursorValue:
    return CursorValue.of(CursorType.INTEGER, number)


def test_ranges_touch_have_the_ends_of_what_is_left_and_are_as_many_as_one_sync_reads() -> None:
    left = Window(None, value(1_000_000))
    pieces = slices(left, value(1), value(2_000_000))
    assert (pieces[0].lower, pieces[-1].upper) == (None, value(1_000_000))
    assert all(one.upper == other.lower for one, other in itertools.pairwise(pieces))
    found = ranges(pieces, [300_000] * len(pieces))
    assert len(found) == MOST_RANGES
    assert found[0] == pieces[0]
    assert ranges(pieces, [1] * len(pieces)) == (left,)


@pytest.mark.parametrize("highest", ["infinity", "294246-01-01T00:00:00Z"])
def test_values_that_python_cannot_count_with_make_one_range(highest: str) -> None:
    lowest, end = (CursorValue.parse(CursorType.TIMESTAMP, text) for text in ("2024-01-01T00:00:00Z", highest))
    assert slices(Window(None, end), lowest, end) == (Window(None, end),)


def test_by_a_schedule_what_is_left_of_a_new_column_waits_with_the_table() -> None:
    world = altered()
    # Only the sync itself: of the range that it leaves, nothing was read yet.
    sync_table(UPSERT, world.request(Mode.SYNC), world.ports())
    daily = replace(UPSERT, schedule=Schedule.parse("0 6 * * *"))
    waits = filled(world, daily)
    assert (waits.status, waits.unfilled) == (Status.IDLE, ("status",))
    assert waits.next_look is not None
    world.pass_time(86_400)
    assert filled(world, daily).unfilled == ()
    assert_equal(world)
