"""A look at all tables of a source is good for the sync of each idle one, as long as nobody else has moved it."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.cached_probe import CachedProbe
from incremental_assets.core.syncing.sync import sync_table
from tests.fakes import Process, World
from tests.scenario import ORDERS_SHAPE, order, orders


def looked_at(world: World, spec: TableSpec, process: Process) -> Ports:
    """The doors of a process that has just looked at the table, and has not been seen to ask anything so far."""
    ports = world.ports(process)
    looks = [ObserveRequest(spec, world.checkpoints.position(spec.id).state)]
    seen = CachedProbe(ports.probe, looks, ports.probe.observe(looks))
    process.moments.clear()
    return replace(ports, probe=seen)


def settled() -> World:
    world = World.of(ORDERS_SHAPE)
    order(world.database, "ada", world.database.stamp())
    world.database.tick(60)
    world.sync(orders())
    world.database.tick(60)
    return world


def test_an_idle_table_is_not_asked_about_again_and_its_watermark_still_moves() -> None:
    world, process = settled(), Process("host:1")
    before = world.checkpoints.position(orders().id).state

    report = sync_table(orders(), Request("run"), looked_at(world, orders(), process))

    after = world.checkpoints.position(orders().id).state
    assert report.status is Status.IDLE
    assert "before observe" not in process.moments
    assert before is not None
    assert after is not None
    assert before.position.watermark is not None
    assert after.position.watermark is not None
    assert before.position.watermark < after.position.watermark


def test_a_table_that_another_run_has_synced_since_is_asked_about_anew() -> None:
    world, process = settled(), Process("host:1")
    ports = looked_at(world, orders(), process)
    order(world.database, "grace", world.database.stamp())
    world.sync(orders())

    report = sync_table(orders(), Request("run"), ports)

    assert "before observe" in process.moments
    assert report.status is Status.IDLE
    assert len(world.rows(orders().id)) == 2
