"""Files are put together after the syncs, and whatever becomes of that, the copies stay as right as they were."""

from __future__ import annotations

import threading
from collections.abc import Generator
from dataclasses import replace

import pytest

from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import Interrupted
from incremental_assets.core.maintenance.compact import Due, Files, compact_all, rounds
from incremental_assets.core.model.compaction import TARGET, Compacted, Compaction, How, NotCompacted
from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import CommitIds
from incremental_assets.core.planning.report import Status
from incremental_assets.core.syncing.sync_many import listening
from tests.fakes import FakeLake, Killed, Memory, Process, World, ordered
from tests.scenario import ORDERS, ORDERS_SHAPE, order, orders, shop

UPSERT = orders(Strategy.UPSERT)


def moved(world: World, spec: TableSpec = UPSERT, times: int = 4) -> None:
    """So many syncs, each of one new row; each leaves twenty small files."""
    world.lake.small_files = 20
    for _ in range(times):
        number = world.database.nextval()
        world.database.insert(spec.id, id=number, customer="ada", status="new", updated_at=world.database.stamp())
        world.database.tick(60)
        assert world.sync(spec).status is Status.LANDED


@pytest.fixture
def world() -> World:
    """A table with many small files."""
    found = World(shop())
    moved(found)
    return found


def kept_up(world: World, process: Process | None = None) -> list[Compacted | NotCompacted]:
    return list(compact_all([UPSERT], "run", world.ports(process), seconds=60))


def one_more_sync_is_equal(world: World) -> None:
    world.database.update(ORDERS, {"id": 1}, status="paid", updated_at=world.database.stamp())
    world.database.tick(60)
    assert world.sync(UPSERT).status is Status.LANDED
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_many_small_files_become_one_and_syncs_go_on(world: World) -> None:
    (done,) = kept_up(world)
    assert isinstance(done, Compacted)
    assert (len(done.before.sizes), len(done.after.sizes), done.version) == (80, 1, 5)
    assert kept_up(world) == [], "a second time finds nothing worth it"
    one_more_sync_is_equal(world)


def test_the_files_of_a_history_are_put_together_too_and_it_goes_on() -> None:
    kept = replace(UPSERT, history=History.SCD2)
    world = World(shop())
    moved(world, kept)
    copy, history = compact_all([kept], "run", world.ports(), seconds=60)
    assert isinstance(copy, Compacted)
    assert isinstance(history, Compacted)
    assert (copy.table, history.table) == (ORDERS, ORDERS.history)
    assert (len(history.before.sizes), len(history.after.sizes)) == (80, 1)
    assert list(compact_all([kept], "run", world.ports(), seconds=60)) == []
    moved(world, kept, times=1)
    assert world.lake.differing_versions(kept) == FaultyKeys(0)


def test_nothing_is_done_for_few_files() -> None:
    world = World(shop())
    world.lake.small_files = 1
    order(world.database, "ada", world.database.stamp())
    world.sync(UPSERT)
    assert kept_up(world) == []


def test_nothing_is_done_for_a_copy_that_is_overwritten_whole(world: World) -> None:
    assert list(compact_all([orders(Strategy.FULL_REFRESH)], "run", world.ports(), seconds=60)) == []


def test_a_lost_checkpoint_table_is_rebuilt_from_the_commit_that_put_files_together(world: World) -> None:
    before = world.checkpoints.position(ORDERS).state
    kept_up(world)
    newest = world.lake.tables[ORDERS].log[-1]
    assert (newest.operation, newest.state) == ("OPTIMIZE", before)
    world.memory = Memory()
    one_more_sync_is_equal(world)
    assert world.checkpoints.kinds(ORDERS)[0] == "rebuilt"


def test_what_an_older_checkpoint_table_believes_is_not_written_into_the_lake() -> None:
    append, world = orders(Strategy.APPEND), World(shop())
    moved(world, append, times=2)
    known = len(world.memory.events)
    moved(world, append, times=2)
    del world.memory.events[known:]
    assert list(compact_all([append], "run", world.ports(), seconds=60)) == []
    world.memory.events.clear()
    order(world.database, "ada", "2024-01-29T09:00:00Z")
    world.database.tick(60)
    world.sync(append)
    assert len(world.rows(ORDERS)) == len({row["id"] for row in world.rows(ORDERS)})


def test_a_table_that_another_run_holds_is_left_to_it(world: World) -> None:
    with world.checkpoints.lease(ORDERS, "another"):
        assert kept_up(world) == []
    assert len(kept_up(world)) == 1


def test_what_a_dead_run_left_is_for_the_next_sync_first(world: World) -> None:
    commit_ids = CommitIds(world.checkpoints.position(ORDERS).app_id, 4, "batch")
    with world.checkpoints.lease(ORDERS, "dead") as lease:
        lease.record(Event(ORDERS, EventKind.INTENT, "dead", commit_ids.seq, commit_ids.batch_id, commit_ids.app_id))
    assert kept_up(world) == []


def test_a_copy_that_another_hand_has_changed_stays_as_it_was_found(world: World) -> None:
    world.lake.foreign(ORDERS, "DELETE", rows=[])
    versions = world.lake.tables[ORDERS].version
    assert kept_up(world) == []
    assert world.lake.tables[ORDERS].version == versions


def test_a_failure_is_a_sentence_and_the_next_sync_lands(world: World) -> None:
    def full() -> None:
        raise OSError("no space left")

    process = world.process()
    process.at["before compact"] = full
    (done,) = kept_up(world, process)
    assert isinstance(done, NotCompacted)
    assert done.error == (
        "shop.public.orders: its small files were not compacted, which is tried again after the next sync: unexpected OSError: no space left"
    )
    assert ORDERS not in world.memory.leases
    one_more_sync_is_equal(world)


