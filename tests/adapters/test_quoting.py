"""Hostile names and values are names and values, whoever reads them: our driver, the JDBC driver, or Spark's schema resolution."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql

from incremental_assets.adapters.databases.postgresql.advice.doctor import missing_sql
from incremental_assets.adapters.databases.postgresql.sql import Parameters, identifier, inline, literal
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Cursor, Strategy
from incremental_assets.core.model.window import Window
from tests.adapters.source import Source, observe, planned, synced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOSTILE = (
    'we"ird; drop table canary--.Tbl', "'; DROP TABLE canary; --", '"; DROP TABLE canary; --', "$1", "$$; drop table canary; $$", ":name", "%s", "%(x)s",
    "?", "{fn now()}", "a b", "select", "ünïcode", "x.y", "q`t", "tab\there", "new\nline", "back\\slash", "\\'; drop table canary; --", "/* open",
    "-- comment", "UPPER", "ctid ", "c0", "t", "''", '""', "emoji 😀", "trailing ", "1digit", "=cmd", "{}", "{0}", "${jndi:x}", "#{x}", "<b>", "a,b", "(a)", "[0]", "*",
)  # fmt: skip


def test_an_identifier_never_ends_before_its_name_does() -> None:
    for name in HOSTILE:
        quoted = identifier(name)
        assert re.fullmatch(r'"(?:[^"]|"")+"', quoted)
        assert quoted[1:-1].replace('""', '"') == name
    with pytest.raises(ValueError, match="is not a name"):
        identifier("a\x00b")


def test_a_value_is_bound_or_cast_from_its_canonical_text() -> None:
    values = Parameters()
    assert values("2024-01-01", "date") == "CAST($1 AS date)"
    assert values.values == ["2024-01-01"]
    assert inline("2024-01-01", "date") == "CAST('2024-01-01' AS date)"
    with pytest.raises(ValueError, match="is not"):
        CursorValue(CursorType.DATE, "2024-01-01' OR '1'='1")


def test_literals_mean_what_they_say_under_either_setting(source: Source) -> None:
    connection = source.connect()
    for setting in ("on", "off"):
        connection.execute(f"SET standard_conforming_strings = {setting}; SET escape_string_warning = off".encode())
        for name in HOSTILE:
            assert connection.execute(f"SELECT {literal(name)}".encode()).fetchone() == (name,)


@pytest.mark.acceptance
@pytest.mark.parametrize("by", ["task", "Spark"])
def test_a_table_of_hostile_names_is_read_counted_and_hashed(
    source: Source, spark: SparkSession, tmp_path: Path, by: str
) -> None:
    from tests.adapters.reading import copied, measured, rows_of

    (table,) = _hostile_tables(source, HOSTILE[:1])
    probe = source.open()
    cursor = Cursor(HOSTILE[1], CursorType.TIMESTAMP)
    spec = source.spec(table, cursor, strategy=Strategy.UPSERT, key=(HOSTILE[0],))
    assert spec.shape.names == HOSTILE
    state = synced(probe, spec)
    assert observe(probe, spec, state).fingerprint == state.position.fingerprint
    plan = planned(probe, spec)
    frame = copied(spark, source, plan, tmp_path) if by == "task" else rows_of(spark, source, plan)[1]
    assert tuple(frame.columns[: len(HOSTILE)]) == HOSTILE
    assert measured(frame, spec.columns) == probe.measure(spec, (Window(None, None),))[0]
    assert (frame.count(), _canary(source)) == (2, 1)


@pytest.mark.acceptance
def test_tables_of_hostile_names_are_looked_at_together(source: Source) -> None:
    tables = _hostile_tables(source, HOSTILE)
    probe = source.open()
    shapes = {shape.id.name: shape for shape in probe.catalogue()}
    assert set(tables) < set(shapes)
    specs = [source.spec(table, Cursor(HOSTILE[1], CursorType.TIMESTAMP)) for table in tables[:6]]
    looks = [ObserveRequest(spec, synced(probe, spec)) for spec in specs]
    for look, seen in zip(looks, probe.observe(looks), strict=True):
        assert look.state is not None
        assert seen.fingerprint == look.state.position.fingerprint
    wanted = tuple(Wanted(look.spec.id, (HOSTILE[1],)) for look in looks)
    source.execute(
        missing_sql(source.address("plain_reader"), wanted, source.open("plain_reader").facts(wanted)).replace(
            "CONCURRENTLY ", ""
        )
    )
    facts = source.open("plain_reader").facts(wanted)
    assert all(table.readable and not table.unindexed for table in facts.tables)
    assert _canary(source) == 1


def _hostile_tables(source: Source, names: tuple[str, ...]) -> list[str]:
    connection = source.connect()
    connection.execute("CREATE TABLE canary AS SELECT 1 AS alive")
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL("timestamptz" if name == HOSTILE[1] else "text"))
        for name in HOSTILE
    ]
    for name in names:
        # PostgreSQL cuts a name at 63 bytes.
        table = sql.Identifier(f"T{name}"[:40])
        connection.execute(
            sql.SQL("CREATE TABLE {} ({}, PRIMARY KEY ({}))").format(
                table, sql.SQL(", ").join(columns), sql.Identifier(HOSTILE[0])
            )
        )
        for row in range(2):
            values: list[Any] = ["2024-01-01" if column == HOSTILE[1] else f"{column}{row}" for column in HOSTILE]
            connection.execute(
                sql.SQL("INSERT INTO {} VALUES ({})").format(table, sql.SQL(", ").join(map(sql.Literal, values)))
            )
    connection.commit()
    return [f"T{name}"[:40] for name in names]


def _canary(source: Source) -> int:
    return source.connect().execute("SELECT alive FROM canary").fetchone()[0]  # type: ignore[index]
