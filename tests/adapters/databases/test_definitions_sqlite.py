"""Every change of a table's definition that was looked at in SQLite; docs/guarantee.md has the list in words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.errors import SourceRefused
from tests.adapters.databases import sqlite_file
from tests.adapters.databases.contract import planned, spec_of
from tests.adapters.databases.definition_contract import Change, as_landed, compared, outcomes, wanted

OF_FILE = (
    "CREATE TABLE {t} (id integer PRIMARY KEY, v int, updated_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, last int)",
    "INSERT INTO {t} (id, v, last) VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)",
)
KEPT = ("CREATE TABLE kept AS SELECT * FROM {t}", "UPDATE kept SET v = 20 WHERE id = 2")
SQLITE = [
    Change(
        "a column is dropped and added again",
        OF_FILE,
        ("ALTER TABLE {t} DROP COLUMN last", "ALTER TABLE {t} ADD COLUMN last int DEFAULT 9"),
        3,
    ),
    Change(
        "the table is made anew in its own words under old stamps",
        (*OF_FILE, *KEPT),
        ("DROP TABLE {t}", OF_FILE[0], "INSERT INTO {t} SELECT * FROM kept"),
        1,
    ),
    Change(
        "the table is made anew, with an index and another table",
        (*OF_FILE, *KEPT),
        (
            "DROP TABLE {t}",
            OF_FILE[0],
            "INSERT INTO {t} SELECT * FROM kept",
            "CREATE INDEX i ON {t} (v)",
            "CREATE TABLE more (id int)",
        ),
        1,
    ),
    Change(
        "two tables exchange their names",
        (
            *OF_FILE,
            OF_FILE[0].replace("{t}", "{t}_x"),
            "INSERT INTO {t}_x SELECT id, v + id / 3, updated_at, last FROM {t}",
        ),
        ("ALTER TABLE {t} RENAME TO old", "ALTER TABLE {t}_x RENAME TO {t}"),
        1,
    ),
    Change(
        "a column's words are written over",
        (
            "CREATE TABLE {t} (id integer PRIMARY KEY, v int, g int AS (v + 1), updated_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP)",
            "INSERT INTO {t} (id, v) VALUES (1, 1), (2, NULL)",
        ),
        (
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_schema SET sql = replace(sql, 'v + 1', 'v + 2') WHERE name = '{t}'",
        ),
        1,
    ),
    Change(
        "two columns of one type exchange their places in words that are written over",
        (OF_FILE[0], "INSERT INTO {t} (id, v, last) VALUES (1, 1, 1), (2, 2, 20), (3, 3, 30)"),
        (
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'v int', 'x int'), 'last int', 'v int'), 'x int', 'last int') WHERE name = '{t}'",
        ),
        # The copy of this contract hashes its rows by places, as they were declared before; one in a lake by names.
        0,
    ),
    Change(
        "a view below a view is replaced",
        (
            OF_FILE[0].replace("{t}", "{t}_of"),
            OF_FILE[1].replace("{t}", "{t}_of"),
            "CREATE VIEW inner_one AS SELECT id, v + 0 AS v, updated_at FROM {t}_of",
            "CREATE VIEW {t} AS SELECT * FROM inner_one",
        ),
        ("DROP VIEW inner_one", "CREATE VIEW inner_one AS SELECT id, v + id / 3 AS v, updated_at FROM {t}_of"),
        1,
    ),
    Change("the file is written anew", OF_FILE, ("VACUUM",), 0),
    # One number counts the changes of all of a file: of which table they are, nothing tells.
    Change("a column without values is added", OF_FILE, ("ALTER TABLE {t} ADD COLUMN more int",), 3),
    Change(
        "indexes, tables, views and triggers come",
        OF_FILE,
        (
            "CREATE INDEX i ON {t} (v)",
            "CREATE TABLE more (id int PRIMARY KEY)",
            "CREATE VIEW w AS SELECT * FROM {t}",
            "CREATE TRIGGER r AFTER DELETE ON {t} BEGIN SELECT 1; END",
        ),
    ),
    Change(
        "statistics a second time, an index made anew",
        (*OF_FILE, "CREATE INDEX i ON {t} (v)", "ANALYZE"),
        ("ANALYZE", "REINDEX"),
    ),
]


@pytest.mark.parametrize("change", SQLITE, ids=lambda change: change.of)
def test_sqlite_tells_of_changes_after_which_rows_show_something_else(tmp_path: Path, change: Change) -> None:
    world = sqlite_file.File(tmp_path / "shop.db", "wal")
    assert outcomes(world, [change]) == wanted([change])


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize("exchanged", ["made by the same statements", "an older copy"])
def test_sqlite_tells_of_a_file_that_was_put_in_the_place_of_the_one_that_was_read(
    tmp_path: Path, journal: str, exchanged: str
) -> None:
    """Its schema is the same to the letter, and so may be the count of changes in its header."""
    world, other = (sqlite_file.File(tmp_path / name, journal) for name in ("shop.db", "other.db"))
    filled = (
        OF_FILE[0].replace("{t}", "t"),
        "INSERT INTO t VALUES (1, 1, '2024-01-01 00:00:00', 1), (2, 2, '2024-01-01 00:00:00', 2)",
    )
    world.execute(*filled)
    if exchanged == "an older copy":
        shutil.copy(world.path, other.path)
    else:
        other.execute(*filled)
    probe, spec = SqlProbe(world.address, "shop"), spec_of(world, "t", key=("id",), key_enforced=True)
    before = as_landed(probe, spec)
    other.execute("UPDATE t SET v = 20 WHERE id = 2", "PRAGMA wal_checkpoint(TRUNCATE)")
    other.path.rename(world.path)
    assert compared(probe, spec_of(world, "t", key=("id",), key_enforced=True), before) == 1
    probe.close()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_file_that_was_put_in_the_place_of_the_planned_one_is_not_read(tmp_path: Path, journal: str) -> None:
    """The one before may be back at the next look, which would then find nothing altered, and its rows unread below the watermark."""
    world, other = (sqlite_file.File(tmp_path / name, journal) for name in ("shop.db", "other.db"))
    world.execute(*(each.replace("{t}", "t") for each in OF_FILE), "PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(world.path, other.path)
    other.execute("DELETE FROM t WHERE id = 3", "PRAGMA wal_checkpoint(TRUNCATE)")
    probe, spec = SqlProbe(world.address, "shop"), spec_of(world, "t", key=("id",), key_enforced=True)
    plan = planned(probe, spec)
    world.path.rename(tmp_path / "aside.db")
    other.path.rename(world.path)
    with (
        pytest.raises(SourceRefused, match=r"t: the table was altered .*another file has been put"),
        probe.snapshot(plan),
    ):
        raise AssertionError("it was read")
    (tmp_path / "aside.db").rename(world.path)
    with probe.snapshot(plan) as numbers:
        assert numbers.rows == 3
    probe.close()
