"""SQLite keeps the contract, and what is its own: a look at its lock, and values of any type in any column."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.databases.sqlite import bound, snapshot, window_queries
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.discovery.traits import Sample
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor, NullPolicy
from incremental_assets.core.model.window import Window
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases import contract
from tests.adapters.databases.collation_contract import *  # noqa: F403 - of keys that are written in several ways
from tests.adapters.databases.contract import *  # noqa: F403 - the suite
from tests.adapters.databases.contract import of_window, orders, planned, spec_of
from tests.adapters.databases.keys_contract import *  # noqa: F403 - of keys
from tests.adapters.databases.mask_contract import *  # noqa: F403 - of columns that are masked
from tests.adapters.databases.names_contract import *  # noqa: F403 - of columns that the copy names otherwise
from tests.adapters.databases.places_contract import *  # noqa: F403 - of rows by their keys
from tests.adapters.databases.ranges_contract import *  # noqa: F403 - of ranges of a key
from tests.adapters.databases.settings_contract import *  # noqa: F403 - of what is set against us
from tests.adapters.databases.sqlite_file import File, touching, world
from tests.adapters.databases.stamps_contract import *  # noqa: F403 - of who stamps
from tests.adapters.databases.stamps_contract import Stamps
from tests.adapters.databases.where_contract import *  # noqa: F403 - of rows that are chosen
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ("world",)

NOW, HOUR = "strftime('%Y-%m-%d %H:%M:%f', 'now')", "strftime('%Y-%m-%d %H:00:00', 'now')"


@pytest.fixture
def stamps() -> Stamps:
    return Stamps(
        f"({HOUR})",
        "(datetime('now', '-1 hour'))",
        triggers=lambda table: (touching(table, "at"),),
        off=lambda table: (f"DROP TRIGGER {table}_touch",),
        again=lambda table: (touching(table, "at"),),
        renumbered=(
            "CREATE TRIGGER renumbers AFTER INSERT ON things BEGIN UPDATE things SET id = -NEW.id WHERE id = NEW.id; END",
        ),
        writes=lambda statement: (f"CREATE TRIGGER writes AFTER INSERT ON others BEGIN {statement}; END",),
    )


TOUCHED = (
    "CREATE TABLE things (id INTEGER PRIMARY KEY, note text, other integer, at timestamp NOT NULL DEFAULT (datetime('now')))",
    touching("things", "at"),
    "INSERT INTO things (note, at) VALUES ('one', '2024-01-01'), ('two', '2024-01-01')",
)


@pytest.mark.parametrize(
    ("made", "written", "left", "doubt"),
    [
        (
            "CREATE TRIGGER ends AFTER UPDATE ON things BEGIN SELECT RAISE(IGNORE) WHERE NEW.note = 'gone'; END",
            "UPDATE things SET note = 'gone' WHERE id = 1",
            1,
            "the trigger ends may end a write before it is stamped, by RAISE(IGNORE)",
        ),
        (
            "CREATE TRIGGER marks AFTER UPDATE OF at ON things BEGIN UPDATE things SET other = 1 WHERE id = 2; END",
            "UPDATE things SET note = 'new' WHERE id = 1",
            2,
            "the trigger marks may change other rows of things while the trigger things_touch is at work",
        ),
        (
            "CREATE TRIGGER counts AFTER UPDATE OF at ON things BEGIN INSERT INTO log VALUES (NEW.id); END; CREATE TRIGGER back AFTER INSERT ON log BEGIN UPDATE things SET other = 1 WHERE id = 2; END",
            "UPDATE things SET note = 'new' WHERE id = 1",
            2,
            "the trigger counts may change other rows of things",
        ),
        (
            "CREATE TRIGGER counts AFTER UPDATE ON things BEGIN INSERT INTO log SELECT count(*) FROM things; DELETE FROM log WHERE id = 7; END",
            "UPDATE things SET note = 'new' WHERE id = 1",
            None,
            "",
        ),
        (
            "CREATE TRIGGER counts AFTER UPDATE ON things BEGIN UPDATE things SET other = 1 + NEW.other WHERE id = NEW.id; END",
            "UPDATE things SET note = 'new' WHERE id = 1",
            None,
            "",
        ),
    ],
)
def test_a_row_that_a_trigger_keeps_from_being_stamped_is_not_promised(
    world: File, made: str, written: str, left: int | None, doubt: str
) -> None:
    """What the library does is asserted too: the row has changed, and its stamp has not."""
    world.execute(*TOUCHED, "CREATE TABLE log (id integer)")
    with closing(world.connect()) as connection:
        connection.executescript(made)
        before = connection.execute("SELECT * FROM things ORDER BY id").fetchall()
        probe = SqlProbe(world.address, "shop")
        settled = planned(probe, spec_of(world, "things", Cursor("at", world.words.stamps))).reading.settled
        probe.close()
        connection.execute(written)
        after = connection.execute("SELECT * FROM things ORDER BY id").fetchall()
    assert (settled.guarantee, doubt in settled.reason) == (
        Guarantee.BEST_EFFORT if doubt else Guarantee.SETTLED,
        True,
    ), settled.reason
    unstamped = [new[0] for old, new in zip(before, after, strict=True) if old != new and old[3] == new[3]]
    assert unstamped == ([left] if left else [])


def test_while_somebody_writes_the_run_is_best_effort_and_names_the_process(
    world: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "PATIENCE", (0.0, 0.01))
    spec, probe = orders(world), SqlProbe(world.address, "shop")
    assert planned(probe, spec).reading.settled.guarantee is Guarantee.SETTLED
    with world.writing("INSERT INTO orders (note) VALUES ('late')"):
        settled = planned(probe, spec).reading.settled
    assert settled.guarantee is Guarantee.BEST_EFFORT
    assert "has held the file's write lock" in settled.reason


@pytest.mark.parametrize(
    ("look", "said"),
    [
        ("print(0)", "a process that is not seen from here has held the file's write lock for longer than"),
        ("raise PermissionError('not yours')", "could not be seen (PermissionError: not yours); let this user read"),
    ],
)
def test_a_writer_that_is_not_seen_has_no_number(
    world: File, monkeypatch: pytest.MonkeyPatch, look: str, said: str
) -> None:
    monkeypatch.setattr(bound, "PATIENCE", (0.0, 0.01))
    monkeypatch.setattr(bound, "_LOOK", look)
    settled = planned(SqlProbe(world.address, "shop"), orders(world)).reading.settled
    assert settled.guarantee is Guarantee.BEST_EFFORT
    assert said in settled.reason


def test_the_look_at_the_lock_takes_none_and_gives_none_up(world: File) -> None:
    """Whoever closes a file gives up every lock of its process on it: the writer of this very process would lose its own."""
    orders(world)
    probe = SqlProbe(world.address, "shop")
    with world.writing("INSERT INTO orders (note) VALUES ('mine')") as commit:
        probe.bound()
        other = world.connect()
        other.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
        commit()
    world.execute("INSERT INTO orders (note) VALUES ('and on')")


def test_a_column_that_is_called_as_a_word_of_truth_says_nothing_of_which_rows_are_read(world: File) -> None:
    world.execute(
        'CREATE TABLE judged (id INTEGER PRIMARY KEY, "true" TEXT, "false" TEXT, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)',
        "INSERT INTO judged (\"true\", \"false\") VALUES ('0', '1'), ('no', 'yes'), (NULL, NULL)",
    )
    spec, probe = spec_of(world, "judged", Cursor("updated_at", CursorType.DATETIME)), SqlProbe(world.address, "shop")
    assert [each.rows for each in probe.measure(spec, [Window(None, None)])] == [3]
    with probe.snapshot(planned(probe, spec)) as numbers:
        assert numbers.rows == 3


def test_an_index_is_named_where_it_finds_the_rows_and_the_statement_can_be_run_as_it_is_told(world: File) -> None:
    """Where rows without a stamp are read too, every row is looked at: a text that is no stamp stands in no index as such."""
    every, probe = orders(world), SqlProbe(world.address, "shop")
    stamped = spec_of(world, "orders", Cursor("updated_at", CursorType.DATETIME, nulls=NullPolicy.SKIP))
    window = Window(CursorValue.parse(CursorType.DATETIME, "2024-01-01T00:00:00"), None)
    plans = [of_window(planned(probe, spec), window) for spec in (every, stamped)]
    assert [(each.indexes, each.scans) for each in probe.estimates(plans)] == [((), True), ((), True)]

    world.execute('CREATE INDEX "by ? time" ON orders (updated_at)')
    scanned, searched = probe.estimates(plans)

    assert (scanned.indexes, scanned.scans) == ((), True)
    assert (searched.indexes, searched.scans) == (("by ? time",), False)
    assert "?" not in searched.sql
    assert "'2024-01-01" in searched.sql


def test_of_a_column_only_what_a_trigger_sets_is_written_by_it(world: File) -> None:
    spec = orders(world)
    world.execute(
        "CREATE TRIGGER touched AFTER UPDATE ON orders BEGIN UPDATE orders SET updated_at = CURRENT_TIMESTAMP WHERE id = NEW.id; END"
    )
    (traits,) = SqlProbe(world.address, "shop").describe([spec.shape])
    assert {each.column.name: each.on_update for each in traits.columns} == {"id": False, "updated_at": True}


def test_the_rows_that_were_added_last_tell_how_a_stamp_goes(world: File) -> None:
    spec = orders(world, rows=0)
    for stamp in ("2024-01-02 10:00:00", "2024-01-02 10:00:00", "2024-01-01 10:00:00", "noon"):
        world.execute(f"INSERT INTO orders (updated_at) VALUES ('{stamp}')")
    (traits,) = SqlProbe(world.address, "shop").describe([spec.shape])
    (stamped,) = (each for each in traits.columns if each.column.name == "updated_at")
    assert stamped.sample == Sample(rows=4, nulls=1, ties=1, descents=1)


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("these are no tables" * 100)
    with pytest.raises(contract.SourceUnreachable, match="not a SQLite file"):
        SqlProbe(Address("sqlite", "", 0, str(other), "", "", schemas=("main",)), "shop").catalogue()


ENDLESS = "CREATE VIEW endless AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 0 FROM n) SELECT id FROM n WHERE id = 2"


def test_a_comparison_ends_when_it_is_interrupted(world: File) -> None:
    world.execute(ENDLESS)
    spec = spec_of(world, "endless", strategy=Strategy.FULL_REFRESH)
    reader, told = dialect_of("sqlite").reader(world.address), []

    def compare() -> None:
        with pytest.raises(contract.SourceRefused) as ended:
            reader.row_hashes(cast("SparkSession", None), spec, (Window(None, None),))
        told.append(str(ended.value))

    def asked_to_end() -> bool:
        this_process.ask()
        comparing.join(0.1)
        return not comparing.is_alive()

    comparing = threading.Thread(target=compare, daemon=True)
    comparing.start()
    try:
        until(asked_to_end)
    finally:
        this_process.go_on()
    assert told == [
        "shop.main.endless: the query was cancelled (interrupted); the next sync goes on from what has landed"
    ]


def test_keys_that_cannot_land_are_read_in_one_transaction(world: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read of many windows is many statements, and somebody may write between two of them."""
    spec, within = orders(world), []

    def unfit(connection: sqlite3.Connection, *_: object) -> Iterator[Any]:
        within.append(connection.in_transaction)
        yield from ()

    monkeypatch.setattr(window_queries, "unfit", unfit)
    reader = dialect_of("sqlite").reader(world.address)
    assert reader.unholdable_keys(cast("SparkSession", None), spec, (Window(None, None),)) is None
    assert within == [True]


