"""A repair reads what differs, lands it in one commit, deletes what is gone, and looks again."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from incremental_assets.core.checks.mending import Mending, mended
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import Repaired, repair_table
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import Busy, Refused, SelectionError, TargetChanged
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.syncing import differing as bisecting
from tests.fakes import World
from tests.fakes.delta_table import LogEntry
from tests.fakes.rows import ordered
from tests.fakes.world import Killed, Process
from tests.scenario import ORDERS, countries, order, orders, shop

DAYS = TimeGrid(Every.DAY, date(2024, 1, 1))
TERMS = TableConfig(ORDERS.schema, ORDERS.name, Strategy.UPSERT, partitions=DAYS, mended_at_most=10)
FOLLOWED = Deletes(DeleteMode.DIFF, max_fraction=0.9)
SETTLED = "2024-01-29T08:59:58Z"
BOTH = pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])


@pytest.fixture(autouse=True, params=[5_000, 0], ids=["windows first", "keys at once"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small table is counted by its windows, a large one by its keys; both are told the same."""
    monkeypatch.setattr(bisecting, "FEW", request.param)


def settled(spec: TableSpec, days: range = range(2, 12)) -> World:
    """One order on each of these days of January, all landed and settled by the 29th."""
    world = World(shop())
    for day in days:
        order(world.database, f"of the {day}", f"2024-01-{day:02d}T12:00:00Z")
    world.sync(spec)
    return world


def check(world: World, spec: TableSpec) -> int:
    """What the daily check does, and how many rows it finds."""
    drift = reconcile(spec, DAYS, world.ports())
    remember(spec, drift, world.checkpoints)
    return drift.rows


def check_and_repair(world: World, spec: TableSpec, process: Process | None = None) -> Repaired:
    """What a check does that repairs by itself."""
    ports = world.ports(process)
    drift = reconcile(spec, DAYS, ports)
    remember(spec, drift, world.checkpoints)
    return repair_table(spec, DAYS, "the-repair", ports, drift.seen)


def repair(world: World, spec: TableSpec, process: Process | None = None) -> Repaired:
    return repair_table(spec, DAYS, "the-repair", world.ports(process))


def verified(world: World) -> tuple[str | None, int]:
    known = world.checkpoints.verified()[ORDERS]
    return known.through, known.drift


def equal(world: World) -> bool:
    return ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def drift(world: World) -> None:
    """One row changed under its old stamp, and one came below the watermark."""
    world.database.update(ORDERS, {"id": 3}, status="changed behind the cursor's back")
    order(world.database, "late", "2024-01-07T12:00:01Z")


def moves_on(world: World, spec: TableSpec) -> None:
    """More drift, and a sync that commits."""
    world.database.update(ORDERS, {"id": 4}, status="changed behind the cursor's back")
    order(world.database, "late too", "2024-01-07T12:00:02Z")
    order(world.database, "new", "2024-01-29T09:30:00Z")
    world.pass_time(3600)
    world.sync(spec)


def test_what_a_check_has_found_is_mended_in_one_commit_under_a_higher_sequence() -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    assert check(world, spec) == 2
    before, state = world.lake.tables[ORDERS], world.checkpoints.position(ORDERS).state
    version = before.version
    done = repair(world, spec)

    assert equal(world)
    assert done.report.rows == RowCounts(read=2, inserted=1, updated=1)
    assert (done.report.status, done.report.mode, done.report.seq) == (Status.LANDED, Mode.REPAIR, 1)
    assert before.version == version + 1
    after = world.checkpoints.position(ORDERS).state
    assert after is not None
    assert state is not None
    assert (after.position.watermark, after.coverage, after.fingerprint) == (
        state.position.watermark,
        state.coverage,
        state.fingerprint,
    )
    assert done.left is not None
    assert (done.left.rows, done.left.detail) == (0, "3 rows in 2 windows are equal")
    assert verified(world) == (SETTLED, 0)


