"""What a look says of copies that other writers have been in, while their tables stand still."""

from __future__ import annotations

import pytest

from incremental_assets.core.checks.run_checks import Scope, audit
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.verdict import Check, Verdict
from incremental_assets.core.planning.plan import CommitIds, Mode
from incremental_assets.core.planning.target import Target
from incremental_assets.core.syncing.foreign_changes import look_for, seen_in, unrecorded
from tests.fakes import World
from tests.scenario import ORDERS, order, orders, shop

UPSERT = orders(Strategy.UPSERT)
TERMS = TableConfig(schema="public", name="orders", strategy=Strategy.UPSERT, cursor=UPSERT.cursor)


@pytest.fixture
def world() -> World:
    made = World(shop())
    order(made.database, "ada", made.database.stamp())
    made.database.tick(60)
    made.sync(UPSERT)
    return made


def seen(world: World) -> str:
    return seen_in(UPSERT, world.checkpoints.position(ORDERS), world.lake)


def looked(world: World, verified: int | None = None) -> list[tuple[int, bool]]:
    known = {} if verified is None else {ORDERS: verified}
    found = look_for([UPSERT], world.checkpoints.positions(), world.lake, known, seconds=10)
    return [(version, bool(sentence)) for _, version, sentence in found]


def reconciled(world: World) -> Verdict:
    scope = Scope(1, checks_of=lambda _: (Check.RECONCILIATION,))
    (verdict,) = audit([UPSERT], scope, lambda _: TERMS, world.ports())
    return verdict


def test_nothing_is_said_of_a_copy_as_its_sync_left_it(world: World) -> None:
    assert (seen(world), looked(world)) == ("", [])


def test_a_restored_copy_is_named_with_its_cures(world: World) -> None:
    world.lake.foreign(ORDERS, "RESTORE", [])
    assert "RESTORE" in seen(world)
    assert "reset --select" in seen(world)
    assert looked(world) == [(world.lake.tables[ORDERS].version, True)]


def test_a_file_that_is_gone_of_a_copy_whose_log_stands_is_named_and_no_check_passes(world: World) -> None:
    world.lake.lacks[ORDERS] = "a file of the copy is gone (part-0.parquet), and its rows with it"
    assert "part-0.parquet" in seen(world)
    verdict = reconciled(world)
    assert (verdict.passed, "part-0.parquet" in verdict.detail) == (False, True)
    # The sensor's look asks for no files.
    assert looked(world) == []


def test_a_copy_of_which_nothing_is_recorded_is_told_until_a_sync_has_found_it(world: World) -> None:
    def told() -> str:
        return unrecorded(UPSERT, world.checkpoints.position(ORDERS), world.lake)

    assert told() == ""
    world.memory.events.clear()
    assert "the checkpoint table has no record of any sync" in told()
    world.sync(UPSERT)
    assert told() == ""
    world.lake.drop(ORDERS)
    world.memory.events.clear()
    assert told() == ""


def test_a_removed_copy_is_named(world: World) -> None:
    world.lake.drop(ORDERS)
    assert "gone from the lake" in seen(world)


def test_of_a_table_that_somebody_else_has_made_there_the_cure_is_the_one_that_a_sync_takes() -> None:
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    landed = world.sync(UPSERT)
    world.lake.drop(ORDERS)
    for seq in range(3):
        world.lake.fence(UPSERT, CommitIds("", seq, "theirs"), None)

    with pytest.raises(TargetChanged) as stopped:
        world.sync(UPSERT, mode=Mode.FULL_REFRESH)
    with pytest.raises(TargetChanged) as refused:
        roll_back(UPSERT, landed.run_id, "back", world.ports())

    assert "move that table away" in str(stopped.value)
    assert [seen(world), str(refused.value)] == [str(stopped.value)] * 2


def test_compaction_is_looked_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.lake.foreign(ORDERS, "OPTIMIZE")
    version = world.lake.tables[ORDERS].version
    assert (seen(world), looked(world)) == ("", [(version, False)])

    def not_again(_spec: TableSpec, _since: int | None) -> Target | None:
        raise AssertionError("the log was read again")

    monkeypatch.setattr(world.lake, "inspect", not_again)
    assert looked(world, verified=version) == []


def test_a_changed_copy_fails_its_reconciliation_though_every_settled_row_is_equal(world: World) -> None:
    assert reconciled(world).passed
    world.lake.foreign(ORDERS, "UPDATE", world.lake.tables[ORDERS].rows)
    verdict = reconciled(world)
    assert not verdict.passed
    assert "UPDATE" in verdict.detail
