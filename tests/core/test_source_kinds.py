"""A source that is no database: its keys are those of its own package, and its mistakes are at their lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml

from incremental_assets.core.captures.registry import named
from incremental_assets.core.config.dialects import known_dialects
from incremental_assets.core.config.json_schema import inlined, schema
from incremental_assets.core.config.load import load
from incremental_assets.core.config.resolve import resolve_all
from incremental_assets.core.config.settings import Configuration, Reference
from incremental_assets.core.config.source_kinds import kind_named
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.deletes import IGNORED
from incremental_assets.core.strategies import Strategy
from tests.toy_capture.installed import install
from tests.toy_capture.source import EventsSettings, shape_of

FILE = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: events
    file: log/events.json
    token: {env: EVENTS_TOKEN}
    every: 30s
    tables:
      - table: topic.orders
        freshness: {warn: 1h}
      - {table: topic.audit, strategy: append, primary_key: [partition, offset]}
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for each in (named, kind_named):
        each.cache_clear()
    yield
    for each in (named, kind_named):
        each.cache_clear()


def loaded(folder: Path, text: str = FILE) -> Configuration:
    (folder / "sources.yaml").write_text(text)
    return load(folder / "sources.yaml")


def mistakes(folder: Path, text: str) -> list[tuple[int, str]]:
    with pytest.raises(ConfigurationError) as found:
        loaded(folder, text)
    return [(each.line, each.cure) for each in found.value.problems]


def test_its_settings_are_its_own_and_what_every_source_has_is_there(tmp_path: Path) -> None:
    read = loaded(tmp_path)
    source = read.source("shop")
    token = Reference("env", "EVENTS_TOKEN")
    assert source.settings == EventsSettings(str(tmp_path / "log/events.json"), token)
    assert (source.every.total_seconds(), source.schemas, source.line) == (30, (), 4)
    assert (read.secrets, read.unencrypted) == (("EVENTS_TOKEN",), ())


def test_its_tables_are_read_by_its_capture_and_have_one_row_for_each_key_unless_they_say_otherwise(
    tmp_path: Path,
) -> None:
    source = loaded(tmp_path).source("shop")
    found = resolve_all(source, [shape_of("shop", name) for name in ("orders", "audit", "unlisted")])
    assert found.problems == ()
    assert [(spec.id.name, spec.capture, spec.strategy, spec.key) for spec in found.specs] == [
        ("orders", "events", Strategy.UPSERT, ("id",)),
        ("audit", "events", Strategy.APPEND, ("partition", "offset")),
    ]
    assert [(spec.deletes, spec.terms.cursor, spec.key_enforced) for spec in found.specs] == [
        (IGNORED, "events", True)
    ] * 2


@pytest.mark.parametrize(
    ("written", "instead", "line", "cure"),
    [
        (
            "file: log/events.json",
            "file: log/events.csv",
            6,
            "a log of events is a file of JSON; write the name of one",
        ),
        ("file: log/events.json", "fil: log/events.json", 6, "there is no such key here; did you mean `file`?"),
        ("every: 30s", "host: localhost", 8, "there is no such key here; the keys are dialect, parallel, every"),
        ("token: {env: EVENTS_TOKEN}", "token: s3cret", 7, "a secret is never written in this file"),
        ("dialect: events", "dialect: event", 5, "did you mean `events`?"),
        ("    file: log/events.json\n", "", 4, "the key `file` is missing; add it"),
        ("freshness: {warn: 1h}", "strategy: full_refresh", 11, "a table of events goes on from where it was read"),
        ("freshness: {warn: 1h}", "cursor: {column: at, type: timestamp}", 11, "`cursor` is for tables of a database"),
        (
            "freshness: {warn: 1h}",
            "capture: log",
            11,
            "`capture` is for tables of a database, and this source is events",
        ),
        ("freshness: {warn: 1h}", "where: a = 1", 11, "`where` is for tables of a database"),
        ("freshness: {warn: 1h}", "deletes: {mode: diff}", 11, "`deletes` is for tables of a database"),
    ],
)
def test_a_mistake_is_at_its_line_with_its_cure(
    tmp_path: Path, written: str, instead: str, line: int, cure: str
) -> None:
    found = mistakes(tmp_path, FILE.replace(written, instead))
    assert [each for each in found if each[0] == line and each[1].startswith(cure)], found
    assert instead == "dialect: event" or len(found) == 1, found


def test_a_dialect_that_nobody_brings_is_named_with_those_there_are_and_nothing_else_is_said_of_its_source(
    tmp_path: Path,
) -> None:
    cure = "there is no dialect 'pulsar'; use postgresql, sqlite, mariadb, mysql, kafka, files, events, or install the package that brings it"
    assert mistakes(tmp_path, FILE.replace("dialect: events", "dialect: pulsar")) == [(5, cure)]
    assert known_dialects()[-1] == "events"


def test_an_editor_knows_the_keys_of_each_kind() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    assert validator.is_valid(yaml.safe_load(FILE))
    assert not validator.is_valid(yaml.safe_load(FILE.replace("file: log/events.json", "host: localhost")))
    database = "{dialect: postgresql, host: localhost, database: shop, user: reader}"
    whole = {**yaml.safe_load(FILE), "sources": {"shop": yaml.safe_load(database)}}
    assert validator.is_valid(whole)
    whole["sources"]["shop"]["file"] = "events.json"
    assert not validator.is_valid(whole)
    assert "$ref" not in str(inlined())
