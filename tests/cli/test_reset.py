"""`reset`, and what stops it: a table is read again from an earlier place, and nothing is lost by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.errors import SourceUnreachable
from tests.cli.conftest import Call, Outside


def test_a_reset_that_was_not_meant_changes_nothing_and_says_what_would_happen(call: Call, synced: Outside) -> None:
    before = call("status", "--json").tables["public.orders"]["watermark"]

    said = call("reset", "--select", "public.orders", "--json")

    assert said.code == 3
    assert "shop.public.orders" in said.err
    assert "--yes" in said.err
    assert call("status", "--json").tables["public.orders"]["watermark"] == before


def test_a_reset_rewinds_and_the_next_sync_reads_again(call: Call, synced: Outside) -> None:
    said = call("reset", "--select", "public.orders", "--to", "2024-01-29", "--yes", "--json")
    again = call("sync", "--json").tables["public.orders"]

    assert said.code == 0
    assert said.tables["public.orders"]["new_watermark"] == "2024-01-29T00:00:00Z"
    assert again["rows"]["unchanged"] == again["rows"]["read"] > 0


def test_a_cluster_that_was_upgraded_is_accepted_and_the_sync_goes_on_from_its_watermark(
    call: Call, synced: Outside
) -> None:
    before = call("status", "--json").tables["public.orders"]["watermark"]
    synced.world.database.exchange()
    assert "--accept-source" in call("sync", "--json").tables["public.orders"]["error"]

    asked = call("reset", "--select", "public.orders", "--accept-source")
    assert asked.code == 3
    assert "in place of system 7001" in asked.err
    assert "incremental-assets check" in asked.err
    both = call("reset", "--select", "public.orders", "--accept-source", "--to", "2024-01-29", "--yes")
    assert both.code == 2
    said = call("reset", "--select", "public.orders", "--accept-source", "--yes", "--json")
    assert said.code == 0
    assert said.tables["public.orders"]["status"] == "accepted"
    again = call("sync", "--json", "--select", "public.orders").tables["public.orders"]
    assert again["error"] is None
    assert again["previous_watermark"] == before


def test_a_table_of_the_lake_is_taken_over_and_its_watermark_stays(call: Call, synced: Outside) -> None:
    before = call("status", "--json").tables["public.orders"]["watermark"]
    asked = call("reset", "--select", "public.orders", "--take-over")
    assert asked.code == 3
    assert "any other one would be refused" in asked.err
    for other in (("--to", "2024-01-29"), ("--accept-source",)):
        assert call("reset", "--select", "public.orders", "--take-over", *other, "--yes").code == 2
    said = call("reset", "--select", "public.orders", "--take-over", "--yes", "--json")
    assert (said.code, said.tables["public.orders"]["status"]) == (0, "taken_over")
    assert said.tables["public.orders"]["owner_before"] is None
    assert call("status", "--json").tables["public.orders"]["watermark"] == before


def test_a_reset_past_what_was_read_says_that_rows_would_never_be_read(call: Call, synced: Outside) -> None:
    past = call("reset", "--select", "public.orders", "--to", "2034-01-01")
    call("reset", "--select", "public.orders", "--yes")
    unread = call("reset", "--select", "public.orders", "--to", "2024-01-29")
    assert (past.code, unread.code) == (3, 3)
    assert "2034-01-01T00:00:00Z: rows between the two would never be read" in past.err
    assert "from nothing to 2024-01-29T00:00:00Z: rows between the two would never be read" in unread.err


@pytest.mark.parametrize(
    "how", [(), ("--accept-source",), ("--take-over",)], ids=["reset", "accept-source", "take-over"]
)
def test_a_reset_names_a_schema_that_is_not_there_and_a_source_that_never_answered(
    call: Call, synced: Outside, config: Path, how: tuple[str, ...]
) -> None:
    written = config.read_text()
    config.write_text(written.replace("    tables:", "    schemas: [public, publc]\n    tables:"))
    said = call("reset", "--select", "public.orders", *how, "--yes", "--json")
    assert (said.code, said.tables["public.orders"]["error"]) == (1, None)
    (problem,) = said.document["problems"]
    assert "no schema 'publc'" in problem["sentence"]
    other = "  archive:\n    dialect: postgresql\n    host: elsewhere\n    database: a\n    user: u\n    password: {env: SHOP_PASSWORD}\n"
    config.write_text(written + other)
    synced.broken = SourceUnreachable("archive: elsewhere:5432 does not answer")
    said = call("reset", "--select", "public.orders", *how, "--yes", "--json")
    assert (said.code, said.tables["public.orders"]["error"]) == (1, None)
    assert said.document["problems"] == [{"source": "archive", "sentence": str(synced.broken)}]


@pytest.mark.parametrize(
    "how", [(), ("--accept-source",), ("--take-over",)], ids=["reset", "accept-source", "take-over"]
)
def test_a_reset_that_was_not_confirmed_names_what_is_wrong_with_other_tables_and_sources(
    call: Call, synced: Outside, config: Path, how: tuple[str, ...]
) -> None:
    config.write_text(
        config.read_text().replace(
            "    tables:", "    schemas: [public, publc]\n    tables:\n      - 'public.gone:id:integer!append'"
        )
    )
    said = call("reset", "--select", "*", *how)
    lines = said.err.splitlines()
    assert said.code == 3
    assert ["shop.public.gone: " in line for line in lines].count(True) == 1
    assert ["no schema 'publc'" in line for line in lines].count(True) == 1
    assert "nothing was changed; add --yes to confirm" in lines[-1]


@pytest.mark.parametrize(
    "how", [(), ("--accept-source",), ("--take-over",)], ids=["reset", "accept-source", "take-over"]
)
def test_where_no_table_can_be_reset_there_is_nothing_to_confirm(
    call: Call, synced: Outside, config: Path, how: tuple[str, ...]
) -> None:
    config.write_text(config.read_text().replace("    tables:", "    tables:\n      - 'public.gone:id:integer!append'"))
    said = call("reset", "--select", "public.gone", *how)
    assert said.code == 1
    assert "shop.public.gone: " in said.out
    assert "--yes" not in said.out + said.err


def test_sync_reset_watermarks_is_the_same_command(call: Call, synced: Outside) -> None:
    assert call("sync", "--reset-watermarks", "--select", "public.orders").code == 3
    assert (
        call("sync", "--reset-watermarks", "--select", "public.orders", "--yes", "--json").tables["public.orders"][
            "status"
        ]
        == "reset"
    )


@pytest.mark.parametrize("flag", ["--full-refresh", "--allow-shrink"])
def test_a_reset_by_sync_reads_nothing_and_says_so_where_a_reading_was_asked_for(
    call: Call, synced: Outside, flag: str
) -> None:
    said = call("sync", "--reset-watermarks", flag, "--select", "public.orders", "--yes")
    assert (said.code, said.err) == (
        2,
        f"`--reset-watermarks` reads nothing, so that `{flag}` has no effect beside it; leave one of the two out\n",
    )
    assert call("status", "--json").tables["public.orders"]["watermark"] is not None
