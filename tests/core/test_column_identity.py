"""What does a sync make of a column that has another's name, and of one that goes away and comes back?"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.core.stories import UPSERT, assert_equal, opened
from tests.fakes import World
from tests.scenario import ORDERS, order, orders


def identified(spec: TableSpec, **numbers: str) -> TableSpec:
    """The table as a source shows it that numbers its columns."""
    columns = tuple(replace(each, identity=numbers.get(each.name, "")) for each in spec.columns)
    return replace(spec, shape=replace(spec.shape, columns=columns))


@pytest.mark.parametrize("back", [True, False], ids=["put back", "read again"])
def test_a_column_with_the_name_of_one_that_is_gone_stops_the_table_until_all_is_read_again(back: bool) -> None:
    first = identified(UPSERT, customer="7.2", status="7.3")
    taken = without_status(identified(UPSERT, customer="7.3"))
    world = opened()
    world.sync(first)
    order(world.database, "alan", world.database.stamp())
    before = world.rows(ORDERS)
    with pytest.raises(SchemaChanged, match="'customer' now names another column"):
        world.sync(taken)
    assert world.rows(ORDERS) == before

    if back:
        assert world.sync(first).rows.inserted == 1
    else:
        world.sync(taken, mode=Mode.FULL_REFRESH)
        order(world.database, "mary", world.database.stamp())
        assert world.sync(taken).rows.inserted == 1
    assert_equal(world)


@pytest.mark.parametrize(
    "later",
    [{"customer": "8.3", "status": "8.2"}, {"customer": "", "status": ""}, {"customer": "7.2", "status": "7.3"}],
    ids=["a table recreated", "a source that tells none", "the same"],
)
def test_columns_of_which_nothing_else_can_be_told_go_on_under_their_names(later: dict[str, str]) -> None:
    world = opened()
    world.sync(identified(UPSERT, customer="7.2", status="7.3"))
    order(world.database, "alan", world.database.stamp())
    assert world.sync(identified(UPSERT, **later)).rows.inserted == 1


def without_status(spec: TableSpec) -> TableSpec:
    """As a role sees the table that may not read `status`."""
    columns = tuple(each for each in spec.columns if each.name != "status")
    return replace(spec, shape=replace(spec.shape, columns=columns))


def with_state(spec: TableSpec) -> TableSpec:
    """After `ALTER TABLE orders RENAME status TO state`."""
    columns = tuple(replace(each, name="state") if each.name == "status" else each for each in spec.columns)
    return replace(spec, shape=replace(spec.shape, columns=columns))


def paid(world: World) -> None:
    """Ada pays: a row is written that a sync reads without its status."""
    world.database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=world.database.stamp())
    world.database.tick(60)


@pytest.mark.parametrize(
    ("away", "numbers"),
    [(without_status, {"status": "7.3"}), (without_status, {}), (with_state, {})],
    ids=["not granted", "not granted by a source that tells none", "renamed by a source that tells none"],
)
def test_a_column_of_an_append_that_is_back_is_told_by_the_run_that_meets_it_as_rows_written_meanwhile_lack_it(
    away: Callable[[TableSpec], TableSpec], numbers: dict[str, str]
) -> None:
    world, shown = opened(), identified(orders(Strategy.APPEND), **numbers)
    world.sync(shown)
    paid(world)
    assert world.sync(away(shown)).warnings == ()
    order(world.database, "alan", world.database.stamp())
    world.sync(away(shown))
    order(world.database, "mary", world.database.stamp())
    (told,) = world.sync(shown).warnings
    assert told.startswith("columns (status) are back after an absence; rows that were written meanwhile")
    assert told.endswith("read everything again with `incremental-assets reset --select shop.public.orders --yes`")
    order(world.database, "barbara", world.database.stamp())
    assert world.sync(shown).warnings == ()


def test_a_column_of_an_upsert_that_is_back_is_to_be_read_for_the_rows_that_were_written_meanwhile() -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    paid(world)
    world.sync(without_status(shown))
    back = world.sync(shown)
    assert (back.unfilled, back.warnings) == (("status",), ())


def test_a_column_that_went_away_after_a_reset_is_filled_when_it_is_back() -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    reset_table(spec=shown, to=None, run_id="reset", checkpoints=world.checkpoints)
    paid(world)
    world.sync(without_status(shown))
    order(world.database, "mary", world.database.stamp())
    assert world.sync(shown).unfilled == ("status",)


@pytest.mark.parametrize("cure", ["reset", "full refresh"])
def test_a_column_that_is_back_when_everything_is_read_again_is_no_news(cure: str) -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    paid(world)
    world.sync(without_status(shown))
    if cure == "reset":
        reset_table(spec=shown, to=None, run_id="reset", checkpoints=world.checkpoints)
        assert world.sync(shown).warnings == ()
    else:
        assert world.sync(shown, mode=Mode.FULL_REFRESH).warnings == ()
    order(world.database, "mary", world.database.stamp())
    assert world.sync(shown).warnings == ()


def test_a_column_that_was_away_while_nothing_landed_is_no_news() -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    assert world.sync(without_status(shown)).status is Status.IDLE
    paid(world)
    assert world.sync(shown).warnings == ()


def test_a_column_that_is_back_below_a_watermark_that_was_set_by_hand_is_still_filled() -> None:
    world, shown = opened(), identified(UPSERT, status="7.3")
    world.sync(shown)
    paid(world)
    world.sync(without_status(shown))
    latest = CursorValue.parse(CursorType.TIMESTAMP, world.database.stamp())
    reset_table(spec=shown, to=latest.minus(timedelta(seconds=30)), run_id="reset", checkpoints=world.checkpoints)
    order(world.database, "mary", world.database.stamp())
    assert world.sync(shown).unfilled == ("status",)
