"""A SQLite file in which something cannot be described: it is named with what the library says of it, and the tables beside it are as they are."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.sqlite import catalogue, session
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.strategies import Strategy
from tests.adapters.source import planned
from tests.model.mutants.variant import without_the_thought

PARTS = ("CREATE TABLE parts (id INTEGER PRIMARY KEY, size int)", "INSERT INTO parts VALUES (1, 10)")


def file_of(folder: Path, *statements: str) -> SqlProbe:
    """A file of an application that has a function and a collation of its own."""
    connection = sqlite3.connect(folder / "shop.db", isolation_level=None)
    connection.create_function("doubled", 1, lambda value: 2 * value, deterministic=True)
    connection.create_collation("ours", lambda one, other: (one > other) - (one < other))
    for statement in (*PARTS, *statements):
        connection.execute(statement)
    connection.close()
    return SqlProbe(Address("sqlite", "", 0, str(folder / "shop.db"), "", "", schemas=("main",)), "shop")


def entry(sql: str, name: str, kind: str = "view") -> tuple[str, ...]:
    """An entry of the schema as it stands there, whether this library can read it or not."""
    return (
        "PRAGMA writable_schema = ON",
        f"INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('{kind}', {name}, {name}, 0, {sql})",
    )


def told(probe: SqlProbe) -> dict[str, TableShape]:
    return {shape.id.name: shape for shape in probe.catalogue()}


@pytest.mark.parametrize(
    ("statements", "name", "words"),
    [
        (("CREATE VIEW v AS SELECT doubled(id) FROM parts",), "v", "no such function: doubled"),
        (("CREATE VIEW v AS SELECT height FROM parts",), "v", "no such column: height"),
        (("CREATE VIEW v AS SELECT * FROM w", "CREATE VIEW w AS SELECT * FROM v"), "v", "circularly defined"),
        (
            entry("'CREATE VIEW v AS SELECT group_concat(id ORDER OF id) FROM parts'", "'v'"),
            "v",
            "cannot read its definition",
        ),
        (entry("'CREATE TABLE t (x) FUTURISTIC'", "'t'", "table"), "t", "unknown table option: FUTURISTIC"),
        (entry("cast('CREATE VIEW ' || x'76ff' || ' AS SELECT 1' AS text)", "x'76ff'"), "v\\udcff", "not UTF-8"),
        (
            ("CREATE VIRTUAL TABLE boxes USING rtree(id, a, b)", "UPDATE boxes_node SET data = x'00'"),
            "boxes",
            "undersize RTree blobs",
        ),
        (
            ("CREATE VIRTUAL TABLE words USING fts5(word)", "DELETE FROM words_config"),
            "words",
            "invalid fts5 file format",
        ),
        (("CREATE VIEW v AS SELECT 1 AS \"' || cast(x'76ff' AS text) || '\"",), "", ""),
    ],
    ids=[
        "function",
        "column",
        "circle",
        "syntax of a later library",
        "option of a later library",
        "name",
        "damaged rectangles",
        "damaged search",
        "fine",
    ],
)
def test_it_is_named_with_what_the_library_says(
    tmp_path: Path, statements: tuple[str, ...], name: str, words: str
) -> None:
    found = told(file_of(tmp_path, *statements))
    assert found["parts"].names == ("id", "size")
    assert found["parts"].primary_key == ("id",)
    assert {each: words in shape.undescribed for each, shape in found.items() if shape.undescribed and each != "w"} == (
        {name: True} if name else {}
    )


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE INDEX by_doubled ON parts (doubled(id))",
        "CREATE TABLE made (id int, twice int GENERATED ALWAYS AS (doubled(id)))",
        "CREATE TABLE checked (id int CHECK (doubled(id) > 0))",
        "CREATE TABLE ordered (name text COLLATE ours PRIMARY KEY)",
        "CREATE TRIGGER watch AFTER INSERT ON parts BEGIN INSERT INTO nowhere VALUES (doubled(1)); END",
    ],
)
def test_what_belongs_to_the_application_elsewhere_in_the_file_is_no_matter(tmp_path: Path, statement: str) -> None:
    probe = file_of(tmp_path, statement)
    spec = TableSpec(told(probe)["parts"], Strategy.FULL_REFRESH)
    (measured,) = probe.measure(spec, (Window(None, None),))
    assert measured.rows == 1


def test_rows_of_tables_beside_a_damaged_entry_are_read(tmp_path: Path) -> None:
    probe = file_of(tmp_path, *entry("'CREATE VIEW v AS SELEKT 1'", "'v'"))
    spec = TableSpec(told(probe)["parts"], Strategy.FULL_REFRESH)
    assert probe.measure(spec, (Window(None, None),))[0].rows == 1


def test_doctor_tells_of_every_table_beside_a_view_that_is_broken(tmp_path: Path) -> None:
    probe = file_of(tmp_path, "CREATE VIEW v AS SELECT doubled(id) FROM parts", "CREATE VIEW w (a, b) AS SELECT 1")
    found = told(probe)
    facts = probe.facts([Wanted(found[name].id) for name in ("v", "w", "parts")])
    assert [(each.exists, each.rows) for each in facts.tables] == [(True, 0), (True, 0), (True, 1)]


def test_a_table_that_cannot_be_read_is_proposed_and_planned_beside_others(tmp_path: Path) -> None:
    probe = file_of(tmp_path, "CREATE TABLE made (id int, at date, twice date GENERATED ALWAYS AS (doubled(id)))")
    found = told(probe)
    assert [
        [each.column.name for each in traits.columns] for traits in probe.describe([found["made"], found["parts"]])
    ] == [
        ["at", "twice"],
        ["id"],
    ]
    refused, read = probe.estimates(
        [planned(probe, TableSpec(found[name], Strategy.FULL_REFRESH)) for name in ("made", "parts")]
    )
    assert (refused.unknown, read.unknown) == (
        "the source does not explain it (unknown function: doubled())",
        "SQLite does not estimate rows",
    )


@pytest.mark.parametrize(
    ("statements", "variant", "words"),
    [
        (
            ("CREATE VIEW v AS SELECT doubled(id) FROM parts",),
            without_the_thought(catalogue, "_described", ("not is_of_one_object", "is_of_one_object")),
            "no such function",
        ),
        (
            entry("'CREATE VIEW v AS SELEKT 1'", "'v'"),
            without_the_thought(session, "tolerate", ("= ON", "= OFF")),
            "malformed database schema",
        ),
    ],
    ids=["one that is broken is told by all", "a damaged entry closes the file"],
)
def test_a_known_bad_variant_describes_nothing(
    tmp_path: Path, statements: tuple[str, ...], variant: Any, words: str
) -> None:
    probe = file_of(tmp_path, *statements)
    with variant(), pytest.raises(SourceRefused, match=words):
        probe.catalogue()
