"""Ten orders, and tables that follow what becomes of them."""

from dataclasses import replace
from datetime import timedelta

from incremental_assets.core.model.deletes import DeleteMode, Deletes
from tests.fakes import World
from tests.scenario import ORDERS, order, orders, shop

DIFF = Deletes(DeleteMode.DIFF, every=timedelta())
EACH = orders(deletes=DIFF)
DAILY = orders(deletes=replace(DIFF, every=timedelta(days=1)))


def ten() -> World:
    """Ten orders in the source, a minute apart."""
    world = World(shop())
    for number in range(1, 11):
        order(world.database, f"customer {number}", world.database.stamp(), number=number)
        world.database.tick(60)
    return world


def numbers(world: World) -> list[object]:
    return sorted(row["id"] for row in world.rows(ORDERS))  # type: ignore[type-var]
