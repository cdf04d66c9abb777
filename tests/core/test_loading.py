"""A first load that goes range by range of the key: whatever a run dies of, and whoever writes meanwhile, no row is missing and none is there twice."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from unittest import mock

import pytest

from incremental_assets.core.captures.database import loading as ranges
from incremental_assets.core.captures.database.loading import loading_of
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.observing.occurrences import LoadWentOn
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.preview.pending import look_over
from incremental_assets.core.syncing import loading
from incremental_assets.core.syncing.loading import load_and_sync
from incremental_assets.core.syncing.sync import sync_table
from tests.core.stories import UPSERT, assert_equal
from tests.core.test_altered import alter, defined
from tests.core.test_filling import without_status
from tests.fakes import Killed, Process, World
from tests.fakes.rows import own_columns
from tests.scenario import ORDERS, order, shop

NAMES = ("ada", "grace", "barbara", "alan", "mary", "edsger", "donald")
LARGE = replace(UPSERT, shape=replace(UPSERT.shape, rows=7, bytes=70))
APPENDED = replace(LARGE, strategy=Strategy.APPEND)


BOTH = pytest.mark.parametrize("spec", [LARGE, APPENDED], ids=["upsert", "append"])


@contextmanager
def in_small_ranges() -> Iterator[None]:
    """Two rows are a range, and seven a large table."""
    with mock.patch.multiple(ranges, WORTH_IT=70, RANGE_BYTES=20):
        yield


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """A run reads one range."""
    with in_small_ranges(), mock.patch.object(loading, "PATIENCE", timedelta(seconds=-1)):
        yield


@pytest.fixture(autouse=True)
def small_ranges() -> Iterator[None]:
    with in_small_ranges():
        yield


@pytest.fixture
def impatient() -> Iterator[None]:
    with one_at_a_time():
        yield


def large() -> World:
    """Seven orders, a minute apart."""
    world = World(shop())
    for name in NAMES:
        order(world.database, name, world.database.stamp())
        world.database.tick(60)
    return world


def load(world: World, spec: TableSpec = LARGE, process: Process | None = None) -> SyncReport:
    return load_and_sync(spec, world.request(Mode.SYNC), world.ports(process))


def landed(world: World) -> list[object]:
    """The keys of the copy, in the order of its commits."""
    return [row["id"] for row in world.lake.tables[ORDERS].rows] if ORDERS in world.lake.tables else []


def numbered(spec: TableSpec, identity: str) -> TableSpec:
    """The table with a status that the source knows by this."""
    columns = tuple(replace(each, identity=identity) if each.name == "status" else each for each in spec.columns)
    return replace(spec, shape=replace(spec.shape, columns=columns))


def until_loaded(world: World, spec: TableSpec) -> None:
    """Runs, until the last range and the sync behind it have landed."""
    while (state := world.checkpoints.position(ORDERS).state) is None or not state.is_synced:
        load(world, spec)


def assert_shows(world: World, spec: TableSpec) -> None:
    """Of each key the copy's newest version is the source's row."""
    newest = {row["id"]: own_columns(row) for row in world.lake.tables[ORDERS].rows}
    assert spec.strategy is Strategy.APPEND or len(newest) == len(landed(world))
    assert newest == {row["id"]: dict(row) for row in world.database.rows(ORDERS)}


def test_a_large_table_lands_range_by_range_and_is_then_synced() -> None:
    world = large()
    report = load(world)
    assert_equal(world)
    assert (report.status, report.guarantee) == (Status.LANDED, Guarantee.SETTLED)
    assert (report.rows.inserted, report.rows.late) == (7, 0)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert loading_of(state) is None
    assert state.is_synced
    went_on = [each for each in world.observer.all if isinstance(each, LoadWentOn)]
    assert [each.rows for each in went_on] == [2, 4, 6]


@pytest.mark.usefixtures("impatient")
def test_a_run_whose_time_is_over_leaves_the_rest_to_the_next_and_says_so() -> None:
    world = large()
    first = load(world)
    assert landed(world) == [1, 2]
    assert "its first load has read 2 of about 7 rows" in first.unfinished
    assert first.guarantee is Guarantee.BEST_EFFORT
    assert first.new_watermark is None
    reports = [load(world) for _ in range(3)]
    assert_equal(world)
    assert [each.rows.inserted for each in reports] == [2, 2, 1]
    assert reports[-1].guarantee is Guarantee.SETTLED
    assert load(world).status is Status.IDLE


@pytest.mark.usefixtures("impatient")
def test_while_it_goes_on_nothing_is_known_to_have_been_read() -> None:
    world = large()
    load(world)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert (state.clock, state.position.watermark, state.is_synced) == (None, None, False)
    assert state_of(state.to_json()) == state


@BOTH
@pytest.mark.usefixtures("impatient")
def test_what_is_written_while_it_goes_on_is_there_at_its_end(spec: TableSpec) -> None:
    world = large()
    database = world.database
    open_one = database.begin()
    order(open_one, "late", open_one.stamp(), number=0)
    load(world, spec)
    database.tick(60)
    order(database, "kurt", database.stamp())
    database.update(ORDERS, {"id": 1}, customer="ada lovelace", updated_at=database.stamp())
    database.update(ORDERS, {"id": 7}, customer="don", updated_at=database.stamp())
    load(world, spec)
    open_one.commit()
    until_loaded(world, spec)
    assert_shows(world, spec)


@BOTH
@pytest.mark.usefixtures("impatient")
def test_no_row_lands_twice_where_nothing_is_written_meanwhile(spec: TableSpec) -> None:
    world = large()
    until_loaded(world, spec)
    assert sorted(landed(world)) == [1, 2, 3, 4, 5, 6, 7]


@BOTH
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("mode", [Mode.BACKFILL, Mode.REPAIR])
def test_what_a_backfill_or_a_repair_lands_between_two_ranges_lands_once(spec: TableSpec, mode: Mode) -> None:
    world = large()
    load(world, spec)
    everything = Request("between", mode, Window(None, None))
    sync_table(spec, everything, world.ports())
    assert len(landed(world)) == 7
    until_loaded(world, spec)
    assert sorted(landed(world)) == [1, 2, 3, 4, 5, 6, 7]
    assert_shows(world, spec)


@BOTH
def test_whatever_moment_it_dies_at_the_next_run_goes_on_and_reads_no_range_again(spec: TableSpec) -> None:
    for number in itertools.count():
        world, process = large(), Process("dying")
        process.kill_at = number
        process.on_death = lambda: world.memory.gone.add("dying")  # noqa: B023 - called at once
        try:
            load(world, spec, process)
        except Killed:
            before = landed(world)
            world.database.tick(60)
            order(world.database, "kurt", world.database.stamp())
            read = load(world, spec).rows.read
            assert sorted(landed(world)) == [*range(1, 9)], f"killed at {process.moments[-1]}"
            # The one that came since may be read twice: in the last range, and by the sync behind it.
            assert read <= 9 - len(before), f"killed at {process.moments[-1]}"
        else:
            break
    assert number > 60


@pytest.mark.usefixtures("impatient")
def test_it_goes_on_from_the_lake_where_the_checkpoint_table_is_lost() -> None:
    world = large()
    load(world)
    load(world)
    world.memory.events.clear()
    until_loaded(world, LARGE)
    assert_equal(world)
    assert sorted(landed(world)) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.usefixtures("impatient")
def test_a_sync_that_knows_of_no_ranges_reads_what_is_left_at_once() -> None:
    world = large()
    load(world)
    report = world.sync(LARGE)
    assert (report.rows.read, report.rows.inserted) == (5, 5)
    world.sync(LARGE)
    assert_equal(world)


@pytest.mark.usefixtures("impatient")
def test_where_another_key_is_named_meanwhile_all_is_read_and_compared() -> None:
    """Of an append the key is no term of the copy."""
    world = large()
    for number in range(1, 8):
        world.database.update(ORDERS, {"id": number}, status=str(8 - number))
    load(world, APPENDED)
    load(world, APPENDED)
    columns = tuple(replace(each, spark_type="bigint") if each.name == "status" else each for each in APPENDED.columns)
    other = replace(APPENDED, shape=replace(APPENDED.shape, columns=columns), key=("status", "id"))
    until_loaded(world, other)
    assert sorted(landed(world)) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.usefixtures("impatient")
def test_a_key_that_nobody_may_see_is_not_kept_as_a_place() -> None:
    world = large()
    load(world, replace(LARGE, pii=("id",)))
    assert sorted(landed(world)) == [1, 2, 3, 4, 5, 6, 7]
    assert loading_of(world.checkpoints.position(ORDERS).state) is None


@pytest.mark.usefixtures("impatient")
def test_a_clock_that_is_put_back_meanwhile_takes_the_watermark_with_it() -> None:
    world = large()
    load(world)
    known = position_of(world.checkpoints.position(ORDERS).state)
    world.database.tick(-600)
    order(world.database, "kurt", world.database.stamp(), number=0)
    load(world)
    load(world)
    found = loading_of(world.checkpoints.position(ORDERS).state)
    assert found is not None
    assert known.loading is not None
    assert found.then.put_back is not None
    assert found.then.reading != known.loading.then.reading
    until_loaded(world, LARGE)
    assert_equal(world)


@pytest.mark.usefixtures("impatient")
def test_rows_that_are_deleted_meanwhile_are_found_by_the_first_comparison_after_it() -> None:
    spec = replace(LARGE, deletes=Deletes(DeleteMode.DIFF))
    world = large()
    load(world, spec)
    world.database.delete(ORDERS, {"id": 1})
    until_loaded(world, spec)
    load(world, spec)
    assert_equal(world)


@pytest.mark.usefixtures("impatient")
def test_rows_of_every_range_have_landed_for_a_sync_that_reads_again_above_the_watermark() -> None:
    world = large()
    database = world.database
    open_one = database.begin()
    database.tick(60)
    # Above the watermark, which the open transaction holds, lies a row of the first range, and none of the last.
    database.update(ORDERS, {"id": 1}, customer="ada l", updated_at=database.stamp())
    until_loaded(world, APPENDED)
    load(world, APPENDED)
    open_one.commit()
    assert sorted(landed(world)) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.usefixtures("impatient")
def test_a_table_that_is_altered_meanwhile_is_compared_with_what_had_landed_before() -> None:
    world = large()
    load(world, defined(LARGE))
    alter(world, 1, 7)
    until_loaded(world, defined(LARGE, 2))
    assert_equal(world)
    warned = [each for event in world.memory.events if event.report for each in event.report.warnings]
    assert len([each for each in warned if each.startswith("the table was altered")]) == 1


@pytest.mark.usefixtures("impatient")
def test_a_column_that_is_dropped_and_made_anew_meanwhile_stops_the_load_in_one_sentence() -> None:
    world = large()
    load(world, numbered(LARGE, "16384.3"))
    alter(world, 1, 7)
    for _ in range(2):
        with pytest.raises(SchemaChanged, match=r"'status' now names another column .* --full-refresh"):
            load(world, numbered(LARGE, "16384.9"))
    assert landed(world) == [1, 2]
    load(world, numbered(LARGE, "16384.3"))
    assert landed(world) == [1, 2, 3, 4]


@pytest.mark.usefixtures("impatient")
def test_a_column_that_comes_meanwhile_has_its_values_in_every_row() -> None:
    world, before = large(), without_status(LARGE)
    load(world, before)
    table = world.lake.tables[ORDERS]
    table.log[-1] = replace(table.log[-1], rows=tuple({**row, "status": None} for row in table.rows))
    world.lake.known = {ORDERS: before.columns}
    until_loaded(world, LARGE)
    load(world, LARGE)
    assert_equal(world)


@pytest.mark.usefixtures("impatient")
def test_what_a_longer_holdback_keeps_from_later_ranges_is_read_once_it_is_let_go() -> None:
    world = large()
    load(world)
    until_loaded(world, replace(LARGE, holdback=timedelta(minutes=3)))
    world.database.tick(600)
    load(world, replace(LARGE, holdback=timedelta(minutes=3)))
    assert_equal(world)


@pytest.mark.usefixtures("impatient")
def test_numbers_that_are_held_back_as_the_highest_are_deleted_meanwhile_land_later() -> None:
    spec = replace(APPENDED, cursor=Cursor("id", CursorType.INTEGER), holdback=2)
    world = large()
    load(world, spec)
    world.database.delete(ORDERS, {"id": 7})
    world.database.delete(ORDERS, {"id": 6})
    until_loaded(world, spec)
    for name in ("kurt", "emmy", "sofia"):
        order(world.database, name, world.database.stamp())
    load(world, replace(spec, holdback=0))
    assert {1, 2, 3, 4, 5, 8, 9, 10} <= set(landed(world))


@pytest.mark.usefixtures("impatient")
def test_the_next_look_finds_the_table_moving_though_nothing_has_moved() -> None:
    world = large()
    load(world)
    position = world.checkpoints.position(ORDERS)
    seen = world.ports().probe.observe((ObserveRequest(LARGE, position.state),))
    moved, _, still = look_over([LARGE], {ORDERS: position}, seen)
    assert ([each.spec for each in moved], still) == ([LARGE], ())


def test_of_a_table_that_lands_from_a_start_on_nobody_knows_how_long_it_takes() -> None:
    world = large()
    load(world, replace(LARGE, start=CursorValue.parse(CursorType.TIMESTAMP, "2024-01-01T00:00:00Z")))
    went_on = [each for each in world.observer.all if isinstance(each, LoadWentOn)]
    assert [(each.left, each.said) for each in went_on[:1]] == [(None, "its first load has read 2 rows")]


@pytest.mark.parametrize("kind", ["string", "double"])
def test_a_key_whose_order_may_change_is_read_from_one_snapshot(kind: str) -> None:
    columns = tuple(replace(each, spark_type=kind) if each.name == "id" else each for each in LARGE.columns)
    world = large()
    load(world, replace(LARGE, shape=replace(LARGE.shape, columns=columns)))
    assert sorted(landed(world)) == [1, 2, 3, 4, 5, 6, 7]
    assert not [each for each in world.observer.all if isinstance(each, LoadWentOn)]


def test_a_small_table_is_read_from_one_snapshot() -> None:
    world = large()
    load(world, replace(LARGE, shape=replace(LARGE.shape, bytes=69)))
    assert_equal(world)
    assert not [each for each in world.observer.all if isinstance(each, LoadWentOn)]
