"""Does a sequence commit once, its batch whole, and nothing behind a fence?"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.adapters.delta import lake
from incremental_assets.adapters.spark.manifest import record
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.compaction import How
from incremental_assets.core.model.paths import staging_path
from incremental_assets.core.planning.plan import CommitIds
from tests.adapters.batches import APP, EVENTS, ORDERS, Desk
from tests.snapshots import as_read


@pytest.mark.acceptance
@pytest.mark.parametrize("there", [2, 9], ids=["others written along", "others left alone"])
def test_a_batch_that_holds_a_row_twice_does_not_add_up(
    desk: Desk, there: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What every commit is asked, whatever library did it: rows written and rows found unchanged are the rows of the batch."""
    desk.land(ORDERS, [(number, "a", 10) for number in range(1, 1 + there)])
    plan = desk.plan(ORDERS)
    shown = desk.show(ORDERS, [(2, "b", 20)])
    batch = desk.stage.write(plan, shown)
    for file in list(Path(staging_path(str(desk.folder), ORDERS.id, batch.batch_id)).glob("*.parquet")):
        shutil.copy(file, file.with_name(f"again-{file.name}"))
        record(str(file.parent))
    monkeypatch.setattr(lake, "check_rows", lambda *_: None)
    with pytest.raises(CommitMissing, match="holds 2 rows of a batch of 1"):
        desk.lake.apply(plan, batch, landed_state(plan, as_read(1, None, None)))


def test_one_sequence_commits_once(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    plan = desk.plan(EVENTS)
    shown = desk.show(EVENTS, [(2, "b", 20)])
    batch = desk.stage.write(plan, shown)
    desk.apply(plan, batch, shown)
    again = replace(plan, commit_ids=CommitIds(APP, plan.commit_ids.seq, "another"))
    late = desk.stage.write(again, desk.show(EVENTS, [(3, "c", 30)]))
    with pytest.raises(CommitMissing, match="does not hold the batch"):
        desk.lake.apply(again, late, landed_state(plan, as_read(1, None, None)))
    assert desk.rows(EVENTS) == [(1, "a", 10), (2, "b", 20)]


def test_a_fence_makes_a_sleeping_run_commit_nothing(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    asleep = desk.plan(EVENTS)
    batch = desk.stage.write(asleep, desk.show(EVENTS, [(2, "b", 20)]))
    fence = desk.plan(EVENTS).commit_ids
    desk.lake.fence(EVENTS, fence, desk.previous)
    assert desk.lake.find(EVENTS, batch.batch_id) is None
    with pytest.raises(CommitMissing):
        desk.lake.apply(asleep, batch, landed_state(asleep, as_read(1, None, None)))
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert (found.seq, found.foreign, found.state) == (fence.seq, "", desk.previous)
    assert desk.rows(EVENTS) == [(1, "a", 10)]


def test_a_fence_makes_the_table_that_a_sleeping_run_was_about_to_make(desk: Desk) -> None:
    fence = desk.plan(EVENTS).commit_ids
    desk.lake.fence(EVENTS, fence, None)
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert (found.app_id, found.seq, found.state) == (APP, fence.seq, None)


def test_a_compaction_that_a_sync_has_overtaken_does_not_turn_the_position_back(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    before = desk.previous
    desk.land(EVENTS, [(2, "b", 20)])
    assert before is not None
    desk.lake.compact(EVENTS, How.GATHER, "asleep", before)
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert found.state == desk.previous
