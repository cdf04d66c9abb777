"""Where a sync refuses, does its advice, a reset or a full refresh, lead on?"""

from dataclasses import replace

import pytest

from incremental_assets.core.errors import SourceExchanged, TargetChanged, TermsChanged
from incremental_assets.core.model.table import NullPolicy, Strategy, TableSpec
from incremental_assets.core.planning.plan import CommitIds, Mode
from incremental_assets.core.planning.report import Status
from tests.core.stories import APPEND, BOTH, UPSERT, assert_equal, die, one_more, reset, three_orders
from tests.fakes import SimulatedDatabase, World
from tests.scenario import ORDERS, orders

# --- the copy is not what it was ---------------------------------------------------------------------


@pytest.mark.parametrize("cure", ["full refresh", "reset"])
@pytest.mark.parametrize(
    "harm", ["rows deleted", "table gone", "recreated by this program", "restored from an older copy"]
)
@BOTH
def test_either_advice_is_a_way_on(spec: TableSpec, harm: str, cure: str) -> None:
    world = three_orders()
    world.sync(spec)
    one_more(world)
    world.sync(spec)
    table = world.lake.tables[ORDERS]
    match harm:
        case "rows deleted":
            world.lake.foreign(ORDERS, "DELETE", table.rows[1:])
        case "table gone":
            world.lake.drop(ORDERS)
        case "recreated by this program":
            world.lake.drop(ORDERS)
            world.lake.fence(spec, CommitIds("another-app", 0, "first"), None)
        case "restored from an older copy":
            del table.log[-1]
            table.transactions[table.app_id] = 0
    one_more(world, "mary")
    with pytest.raises(TargetChanged):
        world.sync(spec)
    if cure == "reset":
        reset(world, spec)
        world.sync(spec)
    else:
        world.sync(spec, mode=Mode.FULL_REFRESH)
    assert_equal(world)
    one_more(world, "edsger")
    assert world.sync(spec).rows.inserted == 1
    assert_equal(world)


def test_a_reset_to_a_moment_reads_the_whole_table_when_it_is_gone_from_the_lake() -> None:
    world = three_orders()
    world.sync(UPSERT)
    world.lake.drop(ORDERS)
    reset(world, UPSERT, to="2024-01-29T09:01:30Z")
    world.sync(UPSERT)
    assert_equal(world)


# --- a reset -----------------------------------------------------------------------------------------


@BOTH
def test_a_reset_reads_again_although_nothing_has_moved(spec: TableSpec) -> None:
    world = three_orders()
    world.sync(spec)
    assert world.sync(spec).status is Status.IDLE
    reset(world, spec, to="2024-01-29T09:01:00Z")
    report = world.sync(spec)
    assert (report.status, report.rows.read, report.rows.inserted) == (Status.LANDED, 2, 0)
    assert_equal(world)


def test_a_reset_accepts_an_exchanged_source_as_its_message_says() -> None:
    world = three_orders()
    world.sync(UPSERT)
    world.database.exchange()
    with pytest.raises(SourceExchanged, match="reset"):
        world.sync(UPSERT)
    reset(world, UPSERT)
    assert world.sync(UPSERT).status is Status.LANDED
    assert world.sync(UPSERT).status is Status.IDLE


@BOTH
def test_a_reset_is_not_undone_by_a_sync_that_died_before_it_and_turns_out_to_have_landed(spec: TableSpec) -> None:
    world = three_orders()
    world.sync(spec)
    one_more(world)
    die(world, spec, "after commit")
    reset(world, spec)
    assert world.sync(spec).rows.read == 4
    assert_equal(world)


