"""Rows that the source marks as gone, and rows that stay in the copy and say that they are gone."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.landing.first_load import WORTH_IT
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.report import Status
from tests.core.deletes import DIFF, numbers, ten
from tests.fakes import Killed, Process, World, ordered
from tests.fakes.rows import is_live
from tests.scenario import ORDERS, order, orders

SOFT = Deletes(DeleteMode.SOFT, Then.REMOVE, column="status", value="gone")


@pytest.mark.parametrize("size", [0, WORTH_IT])
def test_a_row_that_the_source_has_marked_goes_and_is_no_drift(size: int) -> None:
    world, spec = ten(), orders(deletes=SOFT, size=size)
    order(world.database, "never there", world.database.stamp(), status="gone", number=11)
    assert world.sync(spec).rows.inserted == 10
    world.database.tick(60)
    world.database.update(ORDERS, {"id": 3}, status="gone", updated_at=world.database.stamp())
    assert world.sync(spec).rows.deleted == 1
    assert numbers(world) == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    world.database.tick(600)
    world.sync(spec)
    found = reconcile(spec, None, world.ports())
    assert (found.rows, found.detail) == (0, "9 rows in 1 window are equal")


def test_a_row_whose_mark_was_taken_back_is_there_again() -> None:
    world, spec = ten(), orders(deletes=SOFT)
    world.sync(spec)
    world.database.update(ORDERS, {"id": 3}, status="gone", updated_at=world.database.stamp())
    world.sync(spec)
    world.database.tick(60)
    world.database.update(ORDERS, {"id": 3}, status="paid", updated_at=world.database.stamp())
    world.sync(spec)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_a_row_that_is_kept_lands_with_its_mark_and_no_keys_are_compared() -> None:
    world, spec = ten(), orders(deletes=replace(SOFT, then=Then.KEEP))
    world.sync(spec)
    world.database.update(ORDERS, {"id": 3}, status="gone", updated_at=world.database.stamp())
    world.database.tick(600)
    report = world.sync(spec)
    assert (report.rows.updated, report.rows.deleted) == (1, 0)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))
    assert world.sync(spec).status is Status.IDLE


MARKED = orders(deletes=replace(DIFF, then=Then.MARK))


def marks(world: World) -> dict[object, object]:
    return {row["id"]: row.get("_sync_deleted_at") for row in world.lake.tables[ORDERS].rows if not is_live(row)}


def test_a_row_that_is_gone_stays_and_says_since_when_and_is_marked_once() -> None:
    world = ten()
    world.sync(MARKED)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    found = world.database.clock
    assert world.sync(MARKED).rows.deleted == 1
    assert marks(world) == {3: found}
    assert len(numbers(world)) == 10
    world.database.tick(600)
    assert world.sync(MARKED).rows.deleted == 0
    assert marks(world) == {3: found}


def test_a_key_that_comes_back_has_no_mark_though_its_row_is_as_it_was() -> None:
    world, spec = ten(), replace(MARKED, lookback=timedelta(days=1))
    world.sync(spec)
    kept = next(row for row in world.database.rows(ORDERS) if row["id"] == 3)
    world.database.delete(ORDERS, {"id": 3})
    world.sync(spec)
    world.database.insert(ORDERS, **kept)
    world.database.tick(60)
    assert marks(world).keys() == {3}
    world.sync(spec)
    assert marks(world) == {}
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


TOLD = orders(Strategy.APPEND, lookback=timedelta(days=1), deletes=replace(DIFF, then=Then.MARK))


def test_an_append_gets_one_more_version_of_a_row_that_is_gone_and_another_when_it_comes_back() -> None:
    world = ten()
    world.sync(TOLD)
    kept = next(row for row in world.database.rows(ORDERS) if row["id"] == 3)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    report = world.sync(TOLD)
    assert (report.rows.deleted, report.rows.inserted) == (1, 0)
    assert numbers(world) == [1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10]
    assert marks(world).keys() == {3}
    assert world.sync(TOLD).rows.deleted == 0
    assert reconcile(TOLD, None, world.ports()).rows == 0
    world.database.insert(ORDERS, **kept)
    world.database.tick(60)
    assert world.sync(TOLD).rows.inserted == 1
    assert numbers(world).count(3) == 3
    world.database.delete(ORDERS, {"id": 3})
    assert world.sync(TOLD).rows.deleted == 1
    assert numbers(world).count(3) == 4


def test_rows_that_are_marked_are_no_drift() -> None:
    world = ten()
    world.sync(MARKED)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    world.sync(MARKED)
    assert reconcile(MARKED, None, world.ports()).detail == "9 rows in 1 window are equal"


REMOVED = orders(deletes=DIFF)


def marked_in_the_copy(spec: TableSpec = MARKED) -> World:
    """Two of ten rows are gone from the source and marked in the copy."""
    world = ten()
    world.sync(spec)
    for number in (3, 4):
        world.database.delete(ORDERS, {"id": number})
    world.database.tick(600)
    world.sync(spec)
    assert marks(world).keys() == {3, 4}
    return world


def test_rows_that_were_marked_leave_with_the_next_comparison_once_rows_that_are_gone_are_to_be_removed() -> None:
    world = marked_in_the_copy()
    world.database.delete(ORDERS, {"id": 5})
    world.database.tick(600)
    assert world.sync(REMOVED).rows.deleted == 3
    assert numbers(world) == [1, 2, 6, 7, 8, 9, 10]
    assert world.sync(REMOVED).rows.deleted == 0


def test_rows_that_were_marked_leave_however_many_there_are_as_that_was_judged_when_they_were_found_gone() -> None:
    world = marked_in_the_copy()
    few = replace(REMOVED, deletes=replace(DIFF, max_fraction=0.01))
    assert world.sync(few).rows.deleted == 2
    assert numbers(world) == [1, 2, 5, 6, 7, 8, 9, 10]


def test_rows_that_were_marked_leave_a_table_that_is_compared_though_no_other_row_differs() -> None:
    spec = replace(MARKED, cursor=None, compares=True, refresh_every=timedelta())
    world = marked_in_the_copy(spec)
    assert world.sync(replace(spec, deletes=DIFF)).rows.deleted == 2
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_a_marked_row_whose_key_is_back_is_replaced_and_not_removed() -> None:
    world = ten()
    world.sync(MARKED)
    kept = next(row for row in world.database.rows(ORDERS) if row["id"] == 3)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    world.sync(MARKED)
    world.database.insert(ORDERS, **{**kept, "updated_at": world.database.stamp()})
    world.database.tick(60)
    assert world.sync(REMOVED).rows.deleted == 0
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_whatever_moment_the_run_dies_at_that_takes_marked_rows_out_the_next_one_has_done_it() -> None:
    for number in itertools.count():
        world, process = marked_in_the_copy(), Process("dying")
        process.kill_at = number
        process.on_death = lambda: world.memory.gone.add("dying")  # noqa: B023 - called at once
        try:
            world.sync(REMOVED, process=process)
            break
        except Killed:
            pass
        world.database.tick(600)
        world.sync(REMOVED)
        assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))
    assert number > 20


def test_once_rows_are_to_be_marked_those_that_go_from_then_on_are() -> None:
    world = ten()
    world.sync(REMOVED)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    world.sync(REMOVED)
    world.database.delete(ORDERS, {"id": 4})
    world.database.tick(600)
    assert world.sync(MARKED).rows.deleted == 1
    assert numbers(world) == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert marks(world).keys() == {4}
