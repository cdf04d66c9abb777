"""Where more is gone than should be, or another database answers, nothing goes from the copy before a person has decided."""

from dataclasses import replace

import pytest

from incremental_assets.core.errors import Refused, SourceExchanged
from incremental_assets.core.planning.report import Status
from tests.core.deletes import DIFF, EACH, numbers, ten
from tests.fakes import World, ordered
from tests.scenario import ORDERS, order, orders, shop


def test_more_than_a_fraction_is_refused_with_the_number_and_what_to_type_and_nothing_lands() -> None:
    world = ten()
    world.sync(EACH)
    before, position = world.rows(ORDERS), world.checkpoints.position(ORDERS).state
    for number in (1, 2, 3):
        world.database.delete(ORDERS, {"id": number})
    order(world.database, "new", world.database.stamp(), number=11)
    with pytest.raises(Refused) as refused:
        world.sync(EACH)
    assert str(refused.value) == (
        "shop.public.orders: 3 rows of the 10 in the copy are gone from the source, more than `max_fraction: 0.2` allows, so the copy was left "
        "as it is; if that is right, run `incremental-assets sync --select shop.public.orders --allow-shrink --yes`"
    )
    assert (world.rows(ORDERS), world.checkpoints.position(ORDERS).state) == (before, position)
    assert world.stage.batches == {}
    report = world.sync(EACH, allow_shrink=True)
    assert (report.rows.deleted, report.rows.inserted) == (3, 1)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_as_much_as_the_fraction_goes() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 1})
    world.database.delete(ORDERS, {"id": 2})
    assert world.sync(EACH).rows.deleted == 2


def test_an_empty_source_is_refused_whatever_the_fraction() -> None:
    world, spec = ten(), orders(deletes=replace(DIFF, max_fraction=1.0))
    world.sync(spec)
    for number in range(1, 11):
        world.database.delete(ORDERS, {"id": number})
    with pytest.raises(Refused, match="10 rows of the 10 in the copy are gone from the source, which would leave none"):
        world.sync(spec)
    assert len(numbers(world)) == 10
    assert world.sync(spec, allow_shrink=True).rows.deleted == 10


def test_where_new_rows_land_in_the_place_of_all_that_are_gone_the_fraction_alone_decides() -> None:
    """A table of one row whose key changes is no table that was emptied."""
    world = World(shop())
    order(world.database, "only", world.database.stamp(), number=1)
    world.database.tick(60)
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 1})
    order(world.database, "the next", world.database.stamp(), number=2)
    with pytest.raises(
        Refused, match=r"1 row of the 1 in the copy is gone from the source, more than `max_fraction: 0.2` allows"
    ):
        world.sync(EACH)
    assert numbers(world) == [1]
    report = world.sync(orders(deletes=replace(DIFF, max_fraction=1.0)))
    assert (report.rows.deleted, report.rows.inserted, numbers(world)) == (1, 1, [2])


def test_a_table_that_was_truncated_and_is_being_filled_again_is_refused() -> None:
    world = ten()
    world.sync(EACH)
    world.database.truncate(ORDERS)
    for number in range(1, 10):
        order(world.database, f"customer {number}", world.database.stamp(), number=number)
    with pytest.raises(Refused, match=r"truncated or rewritten in the source .* 1 row of the copy is not there"):
        world.sync(EACH)
    order(world.database, "customer 10", world.database.stamp(), number=10)
    assert world.sync(EACH).status is Status.LANDED
    world.database.delete(ORDERS, {"id": 3})
    assert world.sync(EACH).rows.deleted == 1, "the new file is known by then"


def test_a_source_of_another_identity_takes_nothing_away() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.database.system = "another"
    with pytest.raises(SourceExchanged):
        world.sync(EACH)
    assert len(numbers(world)) == 10


def test_a_replica_that_does_not_say_where_it_stands_is_not_compared_with() -> None:
    world = ten()
    world.sync(EACH)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(600)
    bound = world.database.bound
    world.database.bound = lambda: replace(bound(), replica=True, identity=None)  # type: ignore[method-assign]
    assert world.sync(EACH).rows.deleted == 0
    assert len(numbers(world)) == 10