def moments() -> range:
    """A number for each moment at which a compaction can be killed."""
    found = World(shop())
    moved(found)
    process = found.process()
    kept_up(found, process)
    return range(len(process.moments))


@pytest.mark.parametrize("moment", moments())
def test_whenever_it_is_killed_the_next_sync_goes_on(world: World, moment: int) -> None:
    process = world.process()
    process.kill_at = moment
    with pytest.raises(Killed):
        kept_up(world, process)
    one_more_sync_is_equal(world)
    assert ORDERS not in world.memory.leases
    assert world.checkpoints.position(ORDERS).open is None


def named(*names: str) -> list[TableSpec]:
    return [replace(UPSERT, shape=replace(ORDERS_SHAPE, id=TableId("shop", "public", name))) for name in names]


def two_tables() -> tuple[World, list[TableSpec]]:
    """Of which the second has more small files."""
    specs = named("few", "many")
    world = World.of(*(spec.shape for spec in specs))
    moved(world, specs[0], 4)
    moved(world, specs[1], 8)
    return world, specs


def test_the_most_urgent_has_its_turn_even_when_there_is_no_time() -> None:
    world, specs = two_tables()
    world.lake.by_tasks = False
    first = list(compact_all(specs, "run", world.ports(), seconds=0))
    assert [done.table.name for done in first] == ["many"]
    second = list(compact_all(specs, "run", world.ports(), seconds=0))
    assert [done.table.name for done in second] == ["few"]


def test_those_that_tasks_compact_go_together_even_when_there_is_no_time() -> None:
    world, specs = two_tables()
    done = list(compact_all(specs, "run", world.ports(), seconds=0))
    assert sorted(each.table.name for each in done) == ["few", "many"]
    assert {type(each) for each in done} == {Compacted}


def test_one_that_fails_stops_no_other_of_its_round(monkeypatch: pytest.MonkeyPatch) -> None:
    world, specs = two_tables()
    compact = FakeLake.compact

    def full(self: FakeLake, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        if spec == specs[0]:
            raise OSError("no space left")
        return compact(self, spec, how, run_id, state)

    monkeypatch.setattr(FakeLake, "compact", full)
    done = {each.table.name: each for each in compact_all(specs, "run", world.ports(), seconds=60)}
    assert isinstance(done["many"], Compacted)
    assert isinstance(done["few"], NotCompacted)
    assert not world.memory.leases


def test_one_that_another_run_holds_is_left_to_it_and_the_others_of_its_round_are_compacted() -> None:
    world, specs = two_tables()
    with world.checkpoints.lease(specs[1].id, "another"):
        (done,) = compact_all(specs, "run", world.ports(), seconds=60)
    assert done.table.name == "few"


# --- who goes together -------------------------------------------------------------------------------


def due(spec: TableSpec, urgency: float, size: int = 1, *, is_history: bool = False, by_tasks: bool = True) -> Due:
    return Due(Files(spec, is_history), Compaction(How.GATHER, "", urgency, size), by_tasks)


def told(*found: Due) -> list[list[str]]:
    return [[each.files.table.name for each in together] for together in rounds(found)]


def test_a_copy_and_its_history_share_a_lease_and_do_not_go_together() -> None:
    few, many = named("few", "many")
    found = (due(few, 1), due(many, 2), due(few, 3, is_history=True), due(many, 4, is_history=True))
    assert told(*found) == [["many__history", "few__history"], ["many", "few"]]


def test_what_spark_compacts_goes_alone_in_its_turn() -> None:
    one, other, third, fourth = named("one", "other", "third", "fourth")
    found = (due(one, 1), due(other, 4, by_tasks=False), due(third, 3), due(fourth, 2, by_tasks=False))
    assert told(*found) == [["other"], ["third", "one"], ["fourth"]]


def test_a_round_is_no_more_work_than_one_large_file_but_its_first_may_be() -> None:
    one, other, third = named("one", "other", "third")
    assert told(due(one, 3, TARGET - 1), due(other, 2, 2), due(third, 1, 1)) == [["one", "third"], ["other"]]
    assert told(due(one, 2, 9 * TARGET), due(other, 1, 1)) == [["one"], ["other"]]


def test_a_run_that_is_interrupted_cancels_what_is_at_work_and_its_process_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, (slow, quick) = two_tables()
    cancelled, compact = threading.Event(), FakeLake.compact

    def until_cancelled(self: FakeLake, spec: TableSpec, how: How, run_id: str, state: State) -> int:
        if spec != slow:
            return compact(self, spec, how, run_id, state)
        with this_process.cancelling(cancelled.set):
            assert cancelled.wait(20)
        raise Interrupted(spec.id)

    def interrupted() -> None:
        with listening(compact_all([slow, quick], "run", world.ports(), seconds=0)) as compacting:
            assert next(compacting).table == quick.id
            raise KeyboardInterrupt

    monkeypatch.setattr(FakeLake, "compact", until_cancelled)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert cancelled.is_set()
    assert world.memory.leases == {}
    assert not this_process.asked
    monkeypatch.undo()
    (done,) = compact_all([slow], "run", world.ports(), seconds=0)
    assert isinstance(done, Compacted)


def test_a_process_goes_on_also_where_the_end_of_its_interrupted_run_fails() -> None:
    def reports() -> Generator[int]:
        try:
            yield 1
        finally:
            raise OSError("the disk is gone")

    def interrupted() -> None:
        with listening(reports()) as told:
            assert next(told) == 1
            raise KeyboardInterrupt

    with pytest.raises(OSError, match="the disk is gone"):
        interrupted()
    assert not this_process.asked
