"""Of which types and collations does each database take values for equal that a copy tells apart?"""

from __future__ import annotations

import sqlite3

import pytest

from incremental_assets.adapters.databases.mysql.equality import equality as of_mysql
from incremental_assets.adapters.databases.postgresql.equality import equality as of_postgresql
from incremental_assets.adapters.databases.sqlite.catalogue import read_catalogue


@pytest.mark.parametrize(
    ("kind", "collation", "told"),
    [
        ("int(11)", "", ""),
        ("decimal(10,2)", "", ""),
        ("varbinary(20)", "", ""),
        ("enum('a','b')", "utf8mb4_general_ci", ""),
        ("char(2)", "utf8mb4_bin", ""),
        ("varchar(20)", "utf8mb4_0900_bin", ""),
        ("varchar(20)", "utf8mb4_nopad_bin", ""),
        ("varchar(20)", "utf8mb4_bin", "the collation utf8mb4_bin"),
        ("varchar(20)", "utf8mb4_general_ci", "the collation utf8mb4_general_ci"),
        ("char(2)", "latin1_swedish_ci", "the collation latin1_swedish_ci"),
        ("double", "", "0 and -0 of a floating point number"),
    ],
)
def test_mysql_compares_texts_by_their_collation(kind: str, collation: str, told: str) -> None:
    assert of_mysql(kind, collation) == told


@pytest.mark.parametrize(
    ("text", "kind", "collation", "told"),
    [
        ("bigint", "b", "", ""),
        ("text", "b", "", ""),
        ("character varying(9)", "b", "", ""),
        ("uuid", "b", "", ""),
        ("timestamp with time zone", "b", "", ""),
        ("numeric(10,2)", "b", "", ""),
        ("integer[]", "b", "", ""),
        ("mood", "e", "", ""),
        ("text", "b", "nocase", "the collation nocase"),
        ("numeric", "b", "", "the type numeric"),
        ("citext", "b", "", "the type citext"),
        ("interval", "b", "", "the type interval"),
        ("double precision", "b", "", "the type double precision"),
        ("jsonb", "b", "", "the type jsonb"),
    ],
)
def test_postgresql_compares_values_by_their_type_and_collation(
    text: str, kind: str, collation: str, told: str
) -> None:
    assert of_postgresql(text, kind, text, collation) == told


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("code INTEGER PRIMARY KEY", ""),
        ("code TEXT PRIMARY KEY", ""),
        ("code NUMERIC PRIMARY KEY", ""),
        ("code TEXT COLLATE NOCASE PRIMARY KEY", "the collation NOCASE"),
        ("code TEXT, PRIMARY KEY (code COLLATE RTRIM)", "the collation RTRIM"),
        ("code PRIMARY KEY", "a column of no type, in which 1 is 1.0"),
    ],
)
def test_sqlite_compares_keys_by_their_indexes_and_types(declared: str, told: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE codes ({declared})")
    (shape,) = read_catalogue(connection, "shop", ["main"])
    connection.close()
    assert [column.equality for column in shape.columns] == [told]
