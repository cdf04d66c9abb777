"""A repair may be killed at any moment."""

from __future__ import annotations

from typing import Any

import pytest

from incremental_assets.core.model.table import Strategy, TableSpec
from tests.core.repairs import FOLLOWED, check, drift, repair, settled, verified
from tests.fakes import World
from tests.fakes.rows import ordered
from tests.fakes.world import Killed
from tests.scenario import ORDERS, orders

pytestmark = pytest.mark.usefixtures("few")


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
