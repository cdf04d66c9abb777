"""A partition that is attached brings rows which were stamped at any time: they land whole and once, and no other row again."""

from __future__ import annotations

import pytest

from incremental_assets.core.captures.database.observation import Parts
from incremental_assets.core.captures.database.parts import changed_parts, joined, reaching
from incremental_assets.core.captures.database.position import UNREAD, DatabasePosition
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.terms import Terms
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.fakes import World, ordered
from tests.scenario import MONDAY, ORDERS, ORDERS_SHAPE, order, orders

OLD, OLDER = "2023-05-01T00:00:00Z", "2022-05-01T00:00:00Z"
SPECS = [orders(Strategy.UPSERT), orders(Strategy.APPEND), orders(Strategy.APPEND, cursor="id")]


@pytest.fixture
def world() -> World:
    return two_orders()


def two_orders() -> World:
    """Two rows that were written ten minutes ago."""
    world = World.of(ORDERS_SHAPE)
    world.database.clock = MONDAY
    world.database.nextval(step=100)
    for customer in ("ada", "grace"):
        order(world.database, customer, world.database.stamp())
    world.pass_time(600)
    return world


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_an_attached_partition_lands_whole_and_once(world: World, spec: TableSpec) -> None:
    world.sync(spec)
    world.database.fill(ORDERS, 7, id=1, customer="barbara", updated_at=OLD)
    world.database.fill(ORDERS, 7, id=2, customer="edsger", updated_at=OLDER)
    world.pass_time(600)
    assert world.sync(spec).status is Status.IDLE
    world.database.attach(ORDERS, 7)
    report = world.sync(spec)
    assert (report.rows.inserted, report.rows.updated, report.rows.late) == (2, 0, 2)
    assert [told for told in report.warnings if told.startswith("a partition or child joined")]
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))
    world.pass_time(600)
    again = world.sync(spec)
    assert (again.status, again.warnings) == (Status.IDLE, ())


def test_a_member_that_was_away_is_another_and_one_that_an_earlier_release_kept_is_the_same() -> None:
    attached_once, attached_again = 7 + 2**32, 7 + 2**33

    def known(*members: int) -> State:
        return State("app", 1, "b", Terms(Strategy.APPEND, (), "id:integer"), DatabasePosition(members=members))

    assert joined(known(attached_once), Parts((attached_once, 8))) == (8,)
    assert joined(known(attached_once), Parts((attached_again,))) == (attached_again,)
    assert joined(known(7), Parts((attached_again,))) == ()
    assert changed_parts(known(attached_once), Parts((attached_again,))) == (
        "a partition or child joined the table since the last sync: its rows are read whatever their stamps are",
    )


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_one_that_left_and_comes_back_lands_what_it_got_meanwhile(world: World, spec: TableSpec) -> None:
    world.database.fill(ORDERS, 7, id=1, customer="barbara", updated_at=OLD)
    world.database.attach(ORDERS, 7)
    world.sync(spec)
    world.database.detach(ORDERS, 7)
    world.pass_time(600)
    assert [told for told in world.sync(spec).warnings if "left the table" in told]
    world.database.fill(ORDERS, 7, id=2, customer="edsger", updated_at=OLDER)
    world.pass_time(600)
    world.sync(spec)
    world.database.attach(ORDERS, 7)
    report = world.sync(spec)
    assert (report.rows.inserted, report.rows.updated) == (1, 0)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_backfill_and_a_reset_leave_it_to_the_next_sync(world: World, spec: TableSpec) -> None:
    world.sync(spec)
    world.database.fill(ORDERS, 7, id=1, customer="barbara", updated_at=OLD)
    world.database.attach(ORDERS, 7)
    world.pass_time(600)
    mark = world.checkpoints.position(ORDERS).state
    assert mark is not None
    assert mark.position.watermark is not None
    world.backfill(spec, Window(mark.position.watermark, None))
    reset_table(spec=spec, to=mark.position.watermark, run_id="reset", checkpoints=world.checkpoints)
    assert world.sync(spec).rows.inserted == 1
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_an_empty_one_is_nothing_to_read_and_a_full_refresh_knows_all(world: World) -> None:
    spec = orders()
    world.sync(spec)
    world.database.attach(ORDERS, 7)
    world.pass_time(600)
    assert world.sync(spec).status is Status.IDLE
    world.database.fill(ORDERS, 8, id=1, customer="barbara", updated_at=OLD)
    world.database.attach(ORDERS, 8)
    world.sync(spec, mode=Mode.FULL_REFRESH)
    world.pass_time(600)
    assert world.sync(spec).status is Status.IDLE


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_copy_that_was_refreshed_without_it_gets_it_back_although_the_checkpoint_table_is_from_before(
    world: World, spec: TableSpec
) -> None:
    world.database.fill(ORDERS, 7, id=1, customer="barbara", updated_at=OLD)
    world.database.attach(ORDERS, 7)
    world.sync(spec)
    kept = len(world.memory.events)
    world.database.detach(ORDERS, 7)
    world.sync(spec, mode=Mode.FULL_REFRESH)
    assert len(world.rows(ORDERS)) == 2
    del world.memory.events[kept:]
    world.database.attach(ORDERS, 7)
    world.pass_time(600)
    world.sync(spec)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def value(text: str | None) -> CursorValue | None:
    return None if text is None else CursorValue(CursorType.INTEGER, text)


def state(*members: int) -> State:
    return State("app", 1, "b", Terms(Strategy.APPEND, (), "id:integer"), DatabasePosition(members=members))


@pytest.mark.parametrize(
    ("lower", "start", "lowest", "reached"),
    [
        ("50", None, "7", "7"),
        ("50", "20", "7", "20"),
        ("10", "20", "7", "10"),
        ("50", None, "70", "50"),
        ("50", None, None, "50"),
        (None, None, "7", None),
    ],
)
def test_a_read_begins_where_what_has_joined_begins(
    lower: str | None, start: str | None, lowest: str | None, reached: str | None
) -> None:
    parts = Parts((1, 2), (2,), value(lowest))
    assert reaching(value(lower), value(start), state(1), parts) == value(reached)


def test_a_state_that_is_not_the_one_asked_about_reads_from_the_start() -> None:
    parts = Parts((1, 2), (2,), value("7"))
    assert reaching(value("50"), value("3"), state(), parts) == value("3")
    assert reaching(value("50"), None, state(), Parts((1,))) is None


def test_nothing_is_compared_where_nothing_is_known() -> None:
    unknown = State("app", 1, "b", Terms(Strategy.APPEND, (), "id:integer"), UNREAD)
    for kept, parts in ((None, Parts((1,))), (unknown, Parts((1,))), (state(1), None), (state(1), Parts((1,)))):
        assert joined(kept, parts) == ()
        assert changed_parts(kept, parts) == ()
        assert reaching(value("50"), None, kept, parts) == value("50")
