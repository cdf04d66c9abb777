"""`--log-format json` writes an object per line to stderr: what happens to each table, warnings, and the sentence of an error."""

from __future__ import annotations

import json
import logging
import uuid
from typing import Any

import pytest

from incremental_assets.core.errors import SourceUnreachable
from tests.cli.conftest import Call, Outside, Said
from tests.scenario import monday

AS_JSON = ("--log-format", "json")


def lines(said: Said) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in said.err.splitlines()]
    assert all({"time", "level", "event", "message"} <= line.keys() for line in found)
    return found


def test_the_story_of_a_table_is_found_by_its_run(call: Call, outside: Outside) -> None:
    monday(outside.world.database).commit()
    said = call("sync", "--json", "--select", "public.orders", *AS_JSON)
    run = said.document["run_id"]
    story = [line for line in lines(said) if line.get("run_id") == run and "table" in line]
    assert [line["event"] for line in story if line["event"] != "phase_begun"] == [
        "lease_taken",
        "committed",
        "sync_ended",
    ]
    assert {line["table"] for line in story} == {"shop.public.orders"}
    assert {line["trace_id"] for line in story} == {uuid.UUID(run).hex}
    ended, (told,) = story[-1], said.document["tables"]
    assert (ended["level"], ended["status"], ended["rows_inserted"], ended["guarantee"]) == (
        "info",
        "landed",
        told["rows"]["inserted"],
        told["guarantee"],
    )


def test_what_people_read_is_as_it_was(call: Call, outside: Outside) -> None:
    monday(outside.world.database).commit()
    said = call("sync", *AS_JSON)
    assert "landed" in said.out
    assert not said.out.startswith("{")


def test_the_sentence_of_an_error_is_a_line_of_its_own(call: Call, outside: Outside) -> None:
    outside.broken = SourceUnreachable("shop: nobody answers")
    (line,) = lines(call("discover", *AS_JSON))
    assert (line["level"], line["message"]) == ("error", "shop: nobody answers")


def test_what_a_logger_of_ours_says_is_a_line_too_and_nothing_stays(
    call: Call, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("incremental_assets.anywhere")

    def warns(*_: object) -> None:
        log.warning("the lease was late by %s s", 7)

    monkeypatch.setattr("incremental_assets.cli.commands.sync.refuse_unless_meant", warns)
    found = lines(call("sync", *AS_JSON))
    assert [line["message"] for line in found if line["level"] == "warning"] == ["the lease was late by 7 s"]
    assert logging.getLogger("incremental_assets").handlers == []
    assert logging.getLogger("incremental_assets").propagate


def test_another_format_is_refused(call: Call) -> None:
    said = call("sync", "--log-format", "xml")
    assert said.code == 2
    assert said.err == (
        "Invalid value for '--log-format': 'xml' is not one of 'text', 'json'. (see `incremental-assets sync --help`)\n"
    )
