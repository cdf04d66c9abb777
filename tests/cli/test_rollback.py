"""`rollback`: asked first, then done; each refusal is one sentence with its exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call, Outside
from tests.fakes.rows import ordered
from tests.scenario import ORDERS, monday, order


@pytest.fixture
def twice(call: Call, outside: Outside) -> tuple[Outside, str]:
    """Two syncs of Monday; the run of the first."""
    monday(outside.world.database).abort()
    outside.world.pass_time(10)
    first = call("sync", "--select", "public.orders", "--json")
    order(outside.world.database, "grace", outside.world.database.stamp())
    outside.world.pass_time(3600)
    assert call("sync").code == 0
    return outside, first.document["run_id"]


def test_without_consent_it_says_what_would_happen(call: Call, twice: tuple[Outside, str]) -> None:
    outside, run_id = twice
    rows = outside.world.rows(ORDERS)
    said = call("rollback", "--select", "public.orders", "--to-run", run_id)
    assert said.code == 3
    assert "the copy would go from version 2 to its version 1, and the watermark from 2024-01-29T" in said.err
    assert "nothing was changed; add --yes to confirm" in said.err
    assert outside.world.rows(ORDERS) == rows


def test_the_copy_goes_back_and_the_next_sync_comes_again(call: Call, twice: tuple[Outside, str]) -> None:
    outside, run_id = twice
    rows = ordered(outside.world.rows(ORDERS))
    said = call("rollback", "--select", "public.orders", "--to-run", run_id, "--yes", "--json")
    entry = said.tables["public.orders"]
    assert (said.code, entry["mode"], entry["status"], entry["target_version"]) == (0, "rollback", "landed", 3)
    assert entry["reason"] == f"rolled back to run {run_id}"
    assert len(outside.world.rows(ORDERS)) == len(rows) - 1
    assert call("sync", "--select", "public.orders").code == 0
    assert ordered(outside.world.rows(ORDERS)) == rows


def test_a_run_that_nobody_knows_is_named(call: Call, twice: tuple[Outside, str]) -> None:
    said = call("rollback", "--select", "public.orders", "--to-run", "nobody", "--yes", "--json")
    assert said.code == 1
    assert "no sync of this table by a run 'nobody' has landed" in said.tables["public.orders"]["error"]


def test_without_consent_what_would_be_refused_is_refused_and_nothing_is_left_to_confirm(
    call: Call, twice: tuple[Outside, str]
) -> None:
    _, run_id = twice
    said = call("rollback", "--select", "public.orders", "--to-run", "nobody")
    assert said.code == 2
    assert (
        "no sync of this table by a run 'nobody' has landed; `incremental-assets rollback --select shop.public.orders` lists those that have"
        in said.err
    )
    assert "--yes" not in said.err
    whole = call("rollback", "--select", "public.countries", "--to-run", run_id)
    assert (whole.code, "is not rolled back" in whole.err, "--yes" in whole.err) == (2, True, False)


def test_without_consent_a_table_that_would_be_refused_is_named_beside_the_others(
    call: Call, twice: tuple[Outside, str]
) -> None:
    said = call("rollback", "--select", "*", "--to-run", twice[1])
    assert said.code == 3
    assert "the copy would go from version 2 to its version 1" in said.err
    assert "public.countries: this table is read whole, and its next sync" in said.err
    assert "add --yes to confirm" in said.err


def test_without_consent_what_is_wrong_with_other_tables_is_named_and_where_all_are_wrong_nothing_is_left_to_confirm(
    call: Call, twice: tuple[Outside, str], config: Path
) -> None:
    config.write_text(config.read_text().replace("    tables:", "    tables:\n      - 'public.gone:id:integer!append'"))
    said = call("rollback", "--select", "public.*", "--to-run", twice[1])
    assert (said.code, said.err.count("shop.public.gone: ")) == (3, 1)
    assert "add --yes to confirm" in said.err
    alone = call("rollback", "--select", "public.gone", "--to-run", twice[1])
    assert (alone.code, "shop.public.gone: " in alone.out, "--yes" in alone.out + alone.err) == (1, True, False)


def test_a_table_that_is_read_whole_is_refused(call: Call, twice: tuple[Outside, str]) -> None:
    _, run_id = twice
    said = call("rollback", "--select", "public.countries", "--to-run", run_id, "--yes", "--json")
    assert "is not rolled back" in said.tables["public.countries"]["error"]


def test_without_a_run_the_last_ones_are_listed_with_what_they_landed(call: Call, twice: tuple[Outside, str]) -> None:
    _, first = twice
    said = call("rollback", "--select", "public.orders")
    lines = said.out.splitlines()
    assert said.code == 0
    assert lines[0].split()[:4] == ["table", "run", "ended", "mode"]
    assert len([line for line in lines if line.startswith("shop.public.orders")]) == 2
    assert first in lines[2], "the last run is above the first"
    assert lines[-1] == "go back to one: `incremental-assets rollback --select TABLE --to-run RUN --yes`"
    runs = call("rollback", "--select", "public.orders", "--json").document["runs"]
    assert [each["run_id"] for each in runs][1] == first
    assert runs[0]["rows"]["inserted"] == 1


def test_consent_without_a_run_asks_for_one_and_says_where_they_are(call: Call, twice: tuple[Outside, str]) -> None:
    said = call("rollback", "--select", "public.orders", "--yes")
    assert (said.code, said.err) == (
        2,
        "--to-run is missing: `incremental-assets rollback --select TABLE` lists the runs of a table\n",
    )
