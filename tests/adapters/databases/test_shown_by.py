"""Columns that show more than their row, database by database: no stamp moves when what they show changes, so that no run of theirs is settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.databases import mysql_contract, sqlite_file, test_postgresql
from tests.adapters.databases.contract import World

LOOKED_UP = (
    "regclass", "regproc", "regprocedure", "regoper", "regoperator", "regtype", "regrole", "regnamespace", "regconfig", "regdictionary", "regcollation",
    "aclitem", "money",
)  # fmt: skip
SHOWN = (
    "text", "name", "oid", "json", "xml", "bytea", "timestamptz[]", "date[]", "interval", "tstzrange", "int4multirange", "point", "box", "labels", "tsvector",
    "pg_lsn", "bit(3)", "inet", "double precision[]",
)  # fmt: skip


def decided_elsewhere(world: World) -> dict[str, str]:
    """By the name of a column what decides how it shows beside the row."""
    probe = SqlProbe(world.address, "shop")
    (shape,) = (shape for shape in probe.catalogue() if shape.id.name == "t")
    probe.close()
    return {column.name: column.shown_by for column in shape.columns if column.shown_by}


def test_postgresql_names_each_type_whose_text_is_looked_up_however_deep_it_lies(
    postgres: EmbeddedPostgres, database: str
) -> None:
    world = test_postgresql.Server(postgres, database)
    world.execute(
        "CREATE TYPE labels AS ENUM ('a')",
        "CREATE DOMAIN a_table AS regclass",
        "CREATE TYPE pair AS (n int, of a_table[])",
        "CREATE DOMAIN pairs AS pair[]",
        "CREATE TYPE span AS RANGE (subtype = money)",
        "CREATE TABLE t ("
        + ", ".join(
            (
                *(f"{name} {name}" for name in LOOKED_UP),
                "a_table a_table, pairs pairs, grants aclitem[], span span, spans span_multirange",
                *(f"plain_{place} {name}" for place, name in enumerate(SHOWN)),
            )
        )
        + ")",
    )
    found = decided_elsewhere(world)
    assert (
        found["regclass"]
        == "a value of the type regclass is written as the catalogue or a setting says when it is read"
    )
    assert {name: why.split()[5] for name, why in found.items()} == {name: name for name in LOOKED_UP} | {
        "a_table": "regclass",
        "pairs": "regclass",
        "grants": "aclitem",
        "span": "money",
        "spans": "money",
    }


def test_postgresql_asks_the_output_function_of_a_type_that_a_user_has_made(
    postgres: EmbeddedPostgres, database: str
) -> None:
    world = test_postgresql.Server(postgres, database)
    for name, volatility in (("looks_up", "STABLE"), ("prints", "IMMUTABLE")):
        world.execute(
            f"CREATE TYPE {name}",
            f"CREATE FUNCTION {name}_in(cstring) RETURNS {name} LANGUAGE internal IMMUTABLE STRICT AS 'textin'",
            f"CREATE FUNCTION {name}_out({name}) RETURNS cstring LANGUAGE internal {volatility} STRICT AS 'textout'",
            f"CREATE TYPE {name} (INPUT = {name}_in, OUTPUT = {name}_out, LIKE = text)",
        )
    world.execute("CREATE TABLE t (id int PRIMARY KEY, a looks_up, b prints, c looks_up[])")
    assert list(decided_elsewhere(world)) == ["a", "c"]


def of_the_moment(world: World, *columns: str) -> dict[str, str]:
    world.execute(
        f"CREATE TABLE t (id int PRIMARY KEY, v int, born date, at datetime, w varchar(20), {', '.join(columns)})"
    )
    return decided_elsewhere(world)


ROWS_ALONE = (
    "next_one int AS (v + 1) VIRTUAL",
    "words varchar(60) AS (CONCAT(w, ' now() @ ''s', 'rand')) VIRTUAL",
    "shifted datetime AS (CONVERT_TZ(at, '+00:00', '+02:00')) VIRTUAL",
    "day varchar(20) AS (DATE_FORMAT(at, '%Y-%m-%d', 'en_US')) VIRTUAL",
)
"""What a column may be computed from without a doubt."""


def test_mariadb_names_each_column_that_is_computed_from_the_moment_of_its_reading(mariadb: EmbeddedMariaDB) -> None:
    found = of_the_moment(
        mysql_contract.made(mariadb),
        *ROWS_ALONE,
        "age int AS (TIMESTAMPDIFF(YEAR, born, CURDATE())) VIRTUAL",
        "is_late boolean AS (at < NOW()) VIRTUAL",
        "since bigint AS (UNIX_TIMESTAMP() - v) VIRTUAL",
        "reader varchar(90) AS (CURRENT_USER()) VIRTUAL",
        "of_schema varchar(90) AS (CONCAT(DATABASE(), '.', w)) VIRTUAL",
        "dice double AS (RAND()) VIRTUAL",
        "setting varchar(90) AS (@@sql_mode) VIRTUAL",
        "in_paris datetime AS (CONVERT_TZ(at, 'UTC', 'Europe/Paris')) VIRTUAL",
    )
    assert found == {
        "age": "it is computed when it is read, from curdate among other things",
        "is_late": "it is computed when it is read, from current_timestamp among other things",
        "since": "it is computed when it is read, from unix_timestamp() among other things",
        "reader": "it is computed when it is read, from current_user among other things",
        "of_schema": "it is computed when it is read, from database among other things",
        "dice": "it is computed when it is read, from rand among other things",
        "setting": "it is computed when it is read, from @ among other things",
        "in_paris": "it is computed when it is read, in a time zone that the server's tables describe",
    }


@pytest.mark.acceptance
def test_mysql_names_them_where_it_does_not_refuse_them(mysql: EmbeddedMySQL) -> None:
    found = of_the_moment(
        mysql_contract.made(mysql),
        *ROWS_ALONE[:3],
        "dice varchar(9) AS (HEX(RANDOM_BYTES(4))) VIRTUAL",
        "in_paris datetime AS (CONVERT_TZ(at, 'UTC', 'Europe/Paris')) VIRTUAL",
    )
    assert list(found) == ["dice", "in_paris"]


def test_sqlite_computes_nothing_but_from_the_row(tmp_path: Path) -> None:
    world = sqlite_file.File(tmp_path / "shop.db", "wal")
    world.execute(
        "CREATE TABLE t (id integer PRIMARY KEY, v int, g int AS (v + 1), at text, d text AS (date(at, '+1 day')))"
    )
    assert decided_elsewhere(world) == {}
