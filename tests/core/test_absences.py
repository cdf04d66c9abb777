"""What should be there and is not, once a run has died: the lake itself."""

import pytest

from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.target import NO_TABLE, LastCommit
from tests.core.stories import BOTH, assert_equal, die, one_more, three_orders
from tests.scenario import ORDERS


@BOTH
@pytest.mark.parametrize("moment", ["before apply", "after commit"])
def test_a_lake_that_is_gone_behind_a_dead_run_is_not_made_anew(spec: TableSpec, moment: str) -> None:
    """As a folder whose mount is missing: a fence would make a table there."""
    world = three_orders()
    world.sync(spec)
    one_more(world)
    die(world, spec, moment)
    kept = world.lake.tables[ORDERS]
    world.lake.drop(ORDERS)
    for _ in range(2):
        with pytest.raises(TargetChanged, match="the table is gone from the lake"):
            world.sync(spec)
        assert world.lake.last_commit(spec) == LastCommit(NO_TABLE)
    world.lake.tables[ORDERS] = kept
    world.sync(spec)
    assert_equal(world)


@BOTH
def test_a_lake_that_is_gone_behind_a_dead_run_is_made_anew_by_a_full_refresh(spec: TableSpec) -> None:
    world = three_orders()
    world.sync(spec)
    one_more(world)
    die(world, spec, "before apply")
    world.lake.drop(ORDERS)
    world.sync(spec, mode=Mode.FULL_REFRESH)
    assert_equal(world)
