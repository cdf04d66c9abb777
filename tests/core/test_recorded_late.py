"""What a check has found is recorded without a lease: what lands between its look and its record counts as if it had landed after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember, remember_windows, still_true
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.strategies import Strategy
from tests.core.repairs import DAYS, SETTLED, check, check_and_repair, settled, verified
from tests.fakes import World
from tests.scenario import ORDERS, order, orders

pytestmark = pytest.mark.usefixtures("few")


def _window(lower: str, upper: str) -> Window:
    return Window(*(CursorValue.parse(CursorType.TIMESTAMP, f"{day}T00:00:00Z") for day in (lower, upper)))


FOURTH = _window("2024-01-04", "2024-01-05")


def late(world: World, spec: TableSpec, meanwhile: Callable[[], object], *, windows: tuple[Window, ...] = ()) -> None:
    """A check of all, or of some windows, that looks, and records after what happens meanwhile."""
    process = world.process()
    process.at = {"before remember_verified": meanwhile}
    ports = world.ports(process)
    drift = reconcile(spec, DAYS, ports, windows or None)
    (remember_windows if windows else remember)(spec, drift, ports.checkpoints)


def test_drift_that_a_backfill_has_read_again_since_the_look_is_not_recorded() -> None:
    spec = orders()
    world = settled(spec)
    for number in (3, 7):
        world.database.update(ORDERS, {"id": number}, status="changed behind the cursor's back")
    late(world, spec, lambda: world.backfill(spec, FOURTH))
    assert verified(world) == ("2024-01-04T00:00:00Z", 1)


def test_a_sync_of_what_lies_above_leaves_what_a_check_has_found_meanwhile() -> None:
    spec = orders()
    world = settled(spec)
    world.database.update(ORDERS, {"id": 7}, status="changed behind the cursor's back")

    def goes_on() -> None:
        order(world.database, "new", "2024-01-31T09:30:00Z")
        world.pass_time(3600)
        world.sync(spec)

    late(world, spec, goes_on)
    assert verified(world) == ("2024-01-08T00:00:00Z", 1)


def test_drift_that_was_repaired_since_the_look_is_not_recorded_again() -> None:
    spec = orders()
    world = settled(spec)
    world.database.update(ORDERS, {"id": 3}, status="changed behind the cursor's back")
    late(world, spec, lambda: check_and_repair(world, spec))
    assert verified(world) == (SETTLED, 0)


def test_a_copy_that_was_rolled_back_since_the_look_is_not_verified() -> None:
    spec = orders()
    world = settled(spec)
    first = world.memory.events[-1].run_id
    order(world.database, "new", "2024-01-31T09:30:00Z")
    world.pass_time(3600)
    world.sync(spec)
    late(world, spec, lambda: roll_back(spec, first, "the-rollback", world.ports()))
    assert verified(world) == (None, 0)


def test_a_check_that_records_while_a_rollback_commits_verifies_nothing_once_it_has_landed() -> None:
    spec = orders()
    world = settled(spec)
    process = world.process()
    process.at = {"before roll_back": lambda: check(world, spec)}
    roll_back(spec, world.memory.events[-1].run_id, "the-rollback", world.ports(process))
    assert verified(world) == (None, 0)


def test_nothing_is_recorded_of_a_table_that_was_reset_since_the_look() -> None:
    spec = orders()
    world = settled(spec)
    late(world, spec, lambda: reset_table(spec=spec, to=None, run_id="r", checkpoints=world.checkpoints))
    assert world.checkpoints.verified() == {}


def test_a_check_of_some_windows_brings_no_drift_back_that_was_read_again_meanwhile() -> None:
    spec = orders()
    world = settled(spec)
    for number in (3, 7):
        world.database.update(ORDERS, {"id": number}, status="changed behind the cursor's back")
    assert check(world, spec) == 2
    eighth = _window("2024-01-08", "2024-01-09")
    late(world, spec, lambda: world.backfill(spec, FOURTH), windows=(eighth,))
    assert verified(world) == ("2024-01-04T00:00:00Z", 1)


@pytest.mark.parametrize(
    ("kind", "mode", "left"),
    [
        (EventKind.LANDED, Mode.SYNC, Verified("2024-01-02")),
        (EventKind.LANDED, Mode.FILL, Verified("2024-01-02", (Drifted(FOURTH, 3),))),
        (EventKind.IDLE, Mode.SYNC, Verified("2024-01-02", (Drifted(FOURTH, 3),))),
        (EventKind.FAILED, Mode.REPAIR, Verified("2024-01-02", (Drifted(FOURTH, 3),))),
        (EventKind.LANDED, Mode.REPAIR, None),
        (EventKind.LANDED, Mode.ROLLBACK, None),
        (EventKind.REBUILT, Mode.SYNC, None),
        (EventKind.RESET, Mode.SYNC, None),
    ],
)
def test_what_holds_of_a_finding_after_one_event(kind: EventKind, mode: Mode, left: Verified | None) -> None:
    landed = SyncReport(ORDERS, "r", Strategy.UPSERT, mode, Status.LANDED)
    event = Event(ORDERS, kind, "r", report=replace(landed, window=FOURTH))
    assert still_true(Verified("2024-01-02", (Drifted(FOURTH, 3),)), [event]) == left
