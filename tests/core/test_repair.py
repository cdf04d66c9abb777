"""A repair reads what differs, lands it in one commit, deletes what is gone, and looks again."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from incremental_assets.core.checks.auto_repair import AutoRepair, auto_repaired
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.differences import differing as bisecting
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status
from tests.core.repairs import DAYS, SETTLED, check, check_and_repair, drift, equal, moves_on, repair, settled, verified
from tests.fakes.recorder import Recorder
from tests.scenario import ORDERS, orders

pytestmark = pytest.mark.usefixtures("few")

TERMS = TableConfig(ORDERS.schema, ORDERS.name, Strategy.UPSERT, partitions=DAYS, repaired_at_most=10)
BOTH = pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])


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
    assert (after.position.watermark, after.position.coverage, after.position.fingerprint) == (
        state.position.watermark,
        state.position.coverage,
        state.position.fingerprint,
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
    verdict = auto_repaired(spec, TERMS, found, AutoRepair("the-repair", lambda *_: None), ports)
    assert verdict.passed
    # Of each side what was repaired, and nothing before it.
    assert process.moments.count("before placed_rows") - seen == 2


@pytest.mark.parametrize(("is_busy", "status"), [(False, Status.LANDED), (True, Status.BUSY)])
def test_a_check_that_mends_says_how_its_repair_ended(is_busy: bool, status: Status) -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    heard = Recorder()
    ports = replace(world.ports(), observer=heard)
    found = reconcile(spec, DAYS, ports)
    remember(spec, found, world.checkpoints)
    with world.checkpoints.lease(spec.id, "another run") if is_busy else nullcontext():
        auto_repaired(spec, TERMS, found, AutoRepair("the-repair", lambda *_: None), ports)
    assert [(report.run_id, report.mode, report.status) for report in heard.reports] == [
        ("the-repair", Mode.REPAIR, status)
    ]


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
