"""What a server, a database or a role sets changes no answer; where it would and we cannot set it, nothing is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters.databases.postgresql import asked, connect, greeting, pinned
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor, Strategy
from incremental_assets.core.model.window import Window
from tests.adapters.source import READER, UPDATED, Source, observe, planned

HOSTILE = {
    "search_path": "elsewhere",
    "TimeZone": "Asia/Tokyo",
    "DateStyle": "SQL, DMY",
    "IntervalStyle": "sql_standard",
    "extra_float_digits": "-10",
    "bytea_output": "escape",
    "xmlbinary": "hex",
    "xmloption": "document",
    "quote_all_identifiers": "on",
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "row_security": "off",
    "gin_fuzzy_search_limit": "1",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "default_transaction_deferrable": "on",
    "lock_timeout": "1s",
    "statement_timeout": "10s",
    "idle_in_transaction_session_timeout": "20s",
    "transaction_timeout": "20s",
    "enable_indexscan": "off",
    "constraint_exclusion": "on",
}
FILLED = (
    "INSERT INTO kinds (span, many, ratios, raw, score, said) SELECT n * interval '1 day 01:00:01', "
    "ARRAY[timestamptz '2024-01-01Z' + n * interval '1 h'], ARRAY[n / 3.0], ARRAY[decode(to_hex(n + 4096), 'hex')], sqrt(n), E'it\\'s \\\\ ' || n "
    "FROM generate_series(1, 50) AS n"
)
MADE = (
    "CREATE TABLE kinds (id serial PRIMARY KEY, span interval, many timestamptz[], ratios float8[], raw bytea[], score double precision, "
    "said text, gone text, at timestamptz NOT NULL DEFAULT now())"
)
VIEW = "CREATE VIEW seen AS SELECT id, CAST(at AS text) AS at_text, CAST(span AS text) AS span_text, CAST(score AS text) AS score_text FROM kinds"
KINDS = (
    MADE,
    FILLED,
    VIEW,
    f"GRANT SELECT ON kinds, seen TO {READER}",
    f"GRANT pg_read_all_stats TO {READER}",
)


def answers(source: Source) -> dict[str, Any]:
    """What a sync, a check and a look are told."""
    probe, number = source.open(READER), Cursor("id", CursorType.INTEGER)
    spec = source.spec("kinds", number, key=("id",), key_enforced=True)
    view = source.spec("seen", strategy=Strategy.FULL_REFRESH)
    found: dict[str, Any] = {"catalogue": probe.catalogue(), "seen": observe(probe, spec).fingerprint}
    for each in (spec, view):
        plan = planned(probe, each)
        with probe.snapshot(plan) as numbers:
            parts = dialect_of("postgresql").reader(source.address(READER)).parts(plan, numbers) or ()
            found[each.id.name] = [row for part in parts for table in part.batches() for row in table.to_pylist()]
        found[f"sums of {each.id.name}"] = probe.measure(each, (Window(None, None),))
    with probe.keys(spec) as keys:
        found["keys"] = keys.present(frozenset(map(str, range(100))))
    found["guarantee"] = settle(spec, number, probe.bound(), None, None).guarantee
    return found


@contextmanager
def hostile(source: Source, whose: str) -> Iterator[None]:
    """All of them, until the block ends."""
    name = f'"{source.database}"' if whose == "DATABASE" else f'{READER} IN DATABASE "{source.database}"'
    source.execute(*(f"ALTER {whose} {name} SET {setting} = '{value}'" for setting, value in HOSTILE.items()))
    yield
    with psycopg.connect(source.postgres.dsn(), autocommit=True) as elsewhere:
        elsewhere.execute(f"ALTER {whose} {name} RESET ALL".encode())


@pytest.mark.parametrize("whose", ["DATABASE", "ROLE"])
def test_what_a_database_or_a_role_sets_changes_no_answer(source: Source, whose: str) -> None:
    source.execute(*KINDS)
    before = answers(source)
    with hostile(source, whose):
        assert answers(source) == before
    assert before["guarantee"] is Guarantee.SETTLED


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("forgotten", "differ"),
    [
        ("quote_all_identifiers", {"catalogue", "guarantee"}),
        ("IntervalStyle", {"kinds", "sums of kinds", "seen", "sums of seen"}),
        ("extra_float_digits", {"kinds", "sums of kinds", "seen", "sums of seen"}),
        ("bytea_output", {"kinds", "sums of kinds"}),
    ],
)
def test_a_variant_that_forgets_one_of_them_answers_otherwise(
    source: Source, monkeypatch: pytest.MonkeyPatch, forgotten: str, differ: set[str]
) -> None:
    """Known-bad: so that the test above tells what it should."""
    source.execute(*KINDS)
    before = answers(source)
    kept = {name: value for name, value in pinned._CONSTANT.items() if name != forgotten}
    monkeypatch.setattr(pinned, "_CONSTANT", kept)
    pinned.pin.cache_clear()
    try:
        with hostile(source, "DATABASE"):
            after = answers(source)
    finally:
        pinned.pin.cache_clear()
    assert {name for name, answer in after.items() if answer != before[name]} >= differ


@pytest.mark.parametrize("setting", ["zero_damaged_pages", "ignore_checksum_failure"])
def test_nothing_is_read_where_damaged_pages_would_be_passed_over(source: Source, setting: str) -> None:
    source.execute("CREATE TABLE orders (id int PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())")
    probe, spec = source.open(READER), source.spec("orders", UPDATED)
    source.execute(f"GRANT SELECT ON orders TO {READER}", f"GRANT pg_read_all_stats TO {READER}")
    plan = planned(probe, spec)
    parts = dialect_of("postgresql").reader(source.address(READER))
    with probe.snapshot(plan) as numbers:
        source.execute(f'ALTER ROLE {READER} IN DATABASE "{source.database}" SET {setting} = on')
        (part, *_) = parts.parts(plan, numbers) or ()
        with pytest.raises(SourceRefused, match=setting):
            list(part.batches())
    probe = source.open(READER)
    for question in (probe.bound, probe.catalogue, lambda: probe.snapshot(plan).__enter__()):
        with pytest.raises(SourceRefused, match=rf'{setting} is on, .* ALTER ROLE "{READER}" SET {setting} = off'):
            question()


def test_every_parameter_that_a_session_may_have_of_its_own_has_a_verdict(source: Source) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guarantee.md").read_text()
    table = page.partition("## What a server or a user sets")[2].partition("\n## ")[0]
    told = {
        name
        for line in table.splitlines()
        if line.startswith("|")
        for name in re.findall(r"`([^`]+)`", line.split("|")[1])
    }
    with source.connect() as connection:
        found = connection.execute(
            "SELECT name FROM pg_settings WHERE context NOT IN ('internal', 'postmaster', 'sighup')"
        ).fetchall()
    assert [name for (name,) in found if not any(fnmatchcase(name.lower(), each.lower()) for each in told)] == []


def test_a_limit_of_a_role_that_is_over_before_our_own_is_set_ends_nothing(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.execute(*KINDS)
    before = answers(source)
    name = f'{READER} IN DATABASE "{source.database}"'
    for setting in ("statement_timeout", "idle_in_transaction_session_timeout"):
        source.execute(f"ALTER ROLE {name} SET {setting} = '500ms'")
    slow = "pg_catalog.pg_sleep(0.6)"
    really = pinned.pin
    for module in (asked, connect):
        monkeypatch.setattr(module, "pin", lambda limits: f"{really(limits)}, {slow}")
    monkeypatch.setattr(greeting, "MAY_MARK", f"{greeting.MAY_MARK} AND {slow} IS NOT NULL")
    probe = source.open(READER)
    spec = source.spec("kinds", Cursor("id", CursorType.INTEGER), key=("id",), key_enforced=True)
    plan = planned(probe, spec)
    with probe.snapshot(plan) as numbers:
        parts = dialect_of("postgresql").reader(source.address(READER)).parts(plan, numbers) or ()
        rows = [row for part in parts for table in part.batches() for row in table.to_pylist()]
    assert rows == before["kinds"]
