"""What the stories of a sync begin with, do and are judged by: the shop with its first orders, a run that dies, a copy that equals its source."""

import pytest

from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Mode
from tests.fakes import Killed, World, ordered
from tests.scenario import ORDERS, order, orders, shop

UPSERT, APPEND = orders(Strategy.UPSERT), orders(Strategy.APPEND)
BOTH = pytest.mark.parametrize("spec", [UPSERT, APPEND], ids=["upsert", "append"])


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


def three_orders() -> World:
    world = World(shop())
    for customer in ("ada", "grace", "barbara"):
        order(world.database, customer, world.database.stamp())
        world.database.tick(60)
    return world


def one_more(world: World, customer: str = "alan") -> None:
    world.database.tick(3600)
    order(world.database, customer, world.database.stamp())
    world.database.tick(60)


def die(world: World, spec: TableSpec, moment: str, mode: Mode = Mode.SYNC) -> None:
    process = world.process()
    process.at[moment] = process.kill
    with pytest.raises(Killed):
        world.sync(spec, process=process, mode=mode)


def reset(world: World, spec: TableSpec, to: str | None = None) -> None:
    """Rewind the watermark, as the command does."""
    watermark = None if to is None else CursorValue.parse(CursorType.TIMESTAMP, to)
    reset_table(spec=spec, to=watermark, run_id="reset", checkpoints=world.checkpoints)
