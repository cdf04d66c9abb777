"""Which column of a SQLite table is the number of its rows, and whether a number that was given is given again: by what the library does, and not by words of a text."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.model.table_shape import TableShape


def shape_of(folder: Path, *statements: str) -> TableShape:
    with sqlite3.connect(folder / "shop.db") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    probe = SqlProbe(Address("sqlite", "", 0, str(folder / "shop.db"), "", "", schemas=("main",)), "shop")
    (found,) = probe.catalogue()
    return found


def drawn(shape: TableShape) -> set[str]:
    return {column.name for column in shape.columns if column.sequence is not None}


@pytest.mark.parametrize(
    ("statement", "counts"),
    [
        ("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a)", True),
        ("CREATE TABLE t (id integer primary key /* as it was */ autoincrement, a)", True),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a)", False),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, -- no AUTOINCREMENT\n a)", False),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY /* AUTOINCREMENT */, a)", False),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a) /* AUTOINCREMENT", False),
        ('CREATE TABLE t (id INTEGER PRIMARY KEY, "autoincrement" int)', False),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, [autoincrement] int)", False),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a DEFAULT 'autoincrement')", False),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, autoincrement_a int)", False),
        ("CREATE TABLE `autoincrement` (id INTEGER PRIMARY KEY)", False),
    ],
)
def test_only_the_word_autoincrement_keeps_the_number_of_a_deleted_row_from_coming_again(
    tmp_path: Path, statement: str, *, counts: bool
) -> None:
    assert drawn(shape_of(tmp_path, statement)) == ({"id"} if counts else set())


@pytest.mark.parametrize(
    ("statement", "key"),
    [
        ("CREATE TABLE t (id INTEGER PRIMARY KEY, a)", ("id",)),
        ("CREATE TABLE t (id INTEGER, a, PRIMARY KEY (id DESC))", ("id",)),
        ("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY DESC, a)", ("id",)),
        ("CREATE TABLE t (id INT PRIMARY KEY, a) WITHOUT ROWID", ("id",)),
        ("CREATE TABLE t (id INTEGER PRIMARY KEY DESC, a)", ()),
        ("CREATE TABLE t (id INT PRIMARY KEY, a)", ()),
    ],
)
def test_a_key_that_may_be_null_is_not_taken_for_the_number_of_the_row(
    tmp_path: Path, statement: str, key: tuple[str, ...]
) -> None:
    assert shape_of(tmp_path, statement).primary_key == key


def test_rows_without_a_key_come_twice_where_the_number_is_the_index_of_another() -> None:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY DESC, a)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(None, 1), (None, 1), ("x", 2)])
        assert connection.execute("SELECT id FROM t ORDER BY rowid").fetchall() == [(None,), (None,), ("x",)]
