"""The rows of a big first load go to the target once, and what comes to nothing on the way does no harm."""

from dataclasses import replace

import pytest

from incremental_assets.core.errors import IncrementalAssetsError, StageBroken
from incremental_assets.core.landing.first_load import WORTH_IT, loads_directly
from incremental_assets.core.model.table import FuturePolicy, Strategy, TableSpec
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.target import Target
from tests.fakes import Killed, World
from tests.scenario import ORDERS, order, orders, shop

BIG = orders(Strategy.UPSERT, size=WORTH_IT)
BIG_APPEND = orders(Strategy.APPEND, size=WORTH_IT)
BOTH = pytest.mark.parametrize("spec", [BIG, BIG_APPEND], ids=["upsert", "append"])
SYNC = Request("run")
MADE = Target("table", "app", 1, 0, None, landed=False)


@pytest.mark.parametrize(
    ("spec", "target", "request_", "expected"),
    [
        pytest.param(BIG, None, SYNC, True, id="no table yet"),
        pytest.param(BIG, MADE, SYNC, True, id="a table in which nothing has landed"),
        pytest.param(BIG, replace(MADE, landed=True), SYNC, False, id="something has landed"),
        pytest.param(BIG, None, Request("run", Mode.BACKFILL), False, id="a backfill reads a part"),
        pytest.param(orders(size=WORTH_IT - 1), None, SYNC, False, id="a small table"),
        pytest.param(replace(BIG, key_enforced=False), None, SYNC, False, id="a key that may repeat"),
        pytest.param(replace(BIG_APPEND, key_enforced=False), None, SYNC, True, id="an append needs no key"),
    ],
)
def test_rows_go_straight_to_the_target_where_nothing_has_landed_and_none_needs_another_to_be_told(
    spec: TableSpec, target: Target | None, request_: Request, expected: bool
) -> None:
    assert loads_directly(spec, request_, None, target) is expected


@BOTH
def test_a_first_load_stages_nothing_and_puts_its_position_above_its_rows(spec: TableSpec) -> None:
    world = three_orders()
    process = world.process()
    report = world.sync(spec, process=process)
    assert "staging" not in process.moments
    assert (report.rows.read, report.rows.inserted, report.seq) == (3, 3, 1)
    assert world.lake.sequences(ORDERS) == [0, 1]
    assert world.rows(ORDERS) == world.database.rows(ORDERS)
    order(world.database, "ada", world.database.stamp())
    assert (world.sync(spec).rows.inserted, len(world.rows(ORDERS))) == (1, 4)


@BOTH
def test_rows_without_a_position_are_replaced_by_the_next_load_and_not_added_to(spec: TableSpec) -> None:
    world = three_orders()
    die(world, spec, "after load commit")
    assert len(world.rows(ORDERS)) == 3
    world.database.delete(ORDERS, {"id": 1})
    world.sync(spec)
    assert [row["id"] for row in world.rows(ORDERS)] == [2, 3]


@BOTH
def test_rows_without_a_position_are_replaced_by_a_staged_batch_too(spec: TableSpec) -> None:
    world = three_orders()
    die(world, spec, "after load commit")
    world.database.delete(ORDERS, {"id": 1})
    order(world.database, "from the future", "2999-01-01T00:00:00Z")
    process = world.process()
    world.sync(replace(spec, future=FuturePolicy.QUARANTINE), process=process)
    assert "staging" in process.moments
    assert [row["id"] for row in world.rows(ORDERS)] == [2, 3]
    assert len(world.lake.quarantine[ORDERS]) == 1


@BOTH
def test_a_load_that_does_not_add_up_gets_no_position_and_the_next_one_replaces_it(spec: TableSpec) -> None:
    world = three_orders()
    world.stage.loses = 1
    with pytest.raises(StageBroken, match="2 rows were written where the source counted 3"):
        world.sync(spec)
    assert world.checkpoints.position(ORDERS).state is None
    world.stage.loses = 0
    assert world.sync(spec).rows.inserted == 3
    assert world.rows(ORDERS) == world.database.rows(ORDERS)


@BOTH
@pytest.mark.parametrize("moment", ["before load commit", "after load commit", "before commit"])
def test_a_load_that_sleeps_past_its_lease_replaces_nothing_when_it_wakes(spec: TableSpec, moment: str) -> None:
    world = three_orders()
    sleeper = world.asleep(spec, moment)
    world.pass_time(90_000)
    order(world.database, "ada", world.database.stamp())
    world.sync(spec)
    sleeper.wake()
    assert isinstance(sleeper.error, IncrementalAssetsError)
    assert world.rows(ORDERS) == world.database.rows(ORDERS)
    order(world.database, "alan", world.database.stamp())
    assert world.sync(spec).rows.inserted == 1


def test_what_has_landed_is_never_loaded_over_although_nobody_remembers_it() -> None:
    world = three_orders()
    world.sync(BIG_APPEND)
    world.database.delete(ORDERS, {"id": 1})
    world.memory.events.clear()
    world.lake.forget_states(ORDERS)
    world.sync(BIG_APPEND)
    assert sorted(row["id"] for row in world.rows(ORDERS)) == [1, 2, 3]


def three_orders() -> World:
    """Three rows that nobody has synced."""
    world = World(shop())
    for customer in ("grace", "edsger", "barbara"):
        order(world.database, customer, world.database.stamp())
    world.database.tick(60)
    return world


def die(world: World, spec: TableSpec, moment: str) -> None:
    """A sync that is killed there."""
    process = world.process()
    process.at[moment] = process.kill
    with pytest.raises(Killed):
        world.sync(spec, process=process)
