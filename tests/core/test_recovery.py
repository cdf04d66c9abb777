"""What a dead run, a lost or an older checkpoint table, or another hand in the lake has left, and what the next sync makes of it."""

from dataclasses import replace

import pytest

from incremental_assets.core.errors import (
    CommitMissing,
    Overtaken,
    SourceExchanged,
    StageBroken,
    TargetChanged,
    TermsChanged,
)
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Column, Fidelity, NullPolicy, Strategy, TableSpec
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import CommitIds, Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.core.syncing.recovery import FORGOTTEN
from incremental_assets.core.syncing.reset import reset_table
from tests.fakes import Killed, Memory, SimulatedDatabase, Sleeper, World, ordered
from tests.scenario import ORDERS, order, orders, shop

UPSERT, APPEND = orders(Strategy.UPSERT), orders(Strategy.APPEND)
BOTH = pytest.mark.parametrize("spec", [UPSERT, APPEND], ids=["upsert", "append"])


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


def assert_equal(world: World) -> None:
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def reset(world: World, spec: TableSpec, to: str | None = None) -> None:
    """Rewind the watermark, as the command does."""
    watermark = None if to is None else CursorValue.parse(CursorType.TIMESTAMP, to)
    reset_table(spec=spec, to=watermark, run_id="reset", checkpoints=world.checkpoints)


# --- a first load that died ------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("moment", "story"),
    [
        ("before staged", ["intent", "abandoned"]),
        ("before apply", ["intent", "staged", "fence", "abandoned"]),
        ("after create", ["intent", "staged", "fence", "abandoned"]),
        ("after commit", ["intent", "staged", "fence", "landed"]),
    ],
)
def test_a_first_load_that_died_is_looked_for_behind_a_fence(spec: TableSpec, moment: str, story: list[str]) -> None:
    world = three_orders()
    die(world, spec, moment)
    one_more(world)
    world.sync(spec)
    assert world.checkpoints.kinds(ORDERS) == [*story, "intent", "staged", "landed"]
    assert_equal(world)


def test_the_fence_makes_the_table_when_there_is_none_so_that_the_sleeper_has_nothing_left_to_make() -> None:
    world = three_orders()
    sleeper = world.asleep(APPEND, "before apply")
    world.pass_time(61)
    taking = world.process()
    taking.at["after abandoned"] = taking.kill
    with pytest.raises(Killed):
        world.sync(APPEND, process=taking)
    sleeper.wake()
    assert world.rows(ORDERS) == []
    world.sync(APPEND)
    assert_equal(world)


def test_a_sleeper_that_wakes_just_after_it_was_looked_for_lands_nothing_beside_its_successor() -> None:
    world = three_orders()
    world.sync(APPEND)
    one_more(world)
    sleeper = world.asleep(APPEND, "before commit")
    world.pass_time(61)
    process = world.process()
    process.at["after abandoned"] = sleeper.wake
    world.sync(APPEND, process=process)
    assert isinstance(sleeper.error, CommitMissing)
    assert_equal(world)


def engine_at_work(world: World, spec: TableSpec) -> Sleeper:
    """A killed run whose engine is at its commit: it goes on for as long as the test says."""
    sleeper = world.asleep(spec, "before commit")
    world.pass_time(61)
    return sleeper


@BOTH
@pytest.mark.parametrize(
    "moment", ["before fence commit", "after fence", "after abandoned", "before apply", "after commit"]
)
def test_a_commit_that_an_engine_makes_for_a_dead_run_needs_no_second_sync(spec: TableSpec, moment: str) -> None:
    world = three_orders()
    world.sync(spec)
    one_more(world)
    engine = engine_at_work(world, spec)
    order(world.database, "mary", world.database.stamp())
    process = world.process()
    process.at[moment] = engine.wake
    assert world.sync(spec, process=process).status is Status.LANDED
    engine.wake()
    assert_equal(world)
    assert "failed" not in [
        str(event.kind) for event in world.memory.events if event.run_id == world.memory.events[-1].run_id
    ]


def test_a_fence_that_others_overtake_twice_says_so() -> None:
    world = three_orders()
    world.sync(UPSERT)
    one_more(world)
    die(world, UPSERT, "before commit")
    process = world.process()

    def overtake() -> None:
        world.lake.foreign(ORDERS, "OPTIMIZE")
        process.at["before fence commit"] = lambda: world.lake.foreign(ORDERS, "OPTIMIZE")

    process.at["before fence commit"] = overtake
    with pytest.raises(Overtaken):
        world.sync(UPSERT, process=process)
    world.sync(UPSERT)
    assert_equal(world)


