"""What the stories of a sync begin with and are judged by: the shop with its first orders, and a copy that equals its source."""

from incremental_assets.core.model.table import Strategy
from tests.fakes import World, ordered
from tests.scenario import ORDERS, order, orders, shop

UPSERT, APPEND = orders(Strategy.UPSERT), orders(Strategy.APPEND)


def assert_equal(world: World) -> None:
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def opened() -> World:
    """Two orders on Monday morning, synced by nobody yet."""
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.database.tick(60)
    order(world.database, "grace", world.database.stamp())
    world.database.tick(60)
    return world
