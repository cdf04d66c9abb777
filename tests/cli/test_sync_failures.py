"""A table or a source that cannot be synced fails by name, and the others go on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError, Problem, SourceUnreachable
from incremental_assets.core.planning.events import EventKind
from tests.cli.conftest import CONFIG, Call, FakeRuntime, Outside, Probe
from tests.scenario import COUNTRIES, COUNTRIES_SHAPE, ORDERS


def test_a_table_that_cannot_be_resolved_fails_and_the_others_go_on(call: Call, config: Path) -> None:
    config.write_text(CONFIG + '      - "public.returns:at:timestamp"\n')

    said = call("sync", "--json")

    assert said.code == 1
    assert said.tables["public.returns"]["status"] == "failed"
    assert "this user can see no such table" in said.tables["public.returns"]["error"]
    assert said.tables["public.orders"]["status"] == "landed"


def test_a_source_that_does_not_answer_fails_the_tables_that_are_known(call: Call, outside: Outside) -> None:
    call("sync")
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    said = call("sync", "--json")

    assert said.code == 1
    assert {name: entry["error"] for name, entry in said.tables.items()} == {
        "public.orders": "shop: localhost:5432 does not answer",
        "public.countries": "shop: localhost:5432 does not answer",
    }


def test_a_source_that_never_answered_still_has_its_listed_tables(call: Call, outside: Outside) -> None:
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    assert set(call("sync", "--json").tables) == {"public.orders"}


LOST = ConfigurationError((Problem("sources.yaml", 9, "{command: [vault]}", "'vault' ended with status 2"),))


def test_a_source_whose_secret_cannot_be_had_stops_no_table_of_another(
    call: Call, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(CONFIG + CONFIG.partition("sources:\n")[2].replace("shop", "web"))
    ask = FakeRuntime.probe

    def probe(self: FakeRuntime, source: str) -> Probe:
        if source == "web":
            raise LOST
        return ask(self, source)

    monkeypatch.setattr(FakeRuntime, "probe", probe)

    said, seen, planned = call("sync", "--json"), call("status", "--json"), call("plan", "--json")

    assert {(each["source"], each["table"], each["status"]) for each in said.document["tables"]} == {
        ("shop", "public.orders", "landed"),
        ("shop", "public.countries", "landed"),
        ("web", "public.orders", "failed"),
    }
    assert (said.code, seen.code, planned.code) == (2, 0, 2)


def test_a_secret_that_cannot_be_had_is_recorded_as_a_failure_of_the_tables_and_status_answers(
    call: Call, outside: Outside, config: Path
) -> None:
    call("sync")
    outside.broken = LOST

    said, status = call("sync", "--json"), call("status", "--json")

    assert said.code == 2, "as for whatever else is wrong in the file"
    assert {name: entry["status"] for name, entry in said.tables.items()} == {
        "public.orders": "failed",
        "public.countries": "failed",
    }
    assert "'vault' ended with status 2" in said.tables["public.orders"]["error"]
    assert status.code == 0
    outside.broken = None
    last = call("status", "--json").tables["public.orders"]["last_status"]
    assert last == "failed", "so that channels are notified of it"


def test_a_look_that_fails_unforeseen_ends_in_a_report_of_each_table_and_not_the_command(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lowest(*_: object) -> None:
        raise KeyError("Mars/Olympus")

    monkeypatch.setattr(Probe, "lowest", lowest)

    said = call("sync", "--json")

    assert said.code == 1
    assert {name: entry["error"] for name, entry in said.tables.items()} == {
        "public.orders": "shop.public.orders: unexpected KeyError: 'Mars/Olympus'",
        "public.countries": "shop.public.countries: unexpected KeyError: 'Mars/Olympus'",
    }


def test_another_database_at_the_address_stops_the_table(call: Call, synced: Outside) -> None:
    synced.world.database.exchange()

    said = call("sync", "--json", "--select", "public.orders")

    assert said.code == 1
    assert "another database answers" in said.tables["public.orders"]["error"]


def test_a_table_without_a_grant_fails_by_name_and_the_others_go_on(call: Call, outside: Outside) -> None:
    secret = replace(COUNTRIES, name="secret")
    outside.world.database.create(replace(COUNTRIES_SHAPE, id=secret, columns=(), readable=False))

    said, status, checked = call("sync", "--json"), call("status", "--json"), call("check", "--json")

    assert said.code == 1
    assert said.tables["public.secret"]["status"] == "failed"
    assert "may not read this table" in said.tables["public.secret"]["error"]
    assert said.tables["public.orders"]["status"] == "landed"
    assert "may not read this table" in status.tables["public.secret"]["error"]
    assert checked.code == 1
    assert "public.secret" in {entry["table"] for entry in checked.document["checks"]}


def test_a_table_that_the_source_has_dropped_is_missed_until_it_is_excluded(
    call: Call, config: Path, outside: Outside
) -> None:
    call("sync")
    del outside.world.database.tables[COUNTRIES]

    said, status, offline = call("sync", "--json"), call("status", "--json"), call("status", "--json", "--offline")

    assert said.code == 1
    assert "its copy stays as it is" in said.tables["public.countries"]["error"]
    for looked in (status, offline):
        assert "its copy stays as it is" in looked.tables["public.countries"]["error"]
    config.write_text(CONFIG.replace("    tables:", "    exclude: [countries]\n    tables:"))
    assert set(call("sync", "--json").tables) == {"public.orders"}


def test_a_schema_that_does_not_exist_is_a_failure_by_name(call: Call, config: Path) -> None:
    config.write_text(CONFIG.replace("    tables:", "    schemas: [public, publc]\n    tables:"))

    said, status, checked = call("sync", "--json"), call("status", "--json"), call("check", "--json")

    for told in (said, status, checked):
        (problem,) = told.document["problems"]
        assert problem["source"] == "shop"
        assert "no schema 'publc'" in problem["sentence"]
    assert (said.code, status.code, checked.code) == (1, 0, 1)
    assert said.tables["public.orders"]["status"] == "landed"
    assert "no schema 'publc'" in call("sync").out


def test_a_source_that_never_answered_and_lists_nothing_is_no_success(
    call: Call, config: Path, outside: Outside
) -> None:
    config.write_text(CONFIG.partition("    tables:")[0])
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    said = call("sync", "--json")

    assert said.code == 1
    assert said.document["problems"] == [{"source": "shop", "sentence": "shop: localhost:5432 does not answer"}]


def test_a_sync_that_fails_before_it_begins_leaves_a_row_with_its_sentence(
    call: Call, config: Path, outside: Outside
) -> None:
    call("sync")
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")
    call("sync")

    memory = SqlCheckpoints(load(config).checkpoints)
    for table in (ORDERS, COUNTRIES):
        last = memory.history(table)[-1].event
        assert (last.kind, last.detail) == (EventKind.FAILED, "shop: localhost:5432 does not answer")
    assert memory.position(ORDERS).state is not None, "what had landed stays"
    assert call("status", "--json", "--offline").tables["public.orders"]["last_status"] == "failed"
