"""`diff`: which rows it shows, by what exit status it ends, and what it hides."""

from __future__ import annotations

import csv
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import CONFIG, Call, Outside
from tests.fakes.lake import FakeLake
from tests.scenario import ORDERS, monday, order


@pytest.fixture
def synced(call: Call, outside: Outside) -> Outside:
    """After Monday's sync, settled."""
    monday(outside.world.database).abort()
    outside.world.pass_time(10)
    assert call("sync").code == 0
    return outside


@pytest.fixture
def drifted(synced: Outside) -> Outside:
    """A status has changed under an old stamp, and an old row has come late."""
    synced.world.database.update(ORDERS, {"id": 2}, status="changed behind the cursor's back")
    order(synced.world.database, "late", "2024-01-29T08:00:00Z")
    return synced


def test_equal_sides_are_said_to_be_equal(call: Call, synced: Outside) -> None:
    said = call("diff", "--select", "public.orders")
    assert said.code == 0
    assert "of the source below 2024-01-29T09:" in said.out
    assert "compared, and none differs" in said.out


def test_the_values_of_either_side_are_shown_by_column(call: Call, drifted: Outside) -> None:
    said = call("diff", "--select", "public.orders", "--json")
    entry = said.tables["public.orders"]
    changed, late = entry["rows"]
    assert said.code == 1
    assert (changed["key"], changed["row"]) == ({"id": "2"}, "different")
    assert [(each["name"], each["source"]) for each in changed["columns"]] == [
        ("status", "changed behind the cursor's back")
    ]
    assert changed["columns"][0]["copy"] not in (None, "changed behind the cursor's back")
    assert late["row"] == "only in the source"
    assert {each["name"]: each["copy"] for each in late["columns"]} == dict.fromkeys(
        ("id", "customer", "status", "updated_at")
    )
    assert (entry["is_all"], entry["error"]) == (True, None)


def test_for_eyes_there_is_a_line_per_value_and_one_per_row_that_a_side_lacks(call: Call, drifted: Outside) -> None:
    said = call("diff", "--select", "public.orders")
    lines = said.out.splitlines()
    assert lines[0] == "shop.public.orders"
    assert lines[1].split() == ["key", "row", "column", "source", "copy"]
    assert lines[2].startswith("2    different           status  changed behind the cursor's back")
    assert "only in the source" in lines[3]
    assert "customer=late" in lines[3]
    assert "compared, and 2 rows differ" in lines[4]


def test_more_than_the_limit_is_said_and_fails(call: Call, drifted: Outside) -> None:
    said = call("diff", "--select", "public.orders", "--limit", "1")
    assert said.code == 1
    assert "the first 1 row of those that differ is shown, and --limit shows more" in said.out


def test_what_has_changed_since_is_no_failure(call: Call, synced: Outside) -> None:
    synced.world.pass_time(60)
    synced.world.database.update(ORDERS, {"id": 2}, status="paid", updated_at="2024-01-29T11:00:00Z")
    said = call("diff", "--select", "public.orders")
    assert said.code == 0
    assert "changed since" in said.out
    assert "1 row has changed in the source since, which the next sync brings" in said.out


def test_rows_in_quarantine_are_said_not_to_be_compared(
    call: Call, synced: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = synced.world.database
    order(database, "bob", database.stamp(), status="unfit")
    call("sync")
    assert call("diff", "--json", "--select", "public.orders").tables["public.orders"]["quarantined"] == 1
    assert "none differs; 1 row in quarantine is not compared" in call("diff", "--select", "public.orders").out
    monkeypatch.setattr(FakeLake, "unfit", lambda *_: None)
    assert call("diff", "--json", "--select", "public.orders").tables["public.orders"]["quarantined"] is None
    assert "rows in quarantine could not be counted" in call("diff", "--select", "public.orders").out


def test_a_file_has_a_line_per_value_and_one_owner(call: Call, drifted: Outside, tmp_path: Path) -> None:
    file = tmp_path / "differences.csv"
    file.write_text("what was there before, and longer than what comes\n" * 100)
    file.chmod(0o644)
    said = call("diff", "--select", "public.orders", "--csv", str(file))
    with file.open(newline="") as lines:
        header, first, *rest = csv.reader(lines)
    assert header == ["table", "key", "row", "column", "source", "copy"]
    assert first[:5] == ["shop.public.orders", "2", "different", "status", "changed behind the cursor's back"]
    assert [row[3] for row in rest] == ["id", "customer", "status", "updated_at"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"5 values written to {file}" in said.out


def test_a_file_that_cannot_be_written_is_named(call: Call, drifted: Outside, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "elsewhere.csv")
    said = call("diff", "--csv", str(link))
    assert said.code == 2
    assert f"--csv {link}: cannot be written" in said.err
    assert not (tmp_path / "elsewhere.csv").exists()


def test_values_of_columns_that_are_pii_are_never_shown(call: Call, drifted: Outside, config: Path) -> None:
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        pii: [status, customer]"))
    said = call("diff", "--select", "public.orders", "--json")
    changed, late = said.tables["public.orders"]["rows"]
    assert changed["columns"] == [{"name": "status", "source": "(pii) of the source", "copy": "(pii) of the copy"}]
    assert [each["source"] for each in late["columns"] if each["name"] in ("status", "customer")] == ["(pii)", "(pii)"]
    assert "behind the cursor" not in said.out


def test_a_table_of_which_nothing_has_landed_says_so_and_the_others_go_on(call: Call, outside: Outside) -> None:
    monday(outside.world.database).abort()
    outside.world.pass_time(10)
    assert call("sync", "--select", "public.countries").code == 0
    said = call("diff", "--json")
    assert said.code == 2
    assert (
        "nothing has landed yet that could be compared; run `incremental-assets sync"
        in said.tables["public.orders"]["error"]
    )
    assert said.tables["public.countries"]["error"] is None
