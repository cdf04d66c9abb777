"""Of which types and collations does each database take values for equal that a copy holds differently, and what does it compare them by?"""

from __future__ import annotations

import sqlite3

import pytest

from incremental_assets.adapters.databases.postgresql.collation import Comparing, words
from incremental_assets.adapters.databases.postgresql.types import as_text
from incremental_assets.adapters.databases.sqlite.catalogue import read_catalogue
from incremental_assets.adapters.databases.sqlite.collation import collation_key
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies import Strategy


@pytest.mark.parametrize(
    ("text", "kind", "collation", "element", "told"),
    [
        ("bigint", "b", "", "", ""),
        ("text", "b", "", "", ""),
        ("character varying(9)", "b", "", "", ""),
        ("character(9)", "b", "", "", ""),
        ("uuid", "b", "", "", ""),
        ("timestamp with time zone", "b", "", "", ""),
        ("numeric(10,2)", "b", "", "", ""),
        ("integer[]", "b", "", "integer", ""),
        ("mood", "e", "", "", ""),
        ("text", "b", "public.nocase@153.120", "", "public.nocase@153.120"),
        ("bpchar", "b", "", "", "bpchar"),
        ("numeric", "b", "", "", "numeric"),
        ("citext", "b", "", "", "citext"),
        ("interval", "b", "", "", "interval"),
        ("interval day to second(3)", "b", "", "", "interval"),
        ("interval[]", "b", "", "interval", "hash"),
        ("double precision", "b", "", "", "float"),
        ("jsonb", "b", "", "", "jsonb"),
        ("numeric[]", "b", "", "numeric", "hash"),
    ],
)
def test_postgresql_compares_values_by_their_type_and_collation(
    text: str, kind: str, collation: str, element: str, told: str
) -> None:
    assert words(Comparing(text, kind, text, collation, element, hashes=True)) == (told, "")


def test_a_type_without_a_hash_of_its_own_is_no_key_in_postgresql() -> None:
    found = words(Comparing("tsvector", "b", "tsvector", "", "", hashes=False))
    assert found == ("", "PostgreSQL does not show which of its values it takes for equal")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("character(3)", "textin(bpcharout(v))"),
        ("bpchar", "textin(bpcharout(v))"),
        ("character(3)[]", "CAST(v AS text)"),
    ],
)
def test_the_blanks_of_a_char_are_its_text_and_an_array_prints_its_own(kind: str, told: str) -> None:
    assert as_text(Column("code", kind, "string", Fidelity.TEXT), "v") == told


def shape(declared: str, connection: sqlite3.Connection) -> TableShape:
    connection.execute(f"CREATE TABLE codes (no INTEGER, {declared})")
    (found,) = read_catalogue(connection, "shop", ["main"])
    return found


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("code INTEGER PRIMARY KEY", ""),
        ("code TEXT NOT NULL PRIMARY KEY", ""),
        ("code NUMERIC NOT NULL PRIMARY KEY", ""),
        ("code TEXT COLLATE NOCASE NOT NULL PRIMARY KEY", "nocase"),
        ("code TEXT NOT NULL, PRIMARY KEY (code COLLATE RTRIM)", "rtrim"),
        ("code TEXT COLLATE NOCASE NOT NULL, PRIMARY KEY (code COLLATE BINARY)", ""),
        ("code NOT NULL PRIMARY KEY", "numbers"),
        ("code COLLATE NOCASE NOT NULL PRIMARY KEY", "nocase numbers"),
    ],
)
def test_sqlite_compares_keys_by_their_indexes_and_types(declared: str, told: str) -> None:
    connection = sqlite3.connect(":memory:")
    found = shape(declared, connection)
    connection.close()
    assert [column.collation for column in found.compared(("code",))] == [told]


def test_a_key_with_a_collation_of_the_application_is_refused_with_the_cure() -> None:
    connection = sqlite3.connect(":memory:")
    connection.create_collation("ours", lambda one, other: (one > other) - (one < other))
    found = shape("code TEXT COLLATE ours NOT NULL PRIMARY KEY", connection)
    connection.close()
    told = TableConfig("main", "codes", Strategy.UPSERT, Cursor("no", CursorType.INTEGER))
    with pytest.raises(SourceRefused, match=r"by 'code', a TEXT, and the collation ours is .*; name another key"):
        resolve(told, found)


@pytest.mark.parametrize("collation", ["BINARY", "NOCASE", "RTRIM"])
@pytest.mark.parametrize("kind", ["TEXT", ""])
def test_sqlite_takes_keys_for_equal_where_their_collation_keys_are(kind: str, collation: str) -> None:
    """Each pair of texts is shown to the library itself; of a number and its text, which are two, one is held."""
    connection = sqlite3.connect(":memory:")
    found = shape(f"code {kind} COLLATE {collation} NOT NULL PRIMARY KEY", connection)
    spec = resolve(TableConfig("main", "codes", Strategy.UPSERT, Cursor("no", CursorType.INTEGER)), found)
    texts = [
        *(
            "a",
            "A",
            "a ",
            "A  ",
            " a",
            "a\t",
            "a\n",
            "é",
            "É",
            "e\u0301",
            "ß",
            "ss",
            "SS",
            "ａ",
            "Ａ",
            "",
            " ",
            "İ",
            "i",
        ),
        *("K", "\u212a", "k", "a\u3000", "a\xa0", "Z", "z", "[", "{", "@", "`", "_", "1x", "1X"),
    ]
    told = collation_key(spec, ["code"])
    for one in texts:
        for other in texts:
            (same,) = connection.execute(
                f"SELECT CAST(? AS TEXT) = CAST(? AS TEXT) COLLATE {collation}", (one, other)
            ).fetchone()
            keys = [told([each]) if told else each for each in (one, other)]
            assert (keys[0] == keys[1]) == bool(same), (one, other)
    connection.close()
