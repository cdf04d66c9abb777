"""What does a sync do about a copy that another hand has changed, replaced or removed?"""

import pytest

from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.planning.report import Status
from tests.core.stories import UPSERT, opened
from tests.fakes.delta_table import LogEntry
from tests.scenario import ORDERS


def test_a_copy_that_was_changed_while_the_source_stood_still_stops_the_sync() -> None:
    """An older version restored, rows deleted by another hand: nothing moved in the source, and the copy is not what it was."""
    world = opened()
    world.sync(UPSERT)
    world.database.tick(60)
    assert world.sync(UPSERT).status is Status.IDLE
    world.lake.tables[ORDERS].log.append(LogEntry((), "RESTORE", ours=False))
    with pytest.raises(TargetChanged, match="RESTORE"):
        world.sync(UPSERT)


def test_a_commit_that_leaves_every_row_as_it_is_stops_no_idle_table() -> None:
    world = opened()
    world.sync(UPSERT)
    table = world.lake.tables[ORDERS]
    table.log.append(LogEntry(table.rows, "OPTIMIZE", ours=False, changes_rows=False))
    assert world.sync(UPSERT).status is Status.IDLE


def test_a_copy_that_was_removed_while_the_source_stood_still_stops_the_sync() -> None:
    world = opened()
    world.sync(UPSERT)
    world.lake.drop(ORDERS)
    with pytest.raises(TargetChanged, match="gone from the lake"):
        world.sync(UPSERT)