def test_an_append_gets_the_rows_that_it_lacks_and_keeps_the_versions_that_it_has() -> None:
    spec = orders(Strategy.APPEND)
    world = settled(spec)
    drift(world)
    check(world, spec)
    done = repair(world, spec)

    assert done.report.rows == RowCounts(read=2, inserted=2)
    assert [row["status"] for row in world.rows(ORDERS) if row["id"] == 3] == [
        "new",
        "changed behind the cursor's back",
    ]
    assert len(world.rows(ORDERS)) == 12
    assert verified(world) == (SETTLED, 0)


def test_an_append_without_a_key_gets_a_row_as_often_as_it_lacks_it() -> None:
    spec = replace(orders(Strategy.APPEND), key=(), key_enforced=False)
    world = settled(spec)
    for _ in range(2):
        world.database.insert(ORDERS, id=3, customer="of the 4", status="new", updated_at="2024-01-04T12:00:00Z")
    assert check(world, spec) == 2
    assert repair(world, spec).report.rows == RowCounts(read=3, inserted=2, unchanged=1)
    assert equal(world)


@BOTH
def test_a_second_repair_lands_nothing(strategy: Strategy) -> None:
    spec = orders(strategy)
    world = settled(spec)
    drift(world)
    check(world, spec)
    repair(world, spec)
    rows, version = world.rows(ORDERS), world.lake.tables[ORDERS].version
    done = repair(world, spec)
    assert (done.report.status, done.report.reason) == (Status.IDLE, "no check has found drift that is still there")
    assert (world.rows(ORDERS), world.lake.tables[ORDERS].version) == (rows, version)


def test_what_is_gone_is_deleted_where_deletes_are_followed_and_though_its_turn_has_not_come() -> None:
    spec = orders(deletes=replace(FOLLOWED, every=timedelta(days=30)))
    world = settled(spec)
    drift(world)
    world.database.delete(ORDERS, {"id": 5})
    check(world, spec)
    done = repair(world, spec)
    assert done.report.rows == RowCounts(read=3, inserted=1, updated=1, deleted=1)
    assert equal(world)


def test_rows_that_are_gone_alone_are_deleted_too() -> None:
    spec = orders(deletes=FOLLOWED)
    world = settled(spec)
    world.database.delete(ORDERS, {"id": 5})
    assert check(world, spec) == 1
    done = repair(world, spec)
    assert done.report.rows == RowCounts(read=1, deleted=1)
    assert equal(world)
    assert verified(world) == (SETTLED, 0)


def test_a_row_that_is_gone_is_marked_where_that_is_wanted() -> None:
    spec = orders(deletes=replace(FOLLOWED, then=Then.MARK))
    world = settled(spec)
    world.database.delete(ORDERS, {"id": 5})
    check(world, spec)
    assert repair(world, spec).report.rows.deleted == 1
    assert len(world.rows(ORDERS)) == 10


def test_more_than_may_go_is_refused_and_nothing_is_touched() -> None:
    spec = orders(deletes=replace(FOLLOWED, max_fraction=0.2))
    world = settled(spec)
    for number in (1, 2, 3):
        world.database.delete(ORDERS, {"id": number})
    check(world, spec)
    rows = world.rows(ORDERS)
    with pytest.raises(Refused, match="3 rows of the 10 in the copy are gone from the source"):
        repair(world, spec)
    assert world.rows(ORDERS) == rows


def test_a_row_that_became_one_that_cannot_land_leaves_the_copy() -> None:
    spec = orders()
    world = settled(spec)
    world.database.update(ORDERS, {"id": 4}, status="unfit")
    assert check(world, spec) == 1
    done = repair(world, spec)
    assert (done.report.rows.quarantined, done.report.rows.deleted) == (1, 1)
    assert 4 not in [row["id"] for row in world.rows(ORDERS)]
    assert verified(world)[1] == 0


def test_a_row_that_moved_on_meanwhile_is_left_to_the_next_sync() -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    check(world, spec)
    world.database.update(ORDERS, {"id": 3}, status="paid", updated_at="2024-01-29T09:00:00Z")
    assert repair(world, spec).report.rows == RowCounts(read=1, inserted=1)
    world.pass_time(60)
    world.sync(spec)
    assert equal(world)


