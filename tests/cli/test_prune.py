"""`prune` removes what `retention` lets go, `plan` says before what would go, and `status` what went."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from incremental_assets.core.model.retention import OldFiles, StoredFile
from tests.cli.conftest import Call, Outside
from tests.scenario import ORDERS

AT = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture
def kept(synced: Outside, config: Path) -> Outside:
    """The orders keep files of old versions for a week, and two are older."""
    config.write_text(config.read_text() + "        retention: {files: 7d}\n")
    files = (StoredFile("a.parquet", 1000, AT), StoredFile("b.parquet", 24, AT))
    synced.world.lake.old[ORDERS] = (OldFiles("/lake/orders", AT, 1, None, files),)
    return synced


def test_what_is_old_is_removed_and_counted(call: Call, kept: Outside) -> None:
    said = call("prune", "--json")
    assert said.code == 0
    assert said.document == {
        "tables": [
            {
                "source": "shop",
                "table": "public.orders",
                "files": 2,
                "bytes": 1024,
                "versions": 0,
                "quarantined": 0,
                "left": [],
                "error": None,
            }
        ],
        "files": 2,
        "bytes": 1024,
        "versions": 0,
        "quarantined": 0,
    }
    assert kept.world.lake.removed == ["a.parquet", "b.parquet"]
    assert "2 files removed, 1.0 KiB" in call("prune").out


def test_a_plan_says_what_would_go_and_removes_nothing(call: Call, kept: Outside) -> None:
    said = call("plan", "--json")
    assert said.tables["public.orders"]["prunes"] == {"files": 2, "bytes": 1024}
    assert said.tables["public.countries"]["prunes"] is None
    assert "the next pruning removes 2 files of old versions (1.0 KiB)" in " ".join(call("plan").out.split())
    assert kept.world.lake.removed == []


def test_status_says_when_a_table_was_pruned_and_of_what(call: Call, kept: Outside) -> None:
    assert call("status", "--json").tables["public.orders"]["pruned"] is None
    call("prune")
    pruned = call("status", "--json").tables["public.orders"]["pruned"]
    assert (pruned["files"], pruned["bytes"], pruned["left"]) == (2, 1024, [])
    assert "2 files of old versions removed (1.0 KiB)" in " ".join(call("status").out.split())


def test_a_table_that_is_paused_is_left_and_the_command_says_busy(call: Call, kept: Outside) -> None:
    call("pause", "shop.public.orders", "--reason", "it is moved")
    said = call("prune")
    assert said.code == 4
    assert "paused" in said.out
    assert kept.world.lake.removed == []


def test_the_ledger_is_pruned_with_all_tables_and_not_with_some(call: Call, synced: Outside, config: Path) -> None:
    config.write_text("retention: {ledger: 400d}\n" + config.read_text())
    said = call("prune", "--json")
    assert (said.document["events_removed"], said.document["events_counted"]) == (0, 0)
    assert "ledger: 0 events removed" in call("prune").out
    assert "events_removed" not in call("prune", "--select", "public.orders", "--json").document


def test_without_a_retention_there_is_nothing_to_do(call: Call, synced: Outside) -> None:
    said = call("prune")
    assert said.code == 0
    assert "no table has a `retention`: nothing was removed" in said.out


def test_what_old_runs_have_printed_goes_with_it_and_other_tables_are_not_asked(
    call: Call, synced: Outside, config: Path
) -> None:
    config.write_text(f"retention: {{logs: 30d}}\n{config.read_text()}")
    said = call("prune", "--json").document
    assert (said["run_logs_removed"], said["tracebacks_removed"]) == (0, 2)
    assert "logs: of 0 runs what was printed is removed, and 2 tracebacks" in call("prune").out
    assert "run_logs_removed" not in call("prune", "--select", "public.orders", "--json").document