def test_what_a_dead_run_landed_is_told_with_its_own_numbers() -> None:
    world = three_orders()
    die(world, UPSERT, "after commit")
    world.sync(UPSERT)
    (found,) = [
        event.report
        for event in world.memory.events
        if event.kind is EventKind.LANDED and event.report and event.report.seq == 0
    ]
    assert found is not None
    assert (found.status, found.rows.read, found.rows.inserted) == (Status.LANDED, 3, 3)
    assert found.reason == "found in the lake after its run had ended"


def test_what_a_dead_run_changed_of_the_columns_is_told_by_the_run_that_finds_it() -> None:
    world, discards = three_orders(), replace(UPSERT, discards=True)
    world.sync(discards)
    one_more(world)
    colour = Column("colour", "text", "string", Fidelity.EXACT)
    die(world, replace(discards, shape=replace(discards.shape, columns=(*discards.columns, colour))), "after commit")
    world.sync(discards)
    told = [event.report.schema_changes for event in world.memory.events if event.report and event.report.seq == 1]
    assert [[change.column for change in changes] for changes in told] == [["colour"]]


# --- the fence leaves the newest state in force ----------------------------------------------------


@BOTH
def test_a_checkpoint_table_lost_after_a_takeover_is_rebuilt_from_what_landed_and_not_from_before(
    spec: TableSpec,
) -> None:
    world = three_orders()
    world.sync(spec)
    one_more(world)
    die(world, spec, "after commit")
    taking = world.process()
    taking.at["before observe"] = taking.kill
    with pytest.raises(Killed):
        world.sync(spec, process=taking)
    landed = world.checkpoints.position(ORDERS).state
    world.memory.events.clear()
    world.sync(spec)
    rebuilt = next(event.state for event in world.memory.events if event.kind is EventKind.REBUILT)
    assert rebuilt == landed
    assert_equal(world)


# --- a lost or an older checkpoint table -------------------------------------------------------------


@BOTH
def test_a_lost_checkpoint_table_is_rebuilt_from_the_lake(spec: TableSpec) -> None:
    world = three_orders()
    world.sync(spec)
    known = world.checkpoints.position(ORDERS)
    world.memory.events.clear()
    (said,) = world.sync(spec).warnings
    assert said.endswith("so its position was taken from there: rebuilt from the lake")
    assert world.checkpoints.position(ORDERS).state == known.state
    one_more(world)
    again = world.sync(spec)
    assert (again.rows.inserted, again.warnings) == (1, ())
    assert_equal(world)


@pytest.mark.parametrize("mode", [Mode.SYNC, Mode.FULL_REFRESH])
@pytest.mark.parametrize("moment", ["after observe", "before commit", "after commit", None])
def test_a_sleeper_with_a_higher_number_than_the_lake_has_seen_is_fenced_when_a_lost_checkpoint_table_is_rebuilt(
    mode: Mode, moment: str | None
) -> None:
    """Number 1 was announced and never committed, the sleeper has number 2, and the lake knows of 0 alone."""
    world = three_orders()
    world.sync(APPEND)
    one_more(world)
    world.stage.loses = 1
    with pytest.raises(StageBroken):
        world.sync(APPEND)
    world.stage.loses = 0
    sleeper = world.asleep(APPEND, "before commit")
    world.memory.events.clear()
    world.memory.leases.clear()
    process = world.process()
    if moment is not None:
        process.at[moment] = sleeper.wake
    world.sync(APPEND, process=process, mode=mode)
    sleeper.wake()
    one_more(world, "mary")
    world.sync(APPEND)
    assert_equal(world)


@BOTH
def test_without_a_state_in_the_lakes_log_the_table_is_read_again_from_the_start(spec: TableSpec) -> None:
    world = three_orders()
    world.sync(spec)
    world.memory.events.clear()
    world.lake.forget_states(ORDERS)
    one_more(world)
    report = world.sync(spec)
    assert (report.rows.read, report.rows.inserted) == (4, 1)
    assert report.seq is not None
    assert report.seq > FORGOTTEN
    assert_equal(world)


@BOTH
@pytest.mark.parametrize("last", list(range(1, 10)))
def test_a_checkpoint_table_restored_from_any_older_copy_loses_nothing_and_lands_nothing_twice(
    spec: TableSpec, last: int
) -> None:
    world = three_orders()
    world.sync(spec)
    one_more(world, "alan")
    world.sync(spec)
    one_more(world, "mary")
    world.sync(spec)
    assert len(world.memory.events) == 9
    del world.memory.events[last:]
    one_more(world, "edsger")
    world.sync(spec)
    assert_equal(world)
    sequences = world.lake.sequences(ORDERS)
    assert sequences == sorted(set(sequences))
    assert world.sync(spec).status is Status.IDLE