# --- other terms -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "now",
    [orders(Strategy.UPSERT, cursor="id"), APPEND, orders(Strategy.FULL_REFRESH)],
    ids=["cursor", "append", "whole"],
)
@pytest.mark.parametrize("cure", ["full refresh", "reset"])
def test_changed_terms_are_refused_and_either_advice_is_a_way_on(now: TableSpec, cure: str) -> None:
    world = three_orders()
    world.sync(UPSERT)
    one_more(world)
    with pytest.raises(TermsChanged, match=r"strategy upsert -> |cursor updated_at:timestamp -> id:integer"):
        world.sync(now)
    if cure == "reset":
        reset(world, now)
        world.sync(now)
    else:
        world.sync(now, mode=Mode.FULL_REFRESH)
    assert_equal(world)
    one_more(world, "mary")
    if now.strategy is Strategy.FULL_REFRESH:
        world.database.tick(86_400)
    world.sync(now)
    assert_equal(world)


def with_created(spec: TableSpec, fallback: str | None) -> TableSpec:
    """Orders that are stamped when they change, and that always say when they were made."""
    made = replace(spec.columns[-1], name="created_at")
    cursor = replace(spec.cursor, fallback=fallback) if spec.cursor else None
    return replace(spec, cursor=cursor, shape=replace(spec.shape, columns=(*spec.columns, made)))


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
@pytest.mark.parametrize("cure", ["full refresh", "reset"])
def test_a_fallback_that_comes_later_is_refused_and_either_advice_reads_the_rows_without_a_cursor(
    strategy: Strategy, cure: str
) -> None:
    skipping = with_created(orders(strategy, nulls=NullPolicy.SKIP), None)
    falling = with_created(orders(strategy), "created_at")
    database = SimulatedDatabase(skipping.shape)
    world = World(database)
    database.insert(ORDERS, id=1, customer="ada", status="new", created_at=database.stamp())
    database.insert(
        ORDERS, id=2, customer="grace", status="new", created_at=database.stamp(), updated_at=database.stamp()
    )
    database.tick(60)
    world.sync(skipping)
    assert [row["id"] for row in world.rows(ORDERS)] == [2]
    with pytest.raises(TermsChanged, match="fallback none -> created_at"):
        world.sync(falling)
    if cure == "reset":
        reset(world, falling)
        world.sync(falling)
    else:
        world.sync(falling, mode=Mode.FULL_REFRESH)
    assert_equal(world)
    with pytest.raises(TermsChanged, match="fallback created_at -> none"):
        world.sync(skipping)


def test_a_table_of_which_an_earlier_release_did_not_keep_the_fallback_goes_on_and_is_known_from_then_on() -> None:
    spec = with_created(orders(), "created_at")
    database = SimulatedDatabase(spec.shape)
    world = World(database)
    database.insert(ORDERS, id=1, customer="ada", status="new", created_at=database.stamp())
    database.tick(60)
    world.sync(spec)
    for event in world.memory.events:
        if event.state is not None:
            old = replace(event.state, terms=replace(event.state.terms, fallback=None))
            world.memory.events[world.memory.events.index(event)] = replace(event, state=old)
    database.insert(ORDERS, id=2, customer="grace", status="new", created_at=database.stamp())
    database.tick(60)
    assert world.sync(spec).rows.inserted == 1
    with pytest.raises(TermsChanged, match="fallback created_at -> none"):
        world.sync(with_created(orders(), None))


@pytest.mark.parametrize(
    ("was", "now"),
    [(APPEND, UPSERT), (orders(Strategy.FULL_REFRESH), UPSERT), (UPSERT, replace(UPSERT, key=("id", "customer")))],
    ids=["append", "whole", "key"],
)
def test_what_may_hold_several_rows_of_a_key_becomes_an_upsert_by_a_full_refresh_alone(
    was: TableSpec, now: TableSpec
) -> None:
    world = three_orders()
    world.sync(was)
    with pytest.raises(TermsChanged, match=r"--full-refresh( --yes)?`$"):
        world.sync(now)
    with pytest.raises(
        TermsChanged, match=r"may hold several rows of one key: read everything again with .*--full-refresh"
    ):
        reset(world, now)
    world.sync(now, mode=Mode.FULL_REFRESH)
    assert_equal(world)
