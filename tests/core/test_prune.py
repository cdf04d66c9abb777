"""Retention is carried out under the table's lease, where the copy is as its last sync left it; whatever stops it harms no sync."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.maintenance.prune import prune_all
from incremental_assets.core.model.history import History
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.retention import KEEPS_ALL, NotPruned, OldFiles, Pruned, Retention, StoredFile
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.report import Status
from tests.fakes import Killed, Process, World
from tests.scenario import ORDERS, order, orders, shop

UPSERT = orders(Strategy.UPSERT)
WEEK = Retention(files=timedelta(days=7))
AT = datetime(2024, 1, 1, tzinfo=UTC)
OLD = OldFiles("/lake/orders", AT, 4, None, tuple(StoredFile(name, 1000, AT) for name in ("a", "b", "c")))


@pytest.fixture
def world() -> World:
    """A table with three old files."""
    found = World(shop())
    landed(found)
    found.lake.old[ORDERS] = (OLD,)
    return found


def landed(world: World, spec: TableSpec = UPSERT) -> None:
    order(world.database, "ada", world.database.stamp())
    world.database.tick(60)
    assert world.sync(spec).status is Status.LANDED


def pruned(
    world: World, process: Process | None = None, kept: Retention = WEEK, spec: TableSpec = UPSERT
) -> list[Pruned | NotPruned]:
    return list(prune_all([spec], lambda _: kept, "a-run", world.ports(process)))


def test_what_is_old_goes_and_what_was_removed_is_kept_in_mind(world: World) -> None:
    (done,) = pruned(world)
    assert isinstance(done, Pruned)
    assert (done.files, done.bytes, done.left) == (3, 3000, ())
    assert done.sentence == "3 files of old versions removed (2.9 KiB)"
    assert world.lake.removed == ["a", "b", "c"]
    assert world.memory.prunings[ORDERS] == done
    landed(world)


def test_without_a_retention_nothing_is_even_looked_for(world: World) -> None:
    assert pruned(world, kept=KEEPS_ALL) == []
    assert world.lake.removed == []


def test_versions_and_what_is_in_quarantine_go_by_the_time_that_each_is_kept() -> None:
    kept = replace(UPSERT, history=History.SCD2)
    world = World(shop())
    landed(world, kept)
    before = datetime.now(UTC)
    long = Retention(history=timedelta(days=400), quarantine=timedelta(days=90))
    (done,) = pruned(world, kept=long, spec=kept)
    assert isinstance(done, Pruned)
    assert (done.versions, done.quarantined, done.files) == (3, 2, 0)
    assert done.sentence.startswith("3 versions of the history, 2 rows in quarantine, 0 files of old versions")
    (history, ended), (copy, resolved) = world.lake.forgotten
    assert (history, copy) == (ORDERS.history, ORDERS)
    assert timedelta() <= ended - (before - timedelta(days=400)) < timedelta(minutes=1)
    assert timedelta() <= resolved - (before - timedelta(days=90)) < timedelta(minutes=1)
    landed(world, kept)


def test_only_a_history_that_says_when_versions_ended_loses_any(world: World) -> None:
    appended = replace(UPSERT, history=History.APPEND)
    for spec in (UPSERT, appended):
        (done,) = pruned(world, kept=Retention(history=timedelta(days=400)), spec=spec)
        assert isinstance(done, Pruned)
        assert done.versions == 0
    assert world.lake.forgotten == []


def test_what_is_refused_of_one_part_stops_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise LakeRefused("only Spark could make this commit")

    monkeypatch.setattr(type(world.lake), "forget_quarantined", refused)
    (done,) = pruned(world, kept=Retention(quarantine=timedelta(days=90), files=timedelta(days=7)))
    assert isinstance(done, Pruned)
    assert (done.files, done.left) == (3, ("its quarantine: only Spark could make this commit",))


def test_a_part_that_is_left_alone_is_told_and_the_others_go(world: World) -> None:
    world.lake.old[ORDERS] = (OLD, OldFiles("/lake/quarantine", left="its log is strange"))
    (done,) = pruned(world)
    assert isinstance(done, Pruned)
    assert (done.files, done.left) == (3, ("/lake/quarantine: its log is strange",))


def test_a_table_that_another_run_writes_is_left_for_the_next_day(world: World) -> None:
    other = world.checkpoints
    with other.lease(ORDERS, "another"):
        (done,) = pruned(world, Process("second"))
    assert isinstance(done, NotPruned)
    assert done.is_busy
    assert world.lake.removed == []


def test_a_table_that_is_paused_is_left_alone(world: World) -> None:
    world.memory.pauses.append(Pause("shop", ORDERS, "ann", "it is moved", AT))
    (done,) = pruned(world)
    assert isinstance(done, NotPruned)
    assert done.is_busy
    assert "paused" in done.error


def test_a_copy_that_somebody_else_has_changed_is_looked_at_by_its_next_sync_first(world: World) -> None:
    world.lake.foreign(ORDERS, "DELETE", rows=[])
    (done,) = pruned(world)
    assert isinstance(done, NotPruned)
    assert "its next sync has to look at it first" in done.error
    assert world.lake.removed == []


def test_an_open_intent_is_settled_by_a_sync_before_anything_goes(world: World) -> None:
    order(world.database, "bob", world.database.stamp())
    world.database.tick(60)
    process = Process("dying")
    process.at["before apply"] = process.kill
    with pytest.raises(Killed):
        world.sync(UPSERT, process=process)
    world.memory.clock += 3600
    (done,) = pruned(world)
    assert isinstance(done, NotPruned)
    assert world.lake.removed == []


def test_what_a_history_has_still_to_read_stays() -> None:
    kept = replace(UPSERT, history=History.SCD2)
    world = World(shop())
    landed(world)
    world.lake.old[ORDERS] = (OLD,)
    (done,) = pruned(world, spec=kept)
    assert isinstance(done, Pruned)
    assert (done.files, done.left) == (0, ("shop.public.orders: its history has still to follow it",))
    assert world.lake.removed == []
    landed(world, kept)
    (done,) = pruned(world, spec=kept)
    assert isinstance(done, Pruned)
    assert done.files == 3


def test_what_goes_wrong_is_told_by_name_and_the_next_sync_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("a full disk")

    with monkeypatch.context() as patch:
        patch.setattr(type(world.lake), "remove_files", broken)
        (done,) = pruned(world)
    assert isinstance(done, NotPruned)
    assert not done.is_busy
    assert done.error.startswith("shop.public.orders: nothing of it was pruned, which is tried again tomorrow: ")
    landed(world)


def test_whoever_is_killed_at_any_moment_leaves_a_table_that_syncs_and_is_pruned_again() -> None:
    for moment in range(100):
        world = World(shop())
        landed(world)
        world.lake.old[ORDERS] = (OLD,)
        process = Process("pruning")
        process.kill_at = moment
        process.on_death = lambda world=world: world.memory.gone.add("pruning")
        try:
            pruned(world, process)
        except Killed:
            landed(world)
            (done,) = pruned(world)
            assert isinstance(done, Pruned)
        else:
            assert moment > 5
            return
    raise AssertionError("it never came to its end")
