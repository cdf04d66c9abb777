"""A table for upserts and one for appends, which scenarios fill on any database, and its moments as values of their cursors."""

from __future__ import annotations

from incremental_assets.core.model.cursor import CursorType, CursorValue
from tests.conformance.worlds import World

TABLES = """
- "{s}.orders:updated_at:{c}!upsert"
- "{s}.visits:at:{c}!append"
"""
BOTH = ("orders", "visits")
GUARD = 2.5
"""Longer than any margin of the product's: what is stamped before is below the clock's bound."""


def tables(world: World) -> tuple[str, ...]:
    """Statements that make them."""
    return (
        f"CREATE TABLE orders (id int NOT NULL PRIMARY KEY, note varchar(40), updated_at {world.words.stamp})",
        f"CREATE TABLE visits (who varchar(40), at {world.words.stamp})",
    )


def stamped_tables(world: World) -> tuple[str, ...]:
    """The same, of which the database is known to stamp every insert and every update."""
    return (*tables(world), *world.touching("orders", "updated_at"))


def row(number: int, who: str, at: str = "") -> tuple[str, str]:
    """One row of each table, stamped by the database or by this moment."""
    columns, value = (", updated_at", f", {at}") if at else ("", "")
    return (
        f"INSERT INTO orders (id, note{columns}) VALUES ({number}, '{who}'{value})",
        f"INSERT INTO visits (who{columns.replace('updated_', '')}) VALUES ('{who}'{value})",
    )


def moment(world: World, text: str) -> CursorValue:
    """A moment of UTC as the world's cursors have it."""
    kind = CursorType(world.words.cursor)
    return CursorValue.parse(kind, text if kind is CursorType.DATETIME else f"{text}Z")
