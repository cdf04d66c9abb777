"""Keys of which the source takes values for equal that a copy holds differently: a customer's name, whatever its letters' case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import SourceRefused, TermsChanged
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.collation_key import NAME, collated, uncollated
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning import as_landed as as_landed_module
from incremental_assets.core.planning.as_landed import as_landed, read_anew
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts
from tests.fakes import SimulatedDatabase, World
from tests.scenario import MONDAY, ORDERS, ORDERS_SHAPE, order, orders

FOLLOWED = Deletes(DeleteMode.DIFF, every=timedelta(), max_fraction=1.0)


def shape(collation: str = "nocase", **changes: Any) -> TableShape:
    columns = (
        replace(column, collation=collation, nullable=False) if column.name == "customer" else column
        for column in ORDERS_SHAPE.columns
    )
    return replace(ORDERS_SHAPE, columns=tuple(columns), primary_key=("customer",), **changes)


def spec(strategy: Strategy = Strategy.UPSERT, collation: str = "nocase", **changes: Any) -> TableSpec:
    told = replace(orders(strategy), shape=shape(collation), key=("customer",), **changes)
    return collated(told)


@contextmanager
def an_earlier_release() -> Iterator[None]:
    """It knew of no collation key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(as_landed_module, "collated", lambda spec: spec)
        yield


def three() -> World:
    world = World(SimulatedDatabase(shape(), clock=MONDAY))
    for customer in ("ada", "grace", "barbara"):
        order(world.database, customer, world.database.stamp())
        world.database.tick(60)
    return world


def renamed(world: World, before: str, after: str, status: str = "paid", **changes: Any) -> None:
    world.database.tick(60)
    told = {"customer": after, "status": status, "updated_at": world.database.stamp(), **changes}
    world.database.update(ORDERS, {"customer": before}, **told)
    world.database.tick(60)


def customers(world: World) -> list[tuple[object, object]]:
    return sorted((row["customer"], row["status"]) for row in world.rows(ORDERS))  # type: ignore[type-var]


def state_of(world: World) -> State:
    found = world.checkpoints.position(ORDERS).state
    assert found is not None
    return found


# --- what it is made of --------------------------------------------------------------------------------


def test_the_key_has_a_collation_key_in_the_place_of_the_columns_that_need_one() -> None:
    told = spec(Strategy.UPSERT)
    assert (told.key, told.named_key, told.shape.names[-1]) == ((NAME,), ("customer",), NAME)
    assert told.terms.key == ("customer",)
    assert told.terms.collation == "nocase"
    two = collated(replace(orders(), shape=replace(shape(), primary_key=("id", "customer")), key=("id", "customer")))
    assert (two.key, two.named_key) == (("id", NAME), ("id", "customer"))
    assert [column.name for column in two.key_columns] == ["id", "customer"]


def test_no_other_table_has_one() -> None:
    for told in (orders(), replace(orders(), shape=shape(), key=("id",)), spec(Strategy.FULL_REFRESH)):
        assert collated(told).collation_key is None
        assert collated(told).terms.collation == ""
    assert uncollated(spec()).terms.collation is None
    assert collated(uncollated(spec())) == spec() == collated(spec())


def test_the_index_of_a_key_says_how_it_is_compared() -> None:
    exact = tuple(replace(column, collation="") for column in shape().columns if column.name == "customer")
    by_index = replace(spec(), shape=shape(indexed_keys=(exact,)), key=("customer",), source_key=())
    assert collated(by_index).collation_key is None
    ids = tuple(replace(column, collation="numbers") for column in shape().columns if column.name == "id")
    other = replace(orders(), shape=shape(indexed_keys=(ids,)))
    assert collated(other).terms.collation == "numbers"


def test_a_key_of_which_nothing_shows_what_is_equal_is_refused_where_rows_are_told_apart_by_it() -> None:
    unknown = tuple(
        replace(column, collation="", no_key="its collation ours is nobody else's")
        if column.name == "customer"
        else column
        for column in shape().columns
    )
    told = replace(shape(), columns=unknown)
    by_key = TableConfig("public", "orders", Strategy.UPSERT, orders().cursor)
    with pytest.raises(
        SourceRefused,
        match="told apart by 'customer', a text, and its collation ours is nobody else's; name another key",
    ):
        resolve(by_key, told)
    assert resolve(replace(by_key, strategy=Strategy.FULL_REFRESH, cursor=None), told).collation_key is None
    assert resolve(replace(by_key, strategy=Strategy.APPEND), told).collation_key is None
    assert resolve(replace(by_key, primary_key=("id",)), replace(told, unique_keys=(("id",),))).collation_key is None


# --- one row, however it is written ---------------------------------------------------------------------


@pytest.mark.parametrize("deletes", [Deletes(), FOLLOWED], ids=["ignored", "followed"])
def test_a_key_that_is_written_anew_takes_the_place_of_its_row(deletes: Deletes) -> None:
    world, told = three(), spec(deletes=deletes)
    world.sync(told)
    renamed(world, "ada", "Ada ")
    report = world.sync(told)
    assert report.rows == RowCounts(read=report.rows.read, updated=1, unchanged=report.rows.unchanged)
    assert customers(world) == [("Ada ", "paid"), ("barbara", "new"), ("grace", "new")]
    assert report.guarantee == "settled"


