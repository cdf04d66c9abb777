"""Where tables begin, asked of a real PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor, NullPolicy, Strategy
from tests.adapters.source import UPDATED, Source


def test_the_smallest_cursor_of_each_table_and_none_of_those_that_cannot_say(source: Source) -> None:
    source.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, updated_at timestamptz, created_at timestamptz)",
        "INSERT INTO orders VALUES (1, '2024-03-01 12:00+00', NULL), (2, NULL, '2024-02-01 12:00+00')",
        "CREATE TABLE wide (n numeric(30,0))",
        "INSERT INTO wide VALUES (-7), ('NaN'), (NULL)",
        "CREATE TABLE bare (id int PRIMARY KEY, updated_at timestamptz)",
        "CREATE TABLE gone (id int PRIMARY KEY, updated_at timestamptz)",
    )
    always = NullPolicy.ALWAYS
    specs = [
        source.spec("orders", UPDATED),
        source.spec("orders", replace(UPDATED, fallback="created_at")),
        source.spec("wide", Cursor("n", CursorType.INTEGER, always)),
        source.spec("bare", UPDATED),
        replace(source.spec("bare", UPDATED), strategy=Strategy.FULL_REFRESH, cursor=None),
        source.spec("gone", UPDATED),
    ]
    source.execute("DROP TABLE gone")
    found = source.open().lowest(specs)
    assert [str(value) if value else None for value in found] == [
        "2024-03-01T12:00:00Z",
        "2024-02-01T12:00:00Z",
        "-7",
        None,
        None,
        None,
    ]
