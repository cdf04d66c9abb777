"""A row that cannot land, or that a contract holds, and that is gone from the source is counted no more as soon as somebody asks for its key."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.checks.run_checks import Scope, audit
from incremental_assets.core.config.settings import Freshness, TableConfig
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.contract import ColumnRules, Contract
from incremental_assets.core.model.deletes import Deletes
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check, Verdict
from incremental_assets.core.planning.report import Status
from tests.core.deletes import EACH, numbers, ten
from tests.fakes import FakeProbe, World
from tests.scenario import ORDERS, order, orders

COMPARED = replace(EACH, cursor=None, compares=True, refresh_every=timedelta())
WHOLE = replace(orders(Strategy.FULL_REFRESH), cursor=None, refresh_every=timedelta(), deletes=Deletes())
TERMS = TableConfig("public", "orders", Strategy.UPSERT, freshness=Freshness(timedelta(minutes=15), timedelta(hours=1)))


def with_unfit(spec: TableSpec) -> World:
    """Ten orders, and two that cannot land."""
    world = ten()
    for number in (11, 12):
        order(world.database, "bad", world.database.stamp(), number=number, status="unfit")
    world.database.tick(60)
    assert world.sync(spec).rows.quarantined == 2
    return world


def counted(world: World, spec: TableSpec) -> int:
    found = world.lake.unfit(spec)
    assert found is not None
    return found.rows


def checked(world: World, spec: TableSpec) -> dict[Check, Verdict]:
    def terms_of(_: TableId) -> TableConfig:
        return TERMS

    return {each.check: each for each in audit([spec], Scope(parallel=1), terms_of, world.ports())}


@pytest.mark.parametrize("spec", [EACH, COMPARED, WHOLE], ids=["keys are compared", "rows are compared", "read whole"])
def test_a_sync_that_sees_all_keys_counts_it_no_more(spec: TableSpec) -> None:
    world = with_unfit(spec)
    world.database.delete(ORDERS, {"id": 11})
    world.database.tick(600)
    world.sync(spec)
    assert counted(world, spec) == 1
    assert numbers(world) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert len(world.lake.quarantine[ORDERS]) == 2, "it stays on record"
    world.database.delete(ORDERS, {"id": 12})
    world.database.tick(600)
    world.sync(spec)
    assert counted(world, spec) == 0


def test_a_sync_that_asks_for_no_key_leaves_it_to_the_next_check() -> None:
    world, spec = with_unfit(orders()), orders()
    world.database.delete(ORDERS, {"id": 11})
    world.database.tick(600)
    assert world.sync(spec).status is Status.IDLE
    assert counted(world, spec) == 2
    verdicts = checked(world, spec)
    assert {verdicts[each].quarantined for each in (Check.FRESHNESS, Check.RECONCILIATION)} == {1}
    assert counted(world, spec) == 1
    assert checked(world, spec)[Check.RECONCILIATION].quarantined == 1


def test_a_row_that_comes_back_as_it_was_counts_again() -> None:
    world = with_unfit(EACH)
    row = next(dict(row) for row in world.database.rows(ORDERS) if row["id"] == 11)
    world.database.delete(ORDERS, {"id": 11})
    world.database.tick(600)
    world.sync(EACH)
    world.database.insert(ORDERS, **{**row, "updated_at": world.database.stamp()})
    world.database.tick(60)
    world.sync(EACH)
    assert counted(world, EACH) == 2


def test_while_a_run_has_the_table_a_check_writes_nothing_of_it() -> None:
    world, spec = with_unfit(orders()), orders()
    world.database.delete(ORDERS, {"id": 11})
    with world.checkpoints.lease(ORDERS, "another run"):
        checked(world, spec)
    assert counted(world, spec) == 2
    checked(world, spec)
    assert counted(world, spec) == 1


def test_a_source_that_does_not_answer_leaves_the_count_and_each_check_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object) -> None:
        raise SourceUnreachable("shop: nobody answers")

    world, spec = with_unfit(orders()), orders()
    monkeypatch.setattr(FakeProbe, "keys", down)
    monkeypatch.setattr(FakeProbe, "measure", down)
    assert checked(world, spec)[Check.RECONCILIATION].detail == "shop: nobody answers"
    assert counted(world, spec) == 2


def test_what_a_contract_holds_and_is_gone_is_held_no_more_once_a_check_has_asked() -> None:
    contract = Contract(rules=(ColumnRules("status", nullable=False),), file="sources.yaml", line=7)
    world, spec = ten(), replace(orders(), contract=contract)
    order(world.database, "held", world.database.stamp(), number=11, status="broken")
    world.database.tick(60)
    world.sync(spec)
    held = world.lake.held(spec)
    assert held is not None
    assert held.rows == 1
    world.database.delete(ORDERS, {"id": 11})
    checked(world, spec)
    assert world.lake.held(spec) == replace(held, rows=0, reasons=())
