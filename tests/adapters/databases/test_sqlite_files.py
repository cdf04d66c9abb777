"""Files that a process left in the middle of its work, and tables that a module of the library makes."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Request, SyncPlan
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases import sqlite_file


def of(file: Path) -> SqlProbe:
    return SqlProbe(Address("sqlite", "", 0, str(file), "", "", schemas=("main",)), "shop")


def read_whole(file: Path) -> None:
    for shape in of(file).catalogue():
        of(file).peek(TableSpec(shape, Strategy.FULL_REFRESH), 5_000)


def test_a_journal_from_which_the_file_has_to_be_put_right_is_told_and_what_it_names_is_the_cure(
    tmp_path: Path,
) -> None:
    writer = sqlite3.connect(tmp_path / "live.db")
    writer.execute("CREATE TABLE orders (id integer PRIMARY KEY, note text)")
    writer.executemany("INSERT INTO orders VALUES (?, ?)", [(number, "x" * 500) for number in range(5000)])
    writer.commit()
    writer.execute("PRAGMA cache_size = 5")
    writer.execute("UPDATE orders SET note = 'half'")
    for name in ("shop.db", "shop.db-journal"):
        shutil.copy(tmp_path / name.replace("shop", "live"), tmp_path / name)
    writer.close()
    before = (tmp_path / "shop.db").read_bytes()

    with pytest.raises(SourceUnreachable, match=r"ended within a transaction and left shop\.db-journal.*open it once"):
        of(tmp_path / "shop.db").catalogue()

    assert (tmp_path / "shop.db").read_bytes() == before
    mended = sqlite3.connect(tmp_path / "shop.db")
    mended.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    mended.close()
    assert [shape.id.name for shape in of(tmp_path / "shop.db").catalogue()] == ["orders"]


def test_a_file_that_lost_its_end_is_told_as_damaged(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as whole:
        whole.execute("CREATE TABLE orders (id integer PRIMARY KEY, note text)")
        whole.executemany("INSERT INTO orders VALUES (?, ?)", [(number, "x" * 500) for number in range(5000)])
        whole.commit()
    with file.open("r+b") as cut:
        cut.truncate(file.stat().st_size // 2)

    with pytest.raises(SourceRefused, match=r"shop\.db is damaged or cut short .*; restore it from a backup"):
        read_whole(file)


def test_virtual_tables_are_tables_and_those_that_hold_what_they_show_are_not(tmp_path: Path) -> None:
    file = sqlite3.connect(tmp_path / "shop.db")
    file.executescript(
        "CREATE VIRTUAL TABLE notes USING fts5(title, body); INSERT INTO notes VALUES ('one', 'first'), ('two', 'second');"
        "CREATE VIRTUAL TABLE places USING rtree(id, west, east); INSERT INTO places VALUES (7, 1.5, 2.5);"
        "CREATE TABLE codes (code text PRIMARY KEY, n integer) WITHOUT ROWID; INSERT INTO codes VALUES ('a', 1);"
    )
    file.close()
    shapes = {shape.id.name: shape for shape in of(tmp_path / "shop.db").catalogue()}

    assert {name: (shape.names, shape.undescribed) for name, shape in shapes.items()} == {
        "codes": (("code", "n"), ""),
        "notes": (("title", "body"), ""),
        "places": (("id", "west", "east"), ""),
    }
    rows = {}
    for name, shape in shapes.items():
        spec, probe = TableSpec(shape, Strategy.FULL_REFRESH, None), of(tmp_path / "shop.db")
        decision = plan(spec, Request("run"), None, CommitIds("app", 0, "batch"), DatabaseObservation(probe.bound()))
        assert isinstance(decision, SyncPlan)
        with probe.snapshot(decision) as seen:
            rows[name] = (seen.rows, probe.measure(spec, (Window(None, None),))[0].rows)
    assert rows == {"codes": (1, 1), "notes": (2, 2), "places": (1, 1)}


def test_a_virtual_table_whose_module_is_not_here_is_named_and_takes_no_other_with_it(tmp_path: Path) -> None:
    file = sqlite3.connect(tmp_path / "shop.db")
    file.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
    file.execute("PRAGMA writable_schema = ON")
    file.execute(
        "INSERT INTO sqlite_schema VALUES ('table', 'routes', 'routes', 0, 'CREATE VIRTUAL TABLE routes USING elsewhere(a)')"
    )
    file.commit()
    file.close()
    shapes = {shape.id.name: shape.undescribed for shape in of(tmp_path / "shop.db").catalogue()}
    assert shapes["orders"] == ""
    assert "no such module: elsewhere" in shapes["routes"]


@pytest.mark.parametrize(
    ("held", "kept_out"),
    [
        (("BEGIN IMMEDIATE", "INSERT INTO orders (id) VALUES (2)"), "BEGIN IMMEDIATE"),
        (("BEGIN", "SELECT * FROM orders"), "BEGIN EXCLUSIVE"),
    ],
    ids=["writes", "reads"],
)
def test_a_look_takes_no_lock_from_whoever_has_the_file_open_in_its_own_process(
    tmp_path: Path, held: tuple[str, ...], kept_out: str
) -> None:
    """To close a file gives up all locks of a process on it: a table would be read while its pages are written over."""
    world = sqlite_file.File(tmp_path / "shop.db", "delete")
    world.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
    beside = sqlite3.connect(world.path, isolation_level=None)
    for statement in held:
        beside.execute(statement).fetchall()
    probe = SqlProbe(world.address, "shop")
    assert probe.bound().identity is not None
    probe.close()
    other = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute(sys.argv[2])"
    tried = subprocess.run(
        [sys.executable, "-c", other, str(world.path), kept_out], capture_output=True, text=True, check=False
    )
    beside.close()
    assert "database is locked" in tried.stderr
