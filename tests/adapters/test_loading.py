"""A first load on real Delta: rows first, then their position; what has no position is replaced, and a sleeper replaces nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta import file_size
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.errors import CommitMissing, StageBroken, TargetChanged
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, SyncPlan
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import APP, EVENTS, ORDERS, Desk, Row, table
from tests.snapshots import as_read

if TYPE_CHECKING:
    pass

BOTH = pytest.mark.parametrize("spec", [ORDERS, EVENTS], ids=["upsert", "append"])
ROWS: list[Row] = [(1, "a", 10), (2, "b", 20), (3, None, 30)]


def load(desk: Desk, spec: TableSpec, rows: list[Row]) -> tuple[SyncPlan, Batch]:
    plan = desk.loading(spec)
    return plan, desk.lake.load(plan, desk.show(spec, rows))


@BOTH
def test_rows_are_there_before_their_position_and_the_next_sync_goes_on_from_it(desk: Desk, spec: TableSpec) -> None:
    plan, batch = load(desk, spec, ROWS)
    before = desk.lake.inspect(spec, None)
    assert before is not None
    assert (before.landed, before.state, before.seq, before.foreign) == (False, None, 1, "")
    assert desk.lake.find(spec, batch.batch_id) is None
    assert desk.rows(spec) == ROWS

    commit = desk.apply(plan, batch, desk.show(spec, ROWS))
    after = desk.lake.inspect(spec, None)
    assert after is not None
    assert (after.landed, after.state, after.seq) == (True, desk.previous, 2)
    assert commit.rows == RowCounts(read=3, inserted=3)
    assert desk.lake.find(spec, batch.batch_id) == commit
    assert {row._sync_seq for row in desk.read(spec).collect()} == {2}

    assert desk.land(spec, [(3, None, 30), (4, "d", 40)]).rows == RowCounts(read=2, inserted=1, unchanged=1)
    assert desk.rows(spec) == [*ROWS, (4, "d", 40)]


@pytest.mark.acceptance
@BOTH
def test_rows_without_a_position_are_replaced_by_the_next_load(desk: Desk, spec: TableSpec) -> None:
    load(desk, spec, ROWS)
    plan, batch = load(desk, spec, ROWS[:2])
    desk.apply(plan, batch, desk.show(spec, ROWS[:2]))
    assert desk.rows(spec) == ROWS[:2]


@pytest.mark.acceptance
@BOTH
def test_rows_without_a_position_are_replaced_by_a_staged_batch(desk: Desk, spec: TableSpec) -> None:
    load(desk, spec, ROWS)
    assert desk.land(spec, ROWS[:2]).rows == RowCounts(read=2, inserted=2)
    assert desk.rows(spec) == ROWS[:2]


@pytest.mark.acceptance
@BOTH
def test_rows_of_a_load_that_died_are_replaced_although_the_source_has_other_columns_since(
    desk: Desk, spec: TableSpec
) -> None:
    load(desk, spec, ROWS)
    wider = table("id bigint, at bigint, price double", spec.strategy, key=spec.key, enforced=spec.key_enforced)
    plan, batch = load(desk, wider, [(1, 10, 0.5)])
    desk.apply(plan, batch, desk.show(wider, [(1, 10, 0.5)]))
    assert desk.lake.columns(wider) == (("id", "bigint"), ("at", "bigint"), ("price", "double"))
    assert desk.rows(wider) == [(1, 10, 0.5)]


def test_a_load_that_does_not_add_up_gets_no_position(desk: Desk) -> None:
    plan, shown = desk.loading(ORDERS), desk.show(ORDERS, ROWS)
    with pytest.raises(StageBroken, match="3 rows were written where the source counts 4"):
        desk.lake.load(plan, replace(shown, rows=4))
    found = desk.lake.inspect(ORDERS, None)
    assert found is not None
    assert (found.landed, found.state) == (False, None)


@pytest.mark.acceptance
def test_a_load_that_wakes_behind_a_fence_replaces_nothing(desk: Desk) -> None:
    sleeping = desk.loading(ORDERS)
    desk.lake.fence(ORDERS, CommitIds(APP, 9, "fence"), None)
    with pytest.raises(CommitMissing):
        desk.lake.load(sleeping, desk.show(ORDERS, ROWS))
    assert desk.rows(ORDERS) == []


@pytest.mark.acceptance
def test_a_position_that_wakes_behind_another_load_is_not_given(desk: Desk) -> None:
    plan, batch = load(desk, ORDERS, ROWS)
    other, rows = load(desk, ORDERS, ROWS[:1])
    desk.apply(other, rows, desk.show(ORDERS, ROWS[:1]))
    with pytest.raises(CommitMissing):
        desk.lake.apply(plan, batch, landed_state(plan, as_read(3, None, None)))
    assert desk.rows(ORDERS) == ROWS[:1]


@pytest.mark.acceptance
def test_rows_that_another_hand_changed_before_they_had_a_position_get_none(desk: Desk) -> None:
    plan, lake = desk.loading(ORDERS), desk.lake
    batch = lake.load(plan, desk.show(ORDERS, ROWS))
    desk.sql("DELETE FROM {t} WHERE id = 2", ORDERS)
    with pytest.raises(TargetChanged, match="changed by another writer while this sync ran"):
        lake.apply(plan, batch, landed_state(plan, as_read(3, None, None)))


@pytest.mark.acceptance
def test_a_load_is_cut_into_files_by_the_bytes_of_the_source(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_size, "FILE_BYTES", 1_000)
    spec = replace(ORDERS, shape=replace(ORDERS.shape, rows=100, bytes=5_000))
    plan, shown = desk.loading(spec), desk.show(spec, [(number, "a", number) for number in range(100)])
    desk.lake.load(plan, replace(shown, frame=shown.frame.coalesce(1)))
    assert len(desk.read(spec).inputFiles()) == 5
