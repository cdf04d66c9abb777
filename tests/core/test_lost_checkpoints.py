"""Does a sync find its position again when the checkpoint table is lost, or older than the lake?"""

import pytest

from incremental_assets.core.errors import StageBroken
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.core.syncing.recovery import FORGOTTEN
from tests.core.stories import APPEND, BOTH, assert_equal, die, one_more, three_orders
from tests.fakes import Killed
from tests.scenario import ORDERS


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
