"""What does the next sync make of a run that died, or of one that only sleeps?"""

from dataclasses import replace

import pytest

from incremental_assets.core.errors import CommitMissing, Overtaken
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.contract import ColumnRules, Contract
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.report import Status
from tests.core.stories import APPEND, BOTH, UPSERT, assert_equal, die, one_more, three_orders
from tests.fakes import Killed, Sleeper, World
from tests.scenario import ORDERS, order


def test_what_a_contract_held_is_settled_for_a_run_that_died_behind_its_commit_and_for_no_other() -> None:
    spec = replace(UPSERT, contract=Contract(rules=(ColumnRules("customer", nullable=False),)))
    world = three_orders()
    world.sync(spec)
    one_more(world)
    die(world, spec, "before commit")
    world.sync(spec)
    assert world.lake.settled == []
    one_more(world)
    die(world, spec, "after commit")
    (left,) = world.lake.stage.batches
    world.sync(spec)
    assert world.lake.settled == [left]
    assert world.lake.stage.batches == {}


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