@BOTH
def test_an_older_copy_beside_a_cleaned_log_is_read_again_from_the_start_even_if_that_dies_at_once(
    spec: TableSpec,
) -> None:
    world = three_orders()
    world.sync(spec)
    older = list(world.memory.events)
    one_more(world, "alan")
    world.sync(spec)
    world.memory.events[:] = older
    world.lake.forget_states(ORDERS)
    one_more(world, "mary")
    die(world, spec, "after rebuilt")
    world.sync(spec)
    assert_equal(world)


@BOTH
def test_an_older_copy_that_ends_in_an_intent_staged_long_ago_does_not_forget_what_landed_since(
    spec: TableSpec,
) -> None:
    world = three_orders()
    world.sync(spec)
    one_more(world, "alan")
    world.sync(spec)
    one_more(world, "mary")
    world.sync(spec)
    del world.memory.events[5:]
    assert world.checkpoints.kinds(ORDERS)[-1] == "staged"
    world.lake.forget_states(ORDERS)
    one_more(world, "edsger")
    world.sync(spec)
    assert_equal(world)


# --- another hand in the lake ------------------------------------------------------------------------


def test_a_delete_by_another_hand_stops_the_sync_with_advice_and_nothing_is_written() -> None:
    world = three_orders()
    world.sync(UPSERT)
    world.lake.foreign(ORDERS, "DELETE", world.lake.tables[ORDERS].rows[1:])
    one_more(world)
    with pytest.raises(TargetChanged, match=r"DELETE.*--full-refresh.*reset"):
        world.sync(UPSERT)
    assert len(world.rows(ORDERS)) == 2


def test_a_table_optimized_by_another_hand_goes_on() -> None:
    world = three_orders()
    world.sync(UPSERT)
    world.lake.foreign(ORDERS, "OPTIMIZE")
    one_more(world)
    assert world.sync(UPSERT).rows.inserted == 1


def test_a_delete_by_another_hand_while_a_batch_is_being_staged_stops_the_sync() -> None:
    world = three_orders()
    world.sync(UPSERT)
    one_more(world)
    process = world.process()
    process.at["staging"] = lambda: world.lake.foreign(ORDERS, "DELETE", world.lake.tables[ORDERS].rows[1:])
    with pytest.raises(TargetChanged, match="DELETE"):
        world.sync(UPSERT, process=process)
    assert len(world.rows(ORDERS)) == 2
    assert world.stage.batches == {}


def test_a_delete_by_another_hand_before_a_takeover_is_not_covered_up_by_its_fence() -> None:
    world = three_orders()
    world.sync(UPSERT)
    one_more(world)
    die(world, UPSERT, "after commit")
    world.lake.foreign(ORDERS, "DELETE", world.lake.tables[ORDERS].rows[1:])
    one_more(world, "mary")
    with pytest.raises(TargetChanged, match="DELETE"):
        world.sync(UPSERT)


def test_a_table_that_is_gone_is_never_made_anew_of_the_delta_alone() -> None:
    world = three_orders()
    world.sync(UPSERT)
    world.lake.drop(ORDERS)
    one_more(world)
    with pytest.raises(TargetChanged, match="gone"):
        world.sync(UPSERT)
    assert ORDERS not in world.lake.tables


def test_a_table_of_another_maker_is_left_alone() -> None:
    world = three_orders()
    world.lake.fence(UPSERT, CommitIds("", 0, "theirs"), None)
    with pytest.raises(TargetChanged, match="did not make"):
        world.sync(UPSERT)
    assert len(world.lake.tables[ORDERS].log) == 2


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


# --- reset ---------------------------------------------------------------------------------------------


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


@BOTH
def test_a_reset_is_not_undone_by_a_sync_that_died_before_it_and_turns_out_to_have_landed(spec: TableSpec) -> None:
    world = three_orders()
    world.sync(spec)
    one_more(world)
    die(world, spec, "after commit")
    reset(world, spec)
    assert world.sync(spec).rows.read == 4
    assert_equal(world)


# --- events ----------------------------------------------------------------------------------------------


def test_a_run_that_failed_after_its_batch_was_staged_is_taken_over_although_it_said_that_it_failed() -> None:
    world = three_orders()
    process = world.process()

    def err() -> None:
        raise OSError("connection reset")

    process.at["after commit"] = err
    with pytest.raises(OSError, match="reset"):
        world.sync(APPEND, process=process)
    assert world.checkpoints.kinds(ORDERS) == ["intent", "staged", "failed"]
    one_more(world)
    world.sync(APPEND)
    assert world.checkpoints.kinds(ORDERS)[3:5] == ["fence", "landed"]
    assert_equal(world)


def test_two_checkpoint_databases_never_share_a_table() -> None:
    world = three_orders()
    sleeper = world.asleep(APPEND, "before apply")
    other = replace(world, memory=Memory())
    other.lake = world.lake
    other.sync(APPEND)
    sleeper.wake()
    assert isinstance(sleeper.error, TargetChanged)
    assert_equal(world)