def test_drift_that_is_gone_again_needs_no_commit_and_is_forgotten() -> None:
    spec = orders()
    world = settled(spec)
    world.database.update(ORDERS, {"id": 3}, status="other")
    check(world, spec)
    version = world.lake.tables[ORDERS].version
    world.database.update(ORDERS, {"id": 3}, status="new")
    done = repair(world, spec)
    assert (done.report.status, done.report.reason) == (Status.IDLE, "nothing differs any more")
    assert (world.lake.tables[ORDERS].version, verified(world)) == (version, (SETTLED, 0))


def test_a_copy_that_moved_since_a_repair_has_looked_at_it_is_looked_at_whole_again() -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    check(world, spec)
    process = world.process()
    process.at = {"before lease": lambda: moves_on(world, spec)}
    done = repair(world, spec, process)
    assert done.report.rows == RowCounts(read=2, inserted=1, updated=1)
    assert done.left is not None
    assert (done.left.rows, verified(world)[1]) == (1, 1)


@BOTH
@pytest.mark.parametrize("moves", [False, True])
def test_a_repair_that_follows_a_check_at_once_mends_the_same_and_looks_again_if_the_copy_moved(
    strategy: Strategy, *, moves: bool
) -> None:
    spec = orders(strategy)
    world = settled(spec)
    drift(world)
    process = world.process()
    if moves:
        process.at = {"after verified": lambda: moves_on(world, spec)}
    done = check_and_repair(world, spec, process)
    assert done.report.rows.inserted + done.report.rows.updated == (3 if moves else 2)
    assert done.left is not None
    assert done.left.rows == 0


def test_a_check_that_mends_hands_on_what_it_has_seen() -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    process = world.process()
    ports = world.ports(process)
    found = reconcile(spec, DAYS, ports)
    remember(spec, found, world.checkpoints)
    seen = process.moments.count("before placed_rows")
    verdict = mended(spec, TERMS, found, Mending("the-repair", lambda *_: None), ports)
    assert verdict.passed
    # Of each side what was repaired, and nothing before it.
    assert process.moments.count("before placed_rows") - seen == 2


def test_a_hole_that_no_sync_has_read_stays_one() -> None:
    """The window of a repair may reach over it, and reads there nothing that was not asked for."""
    spec = orders()
    world = settled(spec)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    covered = (_window(None, "2024-01-04T00:00:00Z"), _window("2024-01-06T00:00:00Z", SETTLED))
    _in_place_of_the_state(world, replace(state, coverage=covered))
    for number in (1, 9):
        world.database.update(ORDERS, {"id": number}, status="other")
    assert check(world, spec) == 2
    assert verified(world)[0] == "2024-01-02T00:00:00Z"
    repair(world, spec)
    after = world.checkpoints.position(ORDERS).state
    assert after is not None
    assert after.coverage == covered
    assert verified(world) == ("2024-01-04T00:00:00Z", 0)


def test_a_drift_above_a_hole_verifies_nothing_past_the_hole() -> None:
    spec = orders()
    world = settled(spec)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    covered = (_window(None, "2024-01-04T00:00:00Z"), _window("2024-01-06T00:00:00Z", SETTLED))
    _in_place_of_the_state(world, replace(state, coverage=covered))
    world.database.update(ORDERS, {"id": 9}, status="other")
    assert check(world, spec) == 1
    assert verified(world)[0] == "2024-01-04T00:00:00Z"


def test_drift_that_stays_keeps_the_verified_end_below_it() -> None:
    spec = orders()
    world = settled(spec)
    for number in (2, 7):
        world.database.update(ORDERS, {"id": number}, status="other")
    assert check(world, spec) == 2
    known = world.checkpoints.verified()[ORDERS]
    # A backfill of the first window: repaired, and not looked at since.
    world.backfill(spec, known.drifted[0].window)
    repair(world, spec)
    assert verified(world) == ("2024-01-03T00:00:00Z", 0)


