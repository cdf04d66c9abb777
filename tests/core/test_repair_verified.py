"""What is verified after a repair, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.window import Window
from tests.core.plans import placed
from tests.core.repairs import SETTLED, check, repair, settled, verified
from tests.fakes import World
from tests.scenario import ORDERS, orders

pytestmark = pytest.mark.usefixtures("few")


def test_a_hole_that_no_sync_has_read_stays_one() -> None:
    """The window of a repair may reach over it, and reads there nothing that was not asked for."""
    spec = orders()
    world = settled(spec)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    covered = (_window(None, "2024-01-04T00:00:00Z"), _window("2024-01-06T00:00:00Z", SETTLED))
    _in_place_of_the_state(world, placed(state, coverage=covered))
    for number in (1, 9):
        world.database.update(ORDERS, {"id": number}, status="other")
    assert check(world, spec) == 2
    assert verified(world)[0] == "2024-01-02T00:00:00Z"
    repair(world, spec)
    after = world.checkpoints.position(ORDERS).state
    assert after is not None
    assert after.position.coverage == covered
    assert verified(world) == ("2024-01-04T00:00:00Z", 0)


def test_a_drift_above_a_hole_verifies_nothing_past_the_hole() -> None:
    spec = orders()
    world = settled(spec)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    covered = (_window(None, "2024-01-04T00:00:00Z"), _window("2024-01-06T00:00:00Z", SETTLED))
    _in_place_of_the_state(world, placed(state, coverage=covered))
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


def _window(lower: str | None, upper: str) -> Window:
    def value(text: str | None) -> CursorValue | None:
        return None if text is None else CursorValue.parse(CursorType.TIMESTAMP, text)

    return Window(value(lower), value(upper))


def _in_place_of_the_state(world: World, state: Any) -> None:
    last = next(event for event in reversed(world.memory.events) if event.state is not None)
    world.memory.events[world.memory.events.index(last)] = replace(last, state=state)
    table = world.lake.tables[ORDERS]
    table.log[-1] = replace(table.log[-1], state=state)
