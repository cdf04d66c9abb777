"""`audit`: who did what beside syncs, and why; and that looking on is no deed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Call, Outside, Said


def told(said: Said) -> list[tuple[str, str | None, str | None, str | None]]:
    return [(each["act"], each["table"], each["reason"], each["came_to"]) for each in said.document["audit"]]


def test_each_deed_is_a_row_for_each_table_with_its_reason_and_what_it_came_to(call: Call, synced: Outside) -> None:
    run = call("status", "--json").tables["public.orders"]["last_run"]
    assert call("pause", "shop", "--reason", "it is\n moved").code == 0
    assert call("resume", "shop").code == 0
    assert call("reset", "--select", "public.orders", "--yes", "--reason", "ticket 812").code == 0
    assert call("rollback", "--select", "public.orders", "--to-run", "none", "--yes").code == 1
    assert call("sync", "--select", "public.countries", "--full-refresh", "--reason", "odd rows").code == 0

    said = call("audit", "--json")

    assert run
    assert told(said) == [
        ("full refresh", "public.countries", "odd rows", "landed"),
        ("rollback", "public.orders", None, None),
        ("reset", "public.orders", "ticket 812", "reset"),
        ("resume", None, None, None),
        ("pause", None, "it is moved", None),
    ]
    assert all("@" in each["by"] for each in said.document["audit"])
    assert len(told(call("audit", "--select", "public.countries", "--json"))) == 1
    assert len(told(call("audit", "--select", "shop.public.orders", "--json"))) == 4
    assert len(told(call("audit", "--limit", "2", "--json"))) == 2
    assert "ticket 812" in call("audit").out


def test_what_only_looks_or_was_not_confirmed_is_no_deed(call: Call, synced: Outside) -> None:
    for command in (("status",), ("plan",), ("sync",), ("reset", "--select", "public.orders")):
        call(*command)

    assert told(call("audit", "--json")) == []


def test_a_reason_for_a_plain_sync_is_kept_by_nobody_and_so_refused(call: Call, synced: Outside) -> None:
    said = call("sync", "--reason", "because")
    assert (said.code, "`--reason` is kept of what `--full-refresh` replaces" in said.err) == (2, True)


def test_a_row_that_somebody_has_edited_is_named_and_the_command_fails(
    call: Call, synced: Outside, config: Path
) -> None:
    assert call("pause", "shop", "--reason", "it is moved").code == 0
    assert call("resume", "shop").code == 0
    assert call("audit", "--json").document["chain"]["altered"] == []

    with closing(sqlite3.connect(config.parent / "checkpoints.db")) as database, database:
        database.execute("UPDATE deeds SET reason = 'nothing' WHERE act = 'pause'")

    said = call("audit")
    assert said.code == 1
    assert "pause of shop, is not as it was written, or one before it is gone" in " ".join(said.out.split())
    (altered,) = call("audit", "--json").document["chain"]["altered"]
    assert (altered["act"], altered["reason"]) == ("pause", "nothing")


@pytest.mark.parametrize(
    "edit", ["act = 'nothing'", "at = 'yesterday'", "at = 7", "reason = x'00ff'", "table_name = 7, schema_name = 8"]
)
def test_a_row_in_which_somebody_has_written_what_no_row_has_is_named_too(
    call: Call, synced: Outside, config: Path, edit: str
) -> None:
    assert call("pause", "shop", "--reason", "it is moved").code == 0
    with closing(sqlite3.connect(config.parent / "checkpoints.db")) as database, database:
        database.execute(f"UPDATE deeds SET {edit}")
    said = call("audit")
    assert (said.code, said.err) == (1, "")
    assert "is not as it was written" in " ".join(said.out.split())
    assert len(call("audit", "--json").document["chain"]["altered"]) == 1
