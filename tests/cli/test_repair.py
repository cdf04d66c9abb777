"""`repair`: what it says, what it leaves in the ledger, and when it has nothing to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call, Outside
from tests.fakes.rows import ordered
from tests.scenario import ORDERS, monday, order


@pytest.fixture
def synced(call: Call, outside: Outside) -> Outside:
    """After Monday's sync, settled."""
    monday(outside.world.database).abort()
    outside.world.pass_time(10)
    assert call("sync").code == 0
    return outside


def drift(outside: Outside) -> None:
    outside.world.database.update(ORDERS, {"id": 2}, status="changed behind the cursor's back")
    order(outside.world.database, "late", "2024-01-29T08:00:00Z")


def test_a_repair_says_what_it_changed_and_that_it_has_checked_again(call: Call, synced: Outside) -> None:
    drift(synced)
    assert call("check", "--select", "public.orders").code == 1
    assert call("status", "--json").tables["public.orders"]["drift"] == 2
    said = call("repair", "--select", "public.orders", "--json")
    entry = said.tables["public.orders"]
    assert (said.code, entry["mode"], entry["status"], entry["drift"]) == (0, "repair", "landed", 0)
    assert {name: entry["rows"][name] for name in ("read", "inserted", "updated", "deleted")} == {
        "read": 2,
        "inserted": 1,
        "updated": 1,
        "deleted": 0,
    }
    assert ordered(synced.world.rows(ORDERS)) == ordered(synced.world.database.rows(ORDERS))
    status = call("status", "--json").tables["public.orders"]
    assert (status["drift"], status["last_status"], status["verified_through"]) == (0, "landed", status["watermark"])
    assert call("check", "--select", "public.orders").code == 0


def test_for_eyes_it_is_one_line_and_what_the_check_found_after_it(call: Call, synced: Outside) -> None:
    drift(synced)
    call("check")
    said = call("repair", "--select", "public.orders")
    assert "1 row repaired, 1 added, 0 deleted" in said.out
    assert "shop.public.orders: checked again: " in said.out


def test_without_a_check_and_without_drift_nothing_is_touched(call: Call, synced: Outside) -> None:
    drift(synced)
    version = synced.world.lake.tables[ORDERS].version
    said = call("repair", "--select", "public.*", "--json")
    assert said.code == 0
    assert {entry["reason"] for entry in said.tables.values()} == {"no check has found drift"}
    assert synced.world.lake.tables[ORDERS].version == version


def test_a_table_of_which_nothing_has_landed_is_said_not_to_have_been_repaired(call: Call) -> None:
    said, document = call("repair", "--select", "public.*"), call("repair", "--select", "public.*", "--json")
    assert "nothing to repair; of 2 tables nothing has landed yet" in said.out
    assert {entry["reason"] for entry in document.tables.values()} == {"nothing has landed yet"}


def test_tables_have_to_be_named(call: Call, synced: Outside) -> None:
    said = call("repair")
    assert said.code == 2
    assert "name the tables with --select source.schema.table; --select '*' is all of them" in said.err


def test_a_repair_that_is_refused_says_why(call: Call, synced: Outside) -> None:
    drift(synced)
    call("check")
    table = synced.world.lake.tables[ORDERS]
    synced.world.lake.foreign(ORDERS, "DELETE", list(table.rows)[1:])
    said = call("repair", "--select", "public.orders", "--json")
    assert said.code == 1
    assert "the rows were changed by another writer" in said.tables["public.orders"]["error"]


@pytest.mark.parametrize("checked", [True, False], ids=["drift is known", "never checked"])
def test_a_table_whose_cursor_was_changed_since_is_told_as_by_a_sync(
    checked: bool, call: Call, synced: Outside, config: Path
) -> None:
    drift(synced)
    if checked:
        assert call("check", "--select", "public.orders").code == 1
    version = synced.world.lake.tables[ORDERS].version
    changed = config.read_text().replace("column: updated_at, type: timestamp", "column: id, type: integer")
    config.write_text(changed.replace("{every: month, from: 2023-10-01}", "{size: 1000}"))
    by_sync = call("sync", "--select", "public.orders", "--json")
    said = call("repair", "--select", "public.orders", "--json")
    covered = call("coverage", "--json")
    entry = said.tables["public.orders"]
    assert "what landed was synced on other terms (cursor updated_at:timestamp -> id:integer)" in entry["error"]
    assert (said.code, entry["error"]) == (by_sync.code, by_sync.tables["public.orders"]["error"])
    assert (covered.code, covered.tables["public.orders"]["error"]) == (said.code, entry["error"])
    assert not covered.tables["public.orders"]["agrees"]
    assert entry["error"] in call("coverage").out
    assert synced.world.lake.tables[ORDERS].version == version
