"""`check`: what it prints, what Dagster's UI shows of it, and what `status` remembers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import CONFIG, Call, Once, Outside
from tests.fakes import SimulatedDatabase, World
from tests.fakes.delta_table import LogEntry
from tests.scenario import COUNTRIES, MONDAY, ORDERS, ORDERS_SHAPE, monday


@pytest.fixture
def synced(call: Call, outside: Outside, once: Once) -> Outside:
    """After Monday's sync, with one row of countries."""

    def begin() -> None:
        monday(outside.world.database)
        outside.world.database.insert(COUNTRIES, code="ch", name="Switzerland")
        assert call("sync").code == 0

    return once(begin)


def emptied(outside: Outside) -> None:
    """Another writer empties the copy of `orders`."""
    outside.world.lake.tables[ORDERS].log.append(LogEntry((), "WRITE", ours=False))


def in_dagster() -> dict[tuple[str, str], tuple[bool, str]]:
    """The last evaluation of each check as the UI shows it."""
    from dagster import AssetCheckKey, AssetKey, DagsterInstance

    with DagsterInstance.get() as instance:
        found = {}
        for name in ("countries", "orders"):
            for check in ("freshness", "duplicates", "reconciliation", "schema"):
                key = AssetCheckKey(AssetKey(["shop", "public", name]), check)
                record = instance.get_latest_asset_check_evaluation_record(key)
                told = record and record.event and record.event.dagster_event
                if told:
                    evaluation = told.asset_check_evaluation_data
                    found[f"public.{name}", check] = evaluation.passed, evaluation.description or ""
        return found


def test_dagster_shows_every_verdict_as_the_terminal_says_it(call: Call, synced: Outside) -> None:
    for broken in (False, True):
        if broken:
            emptied(synced)
        said = call("check", "--json")
        expected = {
            (entry["table"], entry["check"]): (entry["passed"], entry["detail"]) for entry in said.document["checks"]
        }
        assert said.code == int(broken)
        assert in_dagster() == expected


def test_a_check_goes_on_where_dagster_cannot_keep_its_results(call: Call, synced: Outside, tmp_path: Path) -> None:
    settings = tmp_path / "dagster" / "dagster.yaml"
    settings.unlink()
    settings.write_text("storage: {postgres: {postgres_url: 'postgresql://u:geheim@h/d', nonsense: 1}}")

    said = call("check", "--json")

    assert said.code == 0
    assert all(entry["passed"] for entry in said.document["checks"])
    assert said.err.count("Dagster's UI will not show these results") == 1
    assert "geheim" not in said.err


def test_what_failed_comes_first_and_the_sum_last(call: Call, synced: Outside) -> None:
    emptied(synced)

    lines = call("check").out.splitlines()

    assert lines[1].split()[:3] == ["shop.public.orders", "reconciliation", "failed"]
    assert [line for line in lines[1:-1] if " failed " in line] == [lines[1]]
    assert lines[-1] == "6 of 7 checks passed, 1 failed (2 tables)"


def test_rows_of_a_table_without_a_key_are_named_as_what_they_are_by_hash(
    call: Call, outside: Outside, config: Path
) -> None:
    outside.world = World(SimulatedDatabase(replace(ORDERS_SHAPE, primary_key=()), clock=MONDAY))
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: append"))
    monday(outside.world.database)
    assert call("sync").code == 0
    emptied(outside)

    out = call("check").out

    assert "shop.public.orders reconciliation: rows whose hash is " in out
    assert "keys such as" not in out


def test_a_table_that_cannot_be_checked_is_named_once_in_its_line(call: Call, synced: Outside, config: Path) -> None:
    config.write_text(CONFIG.replace("updated_at", "updatd_at"))
    (line, *_) = (each for each in call("check").out.splitlines() if each.startswith("shop.public.orders "))
    assert line.count("shop.public.orders") == 1
    assert "the cursor column 'updatd_at' does not exist" in line


def test_failed_alone_leaves_out_what_passed(call: Call, synced: Outside) -> None:
    assert call("check", "--failed").out.splitlines() == ["7 of 7 checks passed (2 tables)"]
    emptied(synced)

    shown, document = call("check", "--failed").out, call("check", "--failed", "--json").document

    assert " passed  " not in shown
    assert [(entry["table"], entry["check"]) for entry in document["checks"]] == [("public.orders", "reconciliation")]


def test_a_backfill_of_the_drifted_window_takes_its_drift_out_of_status(call: Call, synced: Outside) -> None:
    copy = synced.world.lake.tables[ORDERS]
    copy.log[-1] = replace(copy.log[-1], rows=())
    assert call("check").code == 1
    before = call("status", "--json").tables["public.orders"]
    assert before["drift"] > 0

    assert call("backfill", "--select", "public.orders", "--from", "2023-10-01").code == 0

    after = call("status", "--json").tables["public.orders"]
    assert after["drift"] == 0
    assert after["verified_through"] == before["verified_through"], "nothing was compared"
    assert call("check").code == 0
    assert call("status", "--json").tables["public.orders"]["drift"] == 0


def test_of_a_table_of_which_nothing_landed_nothing_was_checked_and_strict_makes_that_an_error(
    call: Call, outside: Outside
) -> None:
    said, strict = call("check", "--json", "--select", "public.countries"), call("check", "--strict")

    assert said.code == 0
    begins = "nothing has landed yet; `incremental-assets sync --select shop.public.countries` begins"
    assert [(each["check"], each["checked"], each["passed"], each["detail"]) for each in said.document["checks"]] == [
        (check, False, False, begins) for check in ("duplicates", "reconciliation", "schema")
    ]
    assert strict.code == 1
    assert "not checked" in strict.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("", "the source shows this user none that `exclude` leaves; check `database`"),
        ("    unlisted: ignore\n", "`unlisted: ignore` leaves out all others; list one"),
    ],
)
def test_a_source_that_shows_no_table_is_no_source_in_which_all_is_well(
    call: Call, outside: Outside, config: Path, entry: str, why: str
) -> None:
    outside.world.database.tables.clear()
    config.write_text(CONFIG.partition("    tables:")[0] + entry)
    for command in ("check", "sync", "plan"):
        said, document = call(command), call(command, "--json")
        assert (said.code, document.code) == (1, 1), command
        assert f"shop: there is nothing to sync, as the file lists no table and {why}" in said.out + said.err
        assert [each["source"] for each in document.document["problems"]] == ["shop"]
    assert "shop: there is nothing to sync" in call("status").out


def test_a_copy_of_which_a_lost_checkpoint_table_knows_nothing_is_not_said_to_be_none(
    call: Call, synced: Outside, tmp_path: Path
) -> None:
    for file in tmp_path.glob("checkpoints.db*"):
        file.unlink()
    said = call("check", "--select", "public.countries", "--json", "--strict")
    assert said.code == 1
    (detail,) = {entry["detail"] for entry in said.document["checks"]}
    assert detail.startswith("the checkpoint table knows nothing of the table that is in the lake")
    assert call("sync").code == 0
    assert call("check", "--select", "public.countries", "--strict").code == 0
