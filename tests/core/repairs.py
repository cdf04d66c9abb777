"""Ten days of orders, drift among them, and what a check and a repair do about it."""

from __future__ import annotations

from datetime import date

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import Repaired, repair_table
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.table import TableSpec
from tests.fakes import World
from tests.fakes.rows import ordered
from tests.fakes.world import Process
from tests.scenario import ORDERS, order, shop

DAYS = TimeGrid(Every.DAY, date(2024, 1, 1))
FOLLOWED = Deletes(DeleteMode.DIFF, max_fraction=0.9)
SETTLED = "2024-01-29T08:59:58Z"


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