def test_windows_that_share_no_row_are_counted_in_one_pass(world: File) -> None:
    spec, probe = orders(world), SqlProbe(world.address, "shop")
    world.execute("UPDATE orders SET updated_at = '2024-03-0' || id || ' 10:00:00'")
    middle = CursorValue.parse(CursorType.DATETIME, "2024-03-02T10:00:00")
    parts = probe.measure(spec, (Window(None, middle), Window(middle, None)))
    (whole,) = probe.measure(spec, (Window(None, None),))
    assert [each.rows for each in parts] == [1, 2]
    assert sum(int(each.digest) for each in parts) == int(whole.digest)


def test_a_pipe_in_the_place_of_a_file_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "shop.db")
    with pytest.raises(SourceUnreachable, match="this is a pipe or a device and no SQLite file; check `database`"):
        SqlProbe(Address("sqlite", "", 0, str(tmp_path / "shop.db"), "", "", "disable"), "shop").catalogue()


def test_a_column_that_is_gone_is_no_text_of_its_name(world: File) -> None:
    """In double quotes it would be, in this library, for every row."""
    spec, probe = orders(world), SqlProbe(world.address, "shop")
    world.execute("ALTER TABLE orders DROP COLUMN note")
    with pytest.raises(SourceRefused, match=r"orders: a column disappeared .*no such column: note"):
        probe.measure(spec, (Window(None, None),))


def test_a_file_whose_generated_column_compares_by_like_is_read(world: File) -> None:
    """Whoever sets how LIKE compares, even to what it is, makes such a file malformed to himself."""
    world.execute(
        "CREATE TABLE words (id integer PRIMARY KEY, word text, a int GENERATED ALWAYS AS (word LIKE 'A%') VIRTUAL)",
        "INSERT INTO words (word) VALUES ('apple'), ('pear')",
    )
    spec = replace(spec_of(world, "words", strategy=Strategy.FULL_REFRESH), cursor=None)
    assert SqlProbe(world.address, "shop").measure(spec, (Window(None, None),))[0].rows == 2


def test_rows_that_the_library_counts_and_does_not_give_are_refused(
    world: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, whole = orders(world), snapshot.read_rows
    monkeypatch.setattr(snapshot, "read_rows", lambda *asked: islice(whole(*asked), 2))
    with pytest.raises(SourceRefused, match="the source counts 3 rows and sent 2"):
        contract.synced(SqlProbe(world.address, "shop"), spec)