def test_a_chain_of_keys_that_are_written_anew_and_exchanged_ends_as_the_source_has_it() -> None:
    world, told = three(), spec()
    world.sync(told)
    renamed(world, "ada", "Ada")
    renamed(world, "grace", "hopper")
    renamed(world, "Ada", "GRACE")
    renamed(world, "barbara", "ADA")
    world.sync(told)
    # As any key that is given up: deletes are not followed.
    assert customers(world) == [("ADA", "paid"), ("GRACE", "paid"), ("barbara", "new"), ("hopper", "paid")]


def test_a_key_that_is_written_anew_without_a_stamp_is_not_gone_and_a_check_finds_it() -> None:
    world, told = three(), spec(deletes=FOLLOWED)
    world.sync(told)
    world.database.update(ORDERS, {"customer": "ada"}, customer="ADA")
    order(world.database, "alan", world.database.stamp())
    world.database.tick(60)
    assert world.sync(told).rows.deleted == 0
    assert [customer for customer, _ in customers(world)] == ["ada", "alan", "barbara", "grace"]
    world.database.tick(3600)
    world.sync(told)
    found = reconcile(told, None, world.ports())
    assert (found.rows, found.samples) == (1, ("ADA",))
    assert world.sync(told, mode=Mode.FULL_REFRESH).rows.inserted == 4


def test_a_row_that_can_no_longer_land_leaves_the_copy_though_its_key_is_written_anew() -> None:
    world, told = three(), spec()
    world.sync(told)
    renamed(world, "ada", "ADA", status="unfit")
    report = world.sync(told)
    assert (report.rows.deleted, report.rows.quarantined) == (1, 1)
    assert [customer for customer, _ in customers(world)] == ["barbara", "grace"]


def test_a_row_that_is_held_is_superseded_by_its_key_in_another_spelling() -> None:
    world, told = three(), spec(contract=Contract("contracts:Orders"))
    renamed(world, "ada", "ada", status="broken")
    world.sync(told)
    renamed(world, "ada", "ADA")
    world.sync(told)
    held = world.lake.held(told)
    assert held is not None
    assert held.rows == 0
    assert customers(world)[0] == ("ADA", "paid")


def test_a_backfill_brings_no_spelling_back() -> None:
    world, told = three(), spec()
    world.sync(told)
    renamed(world, "ada", "ADA")
    world.sync(told)
    world.backfill(told, Window(None, state_of(world).position.watermark))
    assert customers(world)[0] == ("ADA", "paid")
    assert len(customers(world)) == 3


def test_versions_of_an_append_are_those_of_one_key() -> None:
    world, told = three(), spec(Strategy.APPEND)
    world.sync(told)
    renamed(world, "ada", "ADA")
    world.sync(told)
    assert [customer for customer, _ in customers(world)] == ["ADA", "ada", "barbara", "grace"]
    world.database.tick(3600)
    world.sync(told)
    assert reconcile(told, None, world.ports()).rows == 0


# --- what landed before ----------------------------------------------------------------------------------


def test_a_copy_of_an_earlier_release_goes_on_and_says_what_it_lacks_until_it_is_made_anew() -> None:
    world, told = three(), spec()
    with an_earlier_release():
        world.sync(uncollated(told))
    assert state_of(world).terms.collation is None
    renamed(world, "ada", "ADA")
    report = world.sync(told)
    assert report.guarantee == "best_effort"
    assert "made by an earlier release" in report.guarantee_reason
    assert "'customer': nocase" in report.guarantee_reason
    assert "--full-refresh" in report.guarantee_reason
    assert len(customers(world)) == 4
    assert as_landed(told, state_of(world)) == uncollated(told)
    assert read_anew(uncollated(told), state_of(world)) == told

    world.sync(uncollated(told), mode=Mode.FULL_REFRESH)
    assert state_of(world).terms.collation == "nocase"
    renamed(world, "ADA", "Ada")
    # A process that was there before knows the table without.
    report = world.sync(uncollated(told))
    assert (report.guarantee, len(customers(world))) == ("settled", 3)


def test_a_reset_gives_a_copy_of_an_earlier_release_no_collation_key() -> None:
    world, told = three(), spec()
    with an_earlier_release():
        world.sync(uncollated(told))
    reset_table(spec=told, to=None, run_id="reset", checkpoints=world.checkpoints)
    assert state_of(world).terms.collation is None
    renamed(world, "ada", "ADA")
    assert world.sync(told).guarantee == "best_effort"
    assert len(customers(world)) == 4


def test_a_copy_of_an_earlier_release_whose_key_is_equal_as_it_is_written_notices_nothing() -> None:
    world = World(SimulatedDatabase(ORDERS_SHAPE, clock=MONDAY))
    order(world.database, "ada", world.database.stamp())
    world.database.tick(60)
    world.sync(orders())
    state = state_of(world)
    assert as_landed(orders(), replace(state, terms=replace(state.terms, collation=None))) == orders()
    assert world.sync(orders()).guarantee == "settled"


@pytest.mark.parametrize(("was", "now"), [("nocase", "rtrim"), ("nocase", ""), ("", "nocase")])
def test_a_source_that_compares_its_key_in_another_way_stops_the_table_until_it_is_read_anew(
    was: str, now: str
) -> None:
    world, told = three(), spec(collation=now)
    world.sync(spec(collation=was))
    with pytest.raises(
        TermsChanged, match=f"how the source compares the key {was or 'none'} -> {now or 'none'}.*--full-refresh`$"
    ):
        world.sync(told)
    world.sync(told, mode=Mode.FULL_REFRESH)
    assert state_of(world).terms.collation == now
