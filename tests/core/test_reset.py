"""What a reset records, what it refuses, and what it survives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.errors import Busy, SelectionError, SourceExchanged
from incremental_assets.core.maintenance.reset import accept_source, reset_table
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from tests.fakes import FakeCheckpoints, World, ordered
from tests.fakes.world import Killed
from tests.ports.stories import ORDERS, at, intent, staged, state, sync
from tests.scenario import ORDERS as SHOP_ORDERS
from tests.scenario import order, orders, shop

SPEC = TableSpec(
    TableShape(ORDERS, ()), Strategy.UPSERT, Cursor("updated_at", CursorType.TIMESTAMP), key=("id",), key_enforced=True
)


def checkpoints(*more: object) -> FakeCheckpoints:
    memory = FakeCheckpoints()
    memory.memory.events.extend([*sync(4), *more])  # type: ignore[list-item]
    return memory


def test_a_reset_is_recorded_with_what_it_changed() -> None:
    memory = checkpoints()
    reset_table(spec=SPEC, to=at(2), run_id="audit", checkpoints=memory)
    event = memory.memory.events[-1]
    assert (event.kind, event.run_id, event.app_id) == ("reset", "audit", state(4, 5).app_id)
    assert event.detail == f"the watermark went from {at(5)} to {at(2)}"
    assert memory.position(ORDERS).state == state(4, 5).rewound(SPEC.terms, at(2))
    assert memory.position(ORDERS).target is None
    assert memory.memory.leases == {}


def test_a_reset_to_nothing_reads_everything_again_on_the_terms_of_today() -> None:
    memory = checkpoints()
    spec = replace(SPEC, strategy=Strategy.APPEND)
    found = reset_table(spec=spec, to=None, run_id="audit", checkpoints=memory)
    assert (found.position.watermark, found.terms, found.position.coverage) == (None, spec.terms, ())
    assert found.position.max_cursor_read == state(4, 5).position.max_cursor_read


def test_there_is_nothing_to_reset_before_the_first_sync() -> None:
    with pytest.raises(SelectionError, match="nothing to reset"):
        reset_table(spec=SPEC, to=None, run_id="audit", checkpoints=FakeCheckpoints())


@pytest.mark.parametrize(
    ("spec", "to"),
    [
        (SPEC, CursorValue(CursorType.INTEGER, "7")),
        (replace(SPEC, strategy=Strategy.FULL_REFRESH), at(1)),
        (replace(SPEC, cursor=None), at(1)),
    ],
)
def test_a_value_that_is_none_of_the_cursors_is_a_wrong_selection(spec: TableSpec, to: CursorValue) -> None:
    memory = checkpoints()
    with pytest.raises(SelectionError):
        reset_table(spec=spec, to=to, run_id="audit", checkpoints=memory)
    assert len(memory.memory.events) == 3


def test_a_table_that_is_being_synced_is_not_reset() -> None:
    memory = checkpoints()
    with memory.lease(ORDERS, "sync"), pytest.raises(Busy):
        reset_table(spec=SPEC, to=None, run_id="audit", checkpoints=memory)


def test_nothing_is_appended_unchecked_after_a_sync_that_may_still_land() -> None:
    found = reset_table(spec=SPEC, to=at(2), run_id="a", checkpoints=checkpoints(intent(5), staged(5)))
    assert (found.seq, found.position.max_cursor_read) == (5, None)
    found = reset_table(spec=SPEC, to=at(2), run_id="a", checkpoints=checkpoints(intent(5)))
    assert (found.seq, found.position.max_cursor_read) == (4, state(4, 5).position.max_cursor_read)


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
@pytest.mark.parametrize("moment", ["before apply", "after commit"])
def test_a_reset_outlives_a_sync_that_died_and_landed_all_the_same(strategy: Strategy, moment: str) -> None:
    spec, world = orders(strategy), World(shop())
    order(world.database, "ada", world.database.stamp())
    world.database.tick(3600)
    world.sync(spec)
    order(world.database, "grace", world.database.stamp())
    world.database.tick(3600)
    process = world.process()
    process.at[moment] = process.kill
    with pytest.raises(Killed):
        world.sync(spec, process=process)
    reset_table(spec=spec, to=None, run_id="audit", checkpoints=world.checkpoints)
    report = world.sync(spec)
    assert report.previous_watermark is None
    assert report.rows.read == 2
    assert ordered(world.rows(SHOP_ORDERS)) == ordered(world.database.rows(SHOP_ORDERS))


# --- another cluster that holds the same rows ---------------------------------------------------------


def test_a_source_that_was_upgraded_is_accepted_and_the_sync_goes_on_from_its_watermark() -> None:
    """`pg_upgrade` gives the cluster another number and its log a lower position; rows, stamps and sequences are those that were there."""
    world = World(shop())
    spec = orders()
    order(world.database, "ada", world.database.stamp())
    world.database.tick(60)
    before = world.sync(spec)
    world.database.exchange()
    world.database.position = 3
    order(world.database, "grace", world.database.stamp())
    with pytest.raises(SourceExchanged, match=r"reset --select shop\.public\.orders --accept-source --yes"):
        world.sync(spec)
    accept_source(spec=spec, run_id="upgrade", checkpoints=world.checkpoints)
    event = world.memory.events[-1]
    assert (event.kind, event.run_id) == ("reset", "upgrade")
    assert "in place of system 7001" in event.detail
    world.database.tick(60)
    after = world.sync(spec)
    assert (after.previous_watermark, after.rows.inserted) == (before.new_watermark, 1)
    assert after.rows.read == 1, "what had settled is not read again"
    assert ordered(world.rows(SHOP_ORDERS)) == ordered(world.database.rows(SHOP_ORDERS))
    world.database.exchange("7003")
    with pytest.raises(SourceExchanged, match="system 7003, was 7002"):
        world.sync(spec)


def test_an_accepted_source_may_still_have_a_slower_clock() -> None:
    world = World(shop())
    spec = orders()
    order(world.database, "ada", world.database.stamp())
    world.database.tick(60)
    world.sync(spec)
    world.database.exchange()
    world.database.tick(-60)
    order(world.database, "grace", world.database.stamp())
    accept_source(spec=spec, run_id="upgrade", checkpoints=world.checkpoints)
    assert world.sync(spec).guarantee == "best_effort"
    assert ordered(world.rows(SHOP_ORDERS)) == ordered(world.database.rows(SHOP_ORDERS))


def test_a_table_that_was_never_synced_takes_any_source() -> None:
    with pytest.raises(SelectionError, match="accepts any source"):
        accept_source(spec=SPEC, run_id="upgrade", checkpoints=FakeCheckpoints())
