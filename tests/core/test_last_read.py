"""What the last sync read, and nobody has written since, is not read again while a transaction holds the watermark."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.table import FuturePolicy, Strategy, TableSpec
from tests.fakes import Transaction, World, ordered
from tests.scenario import ORDERS, ORDERS_SHAPE, order, orders

KINDS = [orders(Strategy.UPSERT), orders(Strategy.APPEND), orders(Strategy.APPEND, cursor="id")]


def held(spec: TableSpec) -> tuple[World, Transaction]:
    """A hundred rows have landed above the watermark, which an open transaction holds."""
    world = World.of(ORDERS_SHAPE)
    slow = world.database.begin()
    order(slow, "slow", slow.stamp())
    for number in range(100):
        order(world.database, f"customer {number}", world.database.stamp())
        world.pass_time(1)
    assert world.sync(spec).rows.inserted == 100
    world.pass_time(3600)
    return world, slow


def assert_equal(world: World) -> None:
    """The copy is the source."""
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


@pytest.mark.parametrize("spec", KINDS, ids=lambda spec: f"{spec.strategy} by {spec.cursor.column}")
def test_what_is_new_is_read_alone_until_the_transaction_ends(spec: TableSpec) -> None:
    world, slow = held(spec)
    order(world.database, "ada", world.database.stamp())
    assert world.sync(spec).rows.read == 1
    world.pass_time(60)
    slow.savepoint()
    order(slow, "grace", slow.stamp())
    order(world.database, "alan", world.database.stamp())
    assert world.sync(spec).rows.read == 1
    slow.commit()
    world.pass_time(60)
    last = world.sync(spec)
    assert last.rows.inserted == 2
    assert_equal(world)


def test_a_transaction_that_has_written_nothing_yet_costs_nothing_at_its_end() -> None:
    spec = orders()
    world = World.of(ORDERS_SHAPE)
    reader = world.database.begin()
    for number in range(100):
        order(world.database, f"customer {number}", world.database.stamp())
    world.sync(spec)
    world.pass_time(3600)
    order(reader, "late", reader.stamp())
    reader.commit()
    assert world.sync(spec).rows.read == 1
    assert_equal(world)


def test_a_row_that_is_changed_or_made_again_under_its_old_stamp_is_read() -> None:
    spec = orders()
    world, slow = held(spec)
    world.database.update(ORDERS, {"customer": "customer 7"}, status="paid")
    assert world.sync(spec).rows.read == 1
    slow.abort()
    assert_equal(world)


def test_a_crash_that_gives_numbers_of_transactions_out_again_has_all_read_again() -> None:
    spec = orders()
    world = World.of(ORDERS_SHAPE)
    order(world.database, "ada", world.database.stamp())
    world.database.write_to_disk()
    for name in ("grace", "edsger"):
        order(world.database, name, world.database.stamp())
    world.sync(spec)
    world.database.crash()
    world.pass_time(60)
    order(world.database, "barbara", world.database.stamp())
    world.sync(spec)
    assert "barbara" in {row["customer"] for row in world.rows(ORDERS)}


def test_a_crash_that_gives_the_same_version_to_another_row_has_it_read() -> None:
    """What landed was not on disk; number, transaction and place of the lost row are those of the next one, and nothing tells them apart."""
    world = World.of(ORDERS_SHAPE)
    spec = orders(Strategy.APPEND, cursor="id")
    order(world.database, "ada", world.database.stamp())
    world.sync(spec)
    world.database.write_to_disk()
    order(world.database, "lost by the crash", world.database.stamp())
    world.database.tick(60)
    world.sync(spec)
    world.database.crash()
    world.database.tick(60)
    order(world.database, "after the crash", world.database.stamp())
    world.sync(spec)
    assert "after the crash" in {row["customer"] for row in world.rows(ORDERS)}


def test_of_equal_rows_without_a_key_each_lands() -> None:
    spec = replace(orders(Strategy.APPEND), shape=replace(ORDERS_SHAPE, primary_key=()), key=(), key_enforced=False)
    world = World.of(spec.shape)
    slow = world.database.begin()
    stamp = world.database.stamp()
    for _ in range(2):
        world.database.insert(ORDERS, id=1, customer="ada", status="new", updated_at=stamp)
        world.sync(spec)
    slow.abort()
    assert len(world.rows(ORDERS)) == 2


@pytest.mark.parametrize("future", [FuturePolicy.QUARANTINE, FuturePolicy.WAIT])
def test_a_row_that_was_past_the_clock_lands_once_its_time_has_come_though_nobody_touches_it(
    future: FuturePolicy,
) -> None:
    spec = orders(future=future)
    world = World.of(ORDERS_SHAPE)
    order(world.database, "ada", world.database.stamp())
    world.pass_time(10)
    order(world.database, "grace", world.database.stamp(at=world.database.clock + timedelta(hours=1)))
    world.sync(spec)
    world.pass_time(7200)
    world.sync(spec)
    assert_equal(world)


def test_a_reset_and_a_partition_have_all_read_again() -> None:
    spec = orders()
    world, slow = held(spec)
    reset_table(spec=spec, to=None, run_id="reset", checkpoints=world.checkpoints)
    assert world.sync(spec).rows.read == 100
    world.database.fill(ORDERS, 7, id=1000, customer="barbara", updated_at=world.database.stamp())
    world.sync(spec)
    world.database.attach(ORDERS, 7)
    assert world.sync(spec).rows.read == 101
    slow.abort()
    assert_equal(world)


def test_a_column_of_another_type_has_all_read_again() -> None:
    spec = orders()
    world, slow = held(spec)
    columns = tuple(
        replace(column, source_type="character varying(20)") if column.name == "status" else column
        for column in spec.columns
    )
    order(world.database, "ada", world.database.stamp())
    assert world.sync(replace(spec, shape=replace(spec.shape, columns=columns))).rows.read == 101
    slow.abort()
    assert_equal(world)
