"""`backfill`: windows are read again, once, and go on where they stopped."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Call, Outside
from tests.scenario import ORDERS


@pytest.mark.parametrize(
    "arguments",
    [
        ("reset", "--yes"),
        ("reset", "--select", "public.orders", "--to", "yesterday", "--yes"),
        ("reset", "--select", "public.countries", "--to", "3", "--yes"),
        ("backfill", "--select", "public.countries", "--from", "3"),
        ("backfill", "--select", "public.*", "--from", "2024-01-01"),
        ("backfill", "--select", "public.orders", "--from", "2024-02-01", "--to", "2024-01-01"),
        ("backfill", "--select", "public.orders", "--from", "1999-01-01", "--to", "1999-02-01"),
        ("backfill", "--select", "public.orders", "--from", "2024-01-01", "--pause", "5"),
    ],
)
def test_what_does_not_fit_the_table_is_2(call: Call, synced: Outside, arguments: tuple[str, ...]) -> None:
    said = call(*arguments, "--json")

    assert (said.code, "error" in said.document) == (2, True)


def test_a_backfill_reads_windows_again_and_leaves_the_watermark(call: Call, synced: Outside) -> None:
    before = call("status", "--json").tables["public.orders"]["watermark"]

    said = call(
        "backfill",
        "--select",
        "public.orders",
        "--from",
        "2023-11-15",
        "--to",
        "2024-02-01",
        "--windows-per-run",
        "2",
        "--json",
    )

    windows = [(entry["window"]["lower"][:10], entry["window"]["upper"][:10]) for entry in said.document["tables"]]
    assert said.code == 0
    assert windows == [("2023-11-01", "2024-01-01"), ("2024-01-01", "2024-02-01")]
    assert [entry["mode"] for entry in said.document["tables"]] == ["backfill", "backfill"]
    assert sum(entry["rows"]["read"] for entry in said.document["tables"]) == len(synced.world.database.rows(ORDERS))
    assert call("status", "--json").tables["public.orders"]["watermark"] == before


def test_a_backfill_goes_on_where_it_stopped(call: Call, synced: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "backfill",
        "--select",
        "public.orders",
        "--from",
        "2023-11-01",
        "--to",
        "2024-02-01",
        "--windows-per-run",
        "1",
        "--pause",
        "1s",
        "--json",
    )

    def interrupted(_: timedelta) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("incremental_assets.cli.commands.backfill.rest", interrupted)
    stopped = call(*words)
    monkeypatch.setattr("incremental_assets.cli.commands.backfill.rest", lambda _: None)
    rest, nothing, again = call(*words), call(*words), call(*words, "--again")

    assert stopped.code == 130
    assert [len(each.document["tables"]) for each in (rest, nothing, again)] == [2, 1, 3]
    (entry,) = nothing.document["tables"]
    assert (nothing.code, entry["status"]) == (0, "idle")
    assert "nothing left to read, 3 partitions had landed in an earlier call" in entry["reason"]


def test_a_backfill_whose_rows_a_reset_took_back_is_read_again(call: Call, synced: Outside) -> None:
    words = ("backfill", "--select", "public.orders", "--from", "2024-01-01", "--to", "2024-02-01", "--json")
    first, again = call(*words), call(*words)
    assert call("reset", "--select", "public.orders", "--to", "2024-01-01T00:00:00Z", "--yes").code == 0
    after_reset = call(*words)

    assert [said.document["tables"][0]["status"] for said in (first, again, after_reset)] == [
        "landed",
        "idle",
        "landed",
    ]


def test_what_was_read_by_days_says_nothing_of_months_that_are_called_like_them(
    call: Call, synced: Outside, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: timedelta) -> None:
        raise KeyboardInterrupt

    words = ("backfill", "--select", "public.orders", "--from", "2023-11-01", "--to", "2024-02-01", "--json")
    monkeypatch.setattr("incremental_assets.cli.commands.backfill.rest", interrupted)
    months = config.read_text()
    config.write_text(months.replace("every: month", "every: day"))
    # From the first of November to the first of December.
    assert call(*words, "--windows-per-run", "31", "--pause", "1s").code == 130
    config.write_text(months)
    read = call(*words)

    windows = [(entry["window"]["lower"][:10], entry["window"]["upper"][:10]) for entry in read.document["tables"]]
    assert windows == [("2023-11-01", "2024-02-01")]
