"""What does a sync do about a copy that another writer has changed, replaced or removed?"""

from copy import deepcopy
from dataclasses import replace

import pytest

from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.planning.plan import CommitIds
from incremental_assets.core.planning.report import Status
from incremental_assets.core.planning.target import LastCommit
from tests.core.stories import UPSERT, die, one_more, opened, three_orders
from tests.fakes.delta_table import LogEntry
from tests.fakes.lake import FakeLake
from tests.scenario import ORDERS


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


# --- while the source stood still ------------------------------------------------------------------


def test_a_copy_that_was_changed_while_the_source_stood_still_stops_the_sync() -> None:
    """An older version restored, rows deleted by another writer: nothing moved in the source, and the copy is not what it was."""
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


@pytest.mark.parametrize("maintained", [1, 3])
def test_an_older_copy_in_the_tables_place_stops_the_sync_whatever_maintenance_has_made_of_its_version(
    maintained: int,
) -> None:
    world = three_orders()
    world.sync(UPSERT)
    older = deepcopy(world.lake.tables[ORDERS])
    one_more(world)
    world.sync(UPSERT)
    world.lake.tables[ORDERS] = older
    for _ in range(maintained):
        world.lake.foreign(ORDERS, "OPTIMIZE")
    one_more(world, "mary")
    with pytest.raises(TargetChanged, match="restored from an older copy"):
        world.sync(UPSERT)
    assert len(world.rows(ORDERS)) == 3


def test_maintenance_after_a_sync_that_had_nothing_to_land_stops_nothing() -> None:
    world = three_orders()
    world.sync(UPSERT)
    world.sync(UPSERT)
    world.lake.foreign(ORDERS, "OPTIMIZE")
    one_more(world)
    world.sync(UPSERT)
    assert len(world.rows(ORDERS)) == 4


def test_a_table_that_stands_still_is_known_by_its_last_commit() -> None:
    world = three_orders()
    world.sync(UPSERT)
    older = deepcopy(world.lake.tables[ORDERS])
    one_more(world)
    world.sync(UPSERT)
    assert world.sync(UPSERT).status is Status.IDLE
    world.lake.tables[ORDERS] = older
    world.lake.foreign(ORDERS, "OPTIMIZE")
    with pytest.raises(TargetChanged, match="restored from an older copy"):
        world.sync(UPSERT)


def test_a_quarantine_that_is_gone_stops_a_table_also_while_its_source_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = three_orders()
    world.sync(UPSERT)
    found = world.lake.inspect(UPSERT, None)
    assert found is not None
    monkeypatch.setattr(FakeLake, "inspect", lambda *_: replace(found, lacks="its quarantine at /q is gone"))
    monkeypatch.setattr(FakeLake, "last_commit", lambda *_: LastCommit(found.version))
    with pytest.raises(TargetChanged, match=r"its quarantine at /q is gone, so nothing was written; .*--full-refresh"):
        world.sync(UPSERT)
    one_more(world)
    with pytest.raises(TargetChanged, match="its quarantine at /q is gone"):
        world.sync(UPSERT)
