"""`replay`: which tables it speaks of, and how it ends."""

from __future__ import annotations

from pathlib import Path

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import SourceUnreachable
from tests.cli.conftest import CONFIG, Call, Outside
from tests.scenario import ORDERS, monday, orders

HOLDS = CONFIG + "        contract: {status: {nullable: false}}\n"


def test_without_a_contract_there_is_nothing_to_replay(call: Call) -> None:
    said = call("replay")
    assert (said.code, said.err.strip()) == (2, "there is nothing to replay: none of these tables has a `contract`")


def test_a_table_with_a_contract_that_cannot_be_read_is_told_and_fails(
    call: Call, outside: Outside, config: Path
) -> None:
    config.write_text(HOLDS)
    assert call("replay").code == 0
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")
    said = call("replay", "--json")
    assert {name: entry["error"] for name, entry in said.tables.items()} == {
        "public.orders": "shop: localhost:5432 does not answer"
    }
    assert said.code != 0


def test_what_was_read_again_says_that_a_replay_did_it(call: Call, outside: Outside, config: Path) -> None:
    config.write_text(HOLDS)
    monday(outside.world.database)
    outside.world.lake.hold(orders(), outside.world.database.rows(ORDERS)[:1], 0)
    said = call("replay", "--json")
    assert [entry["mode"] for entry in said.tables.values()] == ["replay"]


def test_a_table_that_another_run_works_on_is_busy(call: Call, outside: Outside, config: Path) -> None:
    config.write_text(HOLDS)
    outside.world.lake.hold(orders(), [{"id": 7, "status": None}], 0)
    with SqlCheckpoints(load(config).checkpoints).lease(ORDERS, "another run"):
        said = call("replay", "--json")
    assert (said.code, said.tables["public.orders"]["status"]) == (4, "busy")