def test_nothing_is_repaired_that_no_check_has_found() -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    done = repair(world, spec)
    assert (done.report.status, done.report.reason) == (
        Status.IDLE,
        "it was never checked: run `incremental-assets check --select shop.public.orders`",
    )


def test_a_table_that_is_read_whole_is_refused_with_what_to_do() -> None:
    world = World(shop())
    with pytest.raises(SelectionError, match="is read whole and has no windows to repair; read it again with `incre"):
        repair_table(countries(), None, "the-repair", world.ports())


def test_a_table_that_is_compared_is_not_said_to_be_read_whole() -> None:
    spec = replace(orders(), cursor=None, compares=True)
    with pytest.raises(
        SelectionError, match="is compared as a whole and has no windows to repair; read it again with `incre"
    ):
        repair_table(spec, None, "the-repair", World(shop()).ports())


def test_while_a_sync_holds_the_lease_a_repair_waits_for_another_day() -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    check(world, spec)
    order(world.database, "new", "2024-01-29T09:00:00Z")
    world.pass_time(60)
    asleep = world.asleep(spec, "before commit")
    with pytest.raises(Busy):
        repair(world, spec)
    asleep.wake()
    assert repair(world, spec).report.status is Status.LANDED
    assert equal(world)


def test_a_copy_that_another_writer_changed_is_not_repaired_over_his_head() -> None:
    spec = orders()
    world = settled(spec)
    table = world.lake.tables[ORDERS]
    table.log.append(LogEntry(tuple(row for row in table.rows if row["id"] != 3), "DELETE", ours=False))
    check(world, spec)
    with pytest.raises(TargetChanged):
        repair(world, spec)


def test_rows_too_many_to_be_named_are_read_with_their_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bisecting, "MOST_PLACES", 1)
    spec = orders()
    world = settled(spec)
    drift(world)
    check(world, spec)
    done = repair(world, spec)
    assert done.report.rows.updated == 1
    assert done.report.rows.inserted == 1
    assert done.report.rows.unchanged >= 1
    assert equal(world)


def test_a_repair_can_be_killed_at_any_moment() -> None:
    """Each moment of a repair is met by a kill; the next repair, after it a sync, leave the copy equal and nothing twice."""
    moments = _moments()
    assert len(moments) > 20
    for number in range(len(moments)):
        for spec in (orders(deletes=FOLLOWED), orders(Strategy.APPEND)):
            world = _drifted(spec)
            process = world.process()
            process.kill_at = number
            with pytest.raises(Killed):
                repair(world, spec, process)
            repair(world, spec)
            world.sync(spec)
            held = ordered(row for row in world.rows(ORDERS) if row["status"] != "new" or row["id"] != 3)
            shown = ordered(world.database.rows(ORDERS))
            assert held == shown or (spec.traits.keeps_versions and _within(shown, held)), moments[number]
            assert len(held) == len(shown) + (1 if spec.traits.keeps_versions else 0), moments[number]
            assert verified(world)[1] == 0, moments[number]


def _moments() -> list[str]:
    spec = orders(Strategy.APPEND)
    world, process = _drifted(spec), None
    process = world.process()
    repair(world, spec, process)
    return process.moments


def _drifted(spec: TableSpec) -> World:
    world = settled(spec)
    drift(world)
    world.database.delete(ORDERS, {"id": 5})
    check(world, spec)
    return world


def _within(shown: list[Any], held: list[Any]) -> bool:
    return all(row in held for row in shown)


def _window(lower: str | None, upper: str) -> Window:
    def value(text: str | None) -> CursorValue | None:
        return None if text is None else CursorValue.parse(CursorType.TIMESTAMP, text)

    return Window(value(lower), value(upper))


def _in_place_of_the_state(world: World, state: Any) -> None:
    last = next(event for event in reversed(world.memory.events) if event.state is not None)
    world.memory.events[world.memory.events.index(last)] = replace(last, state=state)
    table = world.lake.tables[ORDERS]
    table.log[-1] = replace(table.log[-1], state=state)
