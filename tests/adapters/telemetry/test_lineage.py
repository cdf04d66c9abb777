"""What happens arrives where lineage is kept, by OpenLineage's own client, and a receiver that is away holds nothing up."""

from __future__ import annotations

import json
import logging
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.telemetry.lineage import run_of
from incremental_assets.adapters.telemetry.lineage_opening import open_lineage
from incremental_assets.core.errors import SetupError
from incremental_assets.core.model.column import Column, Fidelity, MaskedColumn
from incremental_assets.core.model.history import HistoryRows
from incremental_assets.core.model.mask import Mask
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from incremental_assets.core.observing.observers import Observers
from incremental_assets.core.observing.occurrences import CheckEnded, Committed, PhaseBegun, SyncEnded
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync_many import attempt
from tests.datasets import SHOP
from tests.fakes import World
from tests.scenario import ORDERS, monday, orders, shop

UPSERT = orders(Strategy.UPSERT)
RUN = "6f1f2a0e-38f8-4a3c-9a35-0d6f0f5c1a77"


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the client appends events to."""
    found = tmp_path / "events.json"
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(found))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    return found


@pytest.fixture
def world() -> World:
    made = World(shop())
    monday(made.database).commit()
    return made


def events(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_sync_tells_when_it_reads_and_what_has_landed_from_where(world: World, told: Path) -> None:
    lineage = open_lineage(SHOP)
    report = attempt(UPSERT, Request(RUN), replace(world.ports(), observer=Observers(lineage)))
    lineage.close()

    begun, ended = events(told)
    assert (begun["eventType"], ended["eventType"]) == ("START", "COMPLETE")
    assert begun["run"]["runId"] == ended["run"]["runId"] == run_of(RUN, ORDERS)
    assert ended["run"]["facets"]["parent"]["run"]["runId"] == RUN
    assert ended["job"] == {"namespace": "incremental-assets", "name": "sync shop.public.orders", "facets": {}}
    (read,), (written,) = ended["inputs"], ended["outputs"]
    assert (read["namespace"], read["name"]) == ("postgres://db.example.com:5432", "shop.public.orders")
    assert [field["type"] for field in read["facets"]["schema"]["fields"]] == [
        "bigint",
        "text",
        "text",
        "timestamp with time zone",
    ]
    assert read["inputFacets"]["inputStatistics"]["rowCount"] == report.rows.read > 0
    assert (written["namespace"], written["name"]) == ("file", "/lake/shop/public/orders")
    assert written["facets"]["version"]["datasetVersion"] == str(report.target_version)
    assert [(field["name"], field["type"]) for field in written["facets"]["schema"]["fields"]] == [
        ("id", "bigint"),
        ("customer", "string"),
        ("status", "string"),
        ("updated_at", "timestamp"),
    ]
    (origin,) = written["facets"]["columnLineage"]["fields"]["customer"]["inputFields"]
    assert (origin["namespace"], origin["name"], origin["field"]) == (read["namespace"], read["name"], "customer")
    assert (origin["transformations"][0]["subtype"], origin["transformations"][0]["masking"]) == ("IDENTITY", False)
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == report.rows.inserted


def test_a_table_that_stands_still_tells_nothing(world: World, told: Path) -> None:
    attempt(UPSERT, Request(RUN), world.ports())
    lineage = open_lineage(SHOP)
    attempt(UPSERT, Request(RUN), replace(world.ports(), observer=Observers(lineage)))
    lineage.close()
    assert events(told) == []


def test_what_fails_says_so_and_shows_no_message_as_it_may_hold_a_value(world: World, told: Path) -> None:
    lineage = open_lineage(SHOP)
    world.stage.loses = 1
    report = attempt(UPSERT, Request(RUN), replace(world.ports(), observer=Observers(lineage)))
    lineage.close()
    assert [event["eventType"] for event in events(told)] == ["START", "FAIL"]
    assert report.error
    assert report.error not in told.read_text()


def test_a_masked_and_a_renamed_column_are_known_by_where_they_come_from(world: World, told: Path) -> None:
    raw = Column("customer", "text", "string", Fidelity.EXACT)
    spec = replace(
        UPSERT, masks=(MaskedColumn("customer", Mask.LAST4, raw, raw),), source_names=(("status", "Order State"),)
    )
    report = attempt(UPSERT, Request(RUN), world.ports())
    lineage = open_lineage(SHOP)
    lineage.notify(PhaseBegun(ORDERS, RUN, "read"))
    lineage.notify(PhaseBegun(ORDERS, RUN, "read"))  # tried again
    lineage.notify(Committed(spec, RUN, 1, 1, ""))
    lineage.notify(SyncEnded(replace(report, history=HistoryRows(added=3, version=9))))
    lineage.close()

    begun, ended = events(told)
    assert begun["eventType"] == "START"
    copy, history = ended["outputs"]
    fields = copy["facets"]["columnLineage"]["fields"]
    assert fields["customer"]["inputFields"][0]["transformations"][0]["masking"] is True
    assert fields["status"]["inputFields"][0]["field"] == "Order State"
    assert [field["name"] for field in ended["inputs"][0]["facets"]["schema"]["fields"]] == [
        "id",
        "customer",
        "Order State",
        "updated_at",
    ]
    assert (history["name"], history["facets"]["version"]["datasetVersion"]) == (
        "/lake/shop/public/orders__history",
        "9",
    )
    assert history["outputFacets"]["outputStatistics"]["rowCount"] == 3
    (origin,) = history["facets"]["columnLineage"]["fields"]["status"]["inputFields"]
    assert (origin["name"], origin["field"]) == ("/lake/shop/public/orders", "status")


def test_a_check_is_told_as_what_is_known_of_the_copy_and_without_its_samples(told: Path) -> None:
    drift = Verdict(ORDERS, Check.RECONCILIATION, False, Severity.ERROR, "key 4711 is missing", samples=("4711",))
    lineage = open_lineage(SHOP)
    lineage.notify(CheckEnded(drift))
    lineage.notify(CheckEnded(replace(drift, check=Check.FRESHNESS, was_checked=False)))
    lineage.close()

    begun, ended = events(told)
    assert (begun["eventType"], ended["eventType"]) == ("START", "COMPLETE")
    (copy,) = ended["inputs"]
    assert copy["name"] == "/lake/shop/public/orders"
    (answer,) = copy["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (answer["assertion"], answer["success"], answer["severity"]) == ("reconciliation", False, "error")
    assert "4711" not in told.read_text()


def test_a_receiver_that_is_away_is_one_line_in_the_log_and_the_sync_lands(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", "http://user:hunter2@127.0.0.1:1")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY", json.dumps({"total": 0}))
    lineage = open_lineage(SHOP)
    with caplog.at_level(logging.WARNING):
        report = attempt(UPSERT, Request(str(uuid.uuid4())), replace(world.ports(), observer=Observers(lineage)))
        lineage.close()
    assert report.rows.inserted > 0
    (line,) = (record.getMessage() for record in caplog.records if "lineage" in record.getMessage())
    assert "syncs go on without it" in line
    assert "hunter2" not in caplog.text


def test_without_a_receiver_nothing_is_opened_and_the_sentence_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SetupError, match="set OPENLINEAGE_URL"):
        open_lineage(SHOP)
