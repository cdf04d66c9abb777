"""Can two runs be at one table?"""

from dataclasses import replace

import pytest

from incremental_assets.core.errors import Busy, CommitMissing, LeaseLost, TargetChanged
from incremental_assets.core.planning.report import Status
from tests.core.stories import APPEND, UPSERT, assert_equal, opened, three_orders
from tests.fakes import Memory
from tests.scenario import ORDERS


def test_a_second_run_fails_at_once_and_names_the_first() -> None:
    world = opened()
    process = world.process("host:42")

    def meanwhile() -> None:
        with pytest.raises(Busy, match="host:42"):
            world.sync(UPSERT)

    process.at["after snapshot"] = meanwhile
    assert world.sync(UPSERT, process=process).status is Status.LANDED


@pytest.mark.parametrize(
    ("moment", "error"),
    [("before staged", LeaseLost), ("before commit", CommitMissing), ("before landed", LeaseLost)],
)
def test_a_run_whose_lease_was_taken_says_so_and_leaves_nothing_behind(moment: str, error: type[Exception]) -> None:
    world = opened()
    sleeper = world.asleep(APPEND, moment)
    world.pass_time(61)
    world.sync(APPEND)
    sleeper.wake()
    assert isinstance(sleeper.error, error)
    assert_equal(world)
    assert world.stage.batches == {}


def test_nothing_runs_beside_a_live_run_however_long_it_takes() -> None:
    world = opened()
    with world.checkpoints.lease(ORDERS, "long") as lease:
        for _ in range(5):
            world.pass_time(50)
            lease.beat()
        with pytest.raises(Busy):
            world.sync(UPSERT)


def test_two_checkpoint_databases_never_share_a_table() -> None:
    world = three_orders()
    sleeper = world.asleep(APPEND, "before apply")
    other = replace(world, memory=Memory())
    other.lake = world.lake
    other.sync(APPEND)
    sleeper.wake()
    assert isinstance(sleeper.error, TargetChanged)
    assert_equal(world)
