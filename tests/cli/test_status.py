"""`status`, and `check` beside it: what is known of tables, and what is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.look import Look
from incremental_assets.core.planning.events import Event, EventKind
from tests.cli.conftest import CONFIG, Call, Outside
from tests.fakes import SimulatedDatabase, World
from tests.fakes.delta_table import LogEntry
from tests.fakes.source import FakeSource
from tests.scenario import MONDAY, ORDERS, ORDERS_SHAPE, monday, order

STATUS = {
    "source", "table", "strategy", "cursor", "watermark", "lag_seconds", "provisional_rows", "last_run", "last_status", "guarantee",
    "verified_through", "drift", "lease", "oldest_transaction", "error",
}  # fmt: skip
CHECK = {"source", "table", "check", "passed", "severity", "window", "measured", "threshold", "samples"}


def test_status_works_before_the_first_sync(call: Call) -> None:
    said = call("status", "--json")

    assert said.code == 0
    assert set(said.tables) == {"public.orders", "public.countries"}
    assert set(said.tables["public.orders"]) >= STATUS
    assert said.tables["public.orders"]["last_run"] is None
    assert said.tables["public.countries"]["lag_seconds"] is None, "0 would say that every row has landed"
    assert " 0s" not in call("status").out


def test_each_table_that_a_glob_stands_for_has_its_line_and_a_glob_without_one_is_told_with_its_place(
    call: Call, config: Path
) -> None:
    entries = "      - {match: 'publ*.ord*', cursor: {column: updated_at, type: timestamp}, strategy: upsert}\n      - {match: 'tenant_*.x'}\n"
    config.write_text(CONFIG.partition("      - table:")[0] + entries)
    said = call("status", "--json")
    assert {name: said.tables[name]["strategy"] for name in said.tables} == {
        "public.orders": "upsert",
        "public.countries": "full_refresh",
    }
    told = [each["sentence"] for each in said.document["problems"]]
    assert told == [
        f"shop: {config}:12: no table is like tenant_*.x, so nothing of it is synced; correct the glob, or check what the user may read"
    ]


def test_a_cursor_by_transactions_has_the_name_that_the_source_gives_it(
    call: Call, config: Path, outside: Outside
) -> None:
    config.write_text(
        CONFIG.replace("cursor: {column: updated_at, type: timestamp}", "cursor: {type: xmin}").replace(
            "        partitions: {every: month, from: 2023-10-01}\n", ""
        )
    )
    numbering = Column("xmin", "xid8", "bigint", Fidelity.EXACT, nullable=False)
    outside.world = World(SimulatedDatabase(replace(ORDERS_SHAPE, numbering=numbering), clock=MONDAY))

    assert call("status", "--offline", "--json").tables["public.orders"]["cursor"] is None
    assert call("status", "--json").tables["public.orders"]["cursor"] == "xmin"
    assert call("status", "--offline", "--json").tables["public.orders"]["cursor"] == "xmin", (
        "the catalogue is remembered"
    )


def test_status_offline_before_anything_makes_nothing(call: Call, config: Path, outside: Outside) -> None:
    outside.broken = AssertionError("asked")

    said = call("status", "--offline", "--json")

    assert said.code == 0
    assert set(said.tables) == {"public.orders"}
    assert not (config.parent / "checkpoints.db").exists()


def test_status_tells_watermark_run_and_who_holds_it_back(call: Call, synced: Outside) -> None:
    run = call("sync", "--json").document["run_id"]

    orders = call("status", "--json").tables["public.orders"]

    assert orders["watermark"].startswith("2024-01-29T09:")
    assert orders["last_status"] in ("landed", "idle")
    assert orders["guarantee"] == "settled"
    assert orders["oldest_transaction"]["holder"].startswith("transaction")
    assert run


def test_status_says_what_is_known_when_the_source_is_away(call: Call, synced: Outside) -> None:
    synced.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    said = call("status", "--json")
    shown = call("status").out

    assert said.code == 0
    assert said.tables["public.orders"]["watermark"] is not None
    assert said.tables["public.orders"]["error"] == "shop: localhost:5432 does not answer"
    assert "this is the last known state" in shown


def test_status_tells_how_far_the_last_check_has_verified_the_copy(call: Call, synced: Outside) -> None:
    assert call("status", "--json").tables["public.orders"]["verified_through"] is None
    call("check")
    assert ORDERS in synced.expected_full_reads, "Spark is told that it will read the whole table"

    orders = call("status", "--json").tables["public.orders"]
    assert (orders["verified_through"], orders["drift"]) == (orders["watermark"], 0)

    synced.world.lake.tables[ORDERS].log.append(LogEntry((), "WRITE", ours=False))
    assert call("check").code == 1
    orders = call("status", "--json").tables["public.orders"]
    assert orders["drift"] > 0
    assert "rows drifted" in call("status").out


def test_drift_has_a_line_of_its_own_that_no_width_leaves_out(call: Call, synced: Outside) -> None:
    synced.world.lake.tables[ORDERS].log.append(LogEntry((), "WRITE", ours=False))
    assert call("check").code == 1
    drift = call("status", "--json").tables["public.orders"]["drift"]

    assert (
        f"shop.public.orders: {drift} rows have drifted; `incremental-assets check --select shop.public.orders` names them"
        in call("status").out.splitlines()
    )


def test_a_first_load_that_was_killed_is_interrupted_in_status_and_lags_by_nothing_yet(
    call: Call, outside: Outside, config: Path
) -> None:
    assert "interrupted" not in call("status").out
    checkpoints = SqlCheckpoints(f"sqlite:///{config.parent}/checkpoints.db")
    with checkpoints.lease(ORDERS, "run-1") as lease:
        lease.record(Event(ORDERS, EventKind.INTENT, "run-1", 1, "batch", "app"))
        assert call("status", "--json").tables["public.orders"]["unfinished"] == "running"
    checkpoints.close()

    (row,) = (line for line in call("status").out.splitlines() if line.startswith("shop.public.orders "))
    assert "interrupted" in row
    assert "never" not in row
    assert call("status", "--json").tables["public.orders"]["unfinished"] == "interrupted"
    assert (
        "shop.public.orders: its run was killed; the next sync finds out in the lake whether that landed, and goes on from what has; "
        "a full refresh that did not land is to be asked for again"
    ) in call("status").out.splitlines()


def test_a_full_refresh_that_was_stopped_is_said_to_be_asked_for_again_and_the_next_sync_is_an_ordinary_one(
    call: Call, synced: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "full refresh did not land"
    assert told not in call("status").out
    with monkeypatch.context() as line:
        line.setattr(FakeSource, "snapshot", _lost)
        assert call("sync", "--select", str(ORDERS), "--full-refresh", "--yes").code == 1
    assert (
        "shop.public.orders: its full refresh did not land, so the copy is that of before, and the next sync goes on from it; "
        "`incremental-assets sync --select shop.public.orders --full-refresh --yes` reads everything again"
    ) in call("status").out.splitlines()
    assert call("sync", "--select", str(ORDERS), "--json").tables["public.orders"]["status"] == "idle"
    assert told not in call("status").out


def _lost(*_: object) -> object:
    raise SourceUnreachable(f"{ORDERS}: the connection was lost")


SLO = "        slo: {freshness: 95% within 5m, success: 99.9%}\n"
WITHIN = {ORDERS: timedelta(minutes=5)}


def test_the_budgets_of_objectives_are_shown_with_what_is_left_and_how_fast_they_burn(
    call: Call, outside: Outside, config: Path
) -> None:
    config.write_text(CONFIG + SLO)
    assert "budgets" not in call("status").out
    checkpoints = SqlCheckpoints(f"sqlite:///{config.parent}/checkpoints.db")
    for minutes in (120, 90, 0):  # in step at first, and behind ever since
        behind = frozenset() if minutes == 120 else frozenset({ORDERS})
        checkpoints.record_look("shop", Look(behind, minutes * 60.0, within=WITHIN))
    checkpoints.close()

    fresh, success = call("status", "--json").tables["public.orders"]["budgets"]
    said = call("status")

    assert (fresh["slo"], fresh["objective"], fresh["burns"]) == ("freshness", "95% within 5m", "page")
    assert fresh["kept"] == pytest.approx(5 / 120, abs=0.01)
    assert fresh["burn_rates"]["5m"] == pytest.approx(20)
    assert datetime.fromisoformat(fresh["recorded_since"]) < datetime.now(UTC) - timedelta(minutes=119)
    assert (success["objective"], success["budget_left"], success["burns"]) == ("99.9%", None, None)
    assert (
        "shop.public.orders: freshness 95% within 5m: its budget is used up, and burns up to 20 times as fast as it may"
        in said.out.splitlines()
    )
    (row,) = (line for line in said.out.splitlines() if line.startswith("shop.public.orders "))
    assert row.endswith("0% left")


def test_a_table_without_objectives_has_no_budgets(call: Call) -> None:
    assert call("status", "--json").tables["public.orders"]["budgets"] == []
    assert "budget" not in call("status").out


def test_a_table_that_has_not_been_synced_shows_no_lag(call: Call, outside: Outside) -> None:
    order(outside.world.database, "grace", outside.world.database.stamp())
    outside.world.pass_time(3600)
    (row,) = (line for line in call("status").out.splitlines() if line.startswith("shop.public.orders "))
    assert row.split() == ["shop.public.orders", "upsert", "never"]


def test_every_check_passes_after_a_sync(call: Call, synced: Outside) -> None:
    said = call("check", "--json")

    assert said.code == 0
    assert {entry["check"] for entry in said.document["checks"]} == {
        "freshness",
        "duplicates",
        "reconciliation",
        "schema",
    }
    assert all(set(entry) >= CHECK for entry in said.document["checks"])


def test_a_row_that_is_lost_in_the_lake_fails_the_check_by_its_key(call: Call, synced: Outside) -> None:
    database = synced.world.database
    for transaction in list(database.open):
        transaction.commit()
    database.tick(3600)
    call("sync")
    copy = synced.world.lake.tables[ORDERS]
    copy.log[-1] = replace(copy.log[-1], rows=copy.rows[:-1])

    said = call("check", "--json", "--select", "public.orders")

    failed = [entry for entry in said.document["checks"] if not entry["passed"]]
    assert said.code == 1
    assert [(entry["check"], entry["measured"]) for entry in failed] == [("reconciliation", 1)]
    assert len(failed[0]["samples"]) == 1


def test_the_lag_of_a_table_that_is_not_due_is_not_known(call: Call, synced: Outside) -> None:
    countries = call("status", "--json").tables["public.countries"]
    assert countries["lag_seconds"] is None
    assert countries["next_look"].startswith("2024-01-30T09:1")
    assert call("status", "--json").tables["public.orders"]["next_look"] is None


@pytest.mark.parametrize("alone", ["a reset", "a backfill"])
def test_what_no_sync_has_looked_at_lags_by_nothing_and_is_not_said_to_be_fresh(
    call: Call, outside: Outside, alone: str
) -> None:
    monday(outside.world.database).abort()
    if alone == "a reset":
        assert call("sync").code == 0
        assert call("reset", "--select", "*", "--yes").code == 0
    else:
        words = ("backfill", "--select", "public.orders", "--from", "2023-11-01", "--to", "2023-12-01")
        assert call(*words).code == 0
    order(outside.world.database, "alan", outside.world.database.stamp())
    outside.world.pass_time(86_400)
    said, status = call("check", "--json"), call("status", "--json").tables
    fresh = next(each for each in said.document["checks"] if each["check"] == "freshness")
    assert (fresh["checked"], fresh["passed"], call("check", "--strict").code) == (False, False, 1)
    assert "no sync has looked for what waits since a reset, or before a first one" in fresh["detail"]
    assert status["public.orders"]["lag_seconds"] != 0
    assert status["public.countries"]["lag_seconds"] is None


def test_a_row_that_cannot_land_is_told_until_it_has_landed(call: Call, synced: Outside) -> None:
    database = synced.world.database
    order(database, "bob", database.stamp(), status="unfit")
    call("sync")
    told = [call("status", "--json").tables["public.orders"]["unfit"]["rows"] for _ in range(2)]
    shown, checked = call("status").out, call("check", "--json", "--select", "public.orders")
    database.update(ORDERS, {"id": database.rows(ORDERS)[-1]["id"]}, status="new", updated_at=database.stamp())
    call("sync")

    assert told == [1, 1]
    assert "1 row of the source cannot land and is in quarantine" in shown
    (verdict,) = [each for each in checked.document["checks"] if each["check"] == "reconciliation"]
    assert verdict["quarantined"] == 1
    assert "1 row of the source cannot land and is in quarantine" in verdict["detail"]
    assert call("status", "--json").tables["public.orders"]["unfit"]["rows"] == 0


def test_what_waits_in_a_quarantine_that_nobody_can_read_is_not_nothing(
    call: Call, synced: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "could not be counted" not in call("status").out
    monkeypatch.setattr(synced.world.lake, "unfit", lambda _: None)
    assert call("status", "--json").tables["public.orders"]["unfit"] is None
    assert "rows in quarantine could not be counted of 2 tables" in call("status").out


def test_lag_is_the_age_of_what_waits(call: Call, synced: Outside) -> None:
    database = synced.world.database
    order(database, "alan", database.stamp())
    database.tick(120)

    assert call("status", "--json").tables["public.orders"]["lag_seconds"] >= 120


def test_status_and_check_name_a_copy_that_another_hand_has_restored_while_its_table_stands_still(
    call: Call, synced: Outside
) -> None:
    assert call("status", "--json").tables["public.orders"]["warnings"] == []
    synced.world.lake.foreign(ORDERS, "RESTORE", synced.world.lake.tables[ORDERS].rows)

    said, shown, checked = call("status", "--json"), call("status"), call("check", "--json")

    (warning,) = said.tables["public.orders"]["warnings"]
    assert "RESTORE" in warning
    assert said.tables["public.countries"]["warnings"] == []
    assert "RESTORE" in shown.out
    assert [entry["check"] for entry in checked.document["checks"] if not entry["passed"]] == ["reconciliation"]


def test_a_copy_is_not_said_to_be_never_synced_where_the_checkpoint_table_is_lost(
    call: Call, synced: Outside, config: Path
) -> None:
    for file in config.parent.glob("checkpoints.db*"):
        file.unlink()

    said, shown = call("status", "--json"), call("status")

    (warning,) = said.tables["public.orders"]["warnings"]
    assert "the checkpoint table has no record of any sync" in warning
    assert ("never" in shown.out, "not known" in shown.out) == (False, True)


def test_status_names_a_synced_table_that_the_configuration_no_longer_takes(
    call: Call, synced: Outside, config: Path
) -> None:
    assert call("status", "--json").document["no_longer_configured"] == []
    config.write_text(
        config.read_text().replace("    database: shop\n", "    database: shop\n    exclude: [countries]\n")
    )

    for flags in ((), ("--offline",)):
        said = call("status", "--json", *flags)
        assert set(said.tables) == {"public.orders"}
        assert said.document["no_longer_configured"] == [{"source": "shop", "table": "public.countries"}]
    assert "shop.public.countries: no longer configured" in call("status").out
    assert "no longer configured" not in call("status", "--select", "*orders").out


def test_status_names_the_tables_of_a_source_that_has_left_the_configuration(
    call: Call, synced: Outside, config: Path
) -> None:
    config.write_text(config.read_text().replace("  shop:\n", "  store:\n"))

    said = call("status", "--json", "--offline")

    assert [(each["source"], each["table"]) for each in said.document["no_longer_configured"]] == [
        ("shop", "public.countries"),
        ("shop", "public.orders"),
    ]


def test_status_says_until_when_a_source_is_quiet(call: Call, config: Path) -> None:
    now = datetime.now(UTC)
    begins, ends = (f"{now + timedelta(hours=hours):%H:%M}" for hours in (-2, 2))
    quiet = f"    quiet: {begins}-{ends}\n    check_at: never\n    tables:\n"
    config.write_text(CONFIG.replace("    tables:\n", quiet, 1))
    assert (
        f"shop: quiet until {ends}Z (`quiet: {begins}-{ends}`): no sensor looks at it until then" in call("status").out
    )
