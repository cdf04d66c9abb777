"""SQLite keeps the contract, and what is its own: a look at its lock, and values of any type in any column."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.databases.row_texts import hexadecimal
from incremental_assets.adapters.databases.sqlite import bound, snapshot, sql, window_queries
from incremental_assets.adapters.databases.sqlite.keys import read_keys
from incremental_assets.adapters.databases.sqlite.types import converter, spark_type
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.discovery.traits import Sample
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.column import Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor, NullPolicy
from incremental_assets.core.model.window import Window
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases import contract, where_contract
from tests.adapters.databases.collation_contract import *  # noqa: F403 - of keys that are written in several ways
from tests.adapters.databases.contract import *  # noqa: F403 - the suite
from tests.adapters.databases.contract import Words, of_window, orders, planned, spec_of
from tests.adapters.databases.keys_contract import *  # noqa: F403 - of keys
from tests.adapters.databases.mask_contract import *  # noqa: F403 - of columns that are masked
from tests.adapters.databases.names_contract import *  # noqa: F403 - of columns that the copy names otherwise
from tests.adapters.databases.places_contract import *  # noqa: F403 - of rows by their keys
from tests.adapters.databases.settings_contract import *  # noqa: F403 - of what is set against us
from tests.adapters.databases.sqlite_settings import another_build
from tests.adapters.databases.stamps_contract import *  # noqa: F403 - of who stamps
from tests.adapters.databases.stamps_contract import Stamps
from tests.adapters.databases.where_contract import *  # noqa: F403 - of rows that are chosen
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW, HOUR = "strftime('%Y-%m-%d %H:%M:%f', 'now')", "strftime('%Y-%m-%d %H:00:00', 'now')"


def touching(table: str, column: str, now: str = "CURRENT_TIMESTAMP") -> str:
    return (
        f"CREATE TRIGGER {table}_touch AFTER UPDATE ON {table} FOR EACH ROW WHEN NEW.{column} = OLD.{column} "
        f"BEGIN UPDATE {table} SET {column} = {now} WHERE rowid = NEW.rowid; END"
    )


WORDS = Words(
    "INTEGER PRIMARY KEY AUTOINCREMENT",
    "timestamp",
    CursorType.DATETIME,
    "integer",
    "'many'",
    touching=touching("orders", "updated_at"),
    spellings=(("text COLLATE NOCASE", "'a'", "'A'"), ("varchar COLLATE RTRIM", "'a'", "'a  '"), ("", "1", "1.0")),
)

ODD = {
    "computed": (
        "CREATE TABLE computed (id integer PRIMARY KEY, word text, long int GENERATED ALWAYS AS (length(word)) VIRTUAL)",
        "INSERT INTO computed (id, word) VALUES (1, 'apple'), (2, 'Ape'), (3, NULL)",
    ),
    "found": ("CREATE VIEW found AS SELECT group_concat(word) AS words FROM computed WHERE word LIKE 'A%'",),
}


@dataclass(frozen=True)
class File:
    """A file of its own, with one of the two journals."""

    path: Path
    journal: str
    words: Words = WORDS

    @property
    def address(self) -> Address:
        return Address("sqlite", "", 0, str(self.path), "", "", schemas=("main",))

    def execute(self, *statements: str) -> None:
        connection = self.connect()
        for statement in statements:
            connection.execute(statement)
        connection.close()

    @contextmanager
    def writing(self, statement: str) -> Iterator[Callable[[], None]]:
        connection = self.connect()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(statement)
        yield lambda: connection.execute("COMMIT") and None
        connection.close()

    def elsewhere(self) -> Address:
        other = File(self.path.with_name("other.db"), self.journal)
        other.execute("CREATE TABLE other (id integer)")
        return other.address

    @property
    def hostile(self) -> Sequence[str]:
        return ("another build", "texts of 16 bits")

    @property
    def odd(self) -> Mapping[str, Sequence[str]]:
        return ODD

    @contextmanager
    def under(self, name: str) -> Iterator[None]:
        if name == "another build":
            with another_build():
                yield
            return
        self._write_anew("UTF-16le")
        try:
            yield
        finally:
            self._write_anew("UTF-8")

    def _write_anew(self, encoding: str) -> None:
        with closing(sqlite3.connect(self.path)) as before:
            script = "\n".join(before.iterdump())
        for end in ("", "-wal", "-shm"):
            self.path.with_name(f"{self.path.name}{end}").unlink(missing_ok=True)
        with closing(sqlite3.connect(self.path)) as after:
            after.execute(f"PRAGMA encoding = '{encoding}'")
            after.executescript(script)
            assert after.execute("PRAGMA encoding").fetchone() == (encoding,)

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA journal_mode = {self.journal}")
        return connection


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


@pytest.fixture(params=["wal", "delete"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> File:
    found = File(tmp_path / "shop.db", request.param)
    found.execute("CREATE TABLE first (id integer)")
    return found


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


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("INTEGER", "bigint"),
        ("UNSIGNED BIG INT", "bigint"),
        ("VARCHAR(20)", "string"),
        ("text", "string"),
        ("BLOB", "binary"),
        ("DOUBLE PRECISION", "double"),
        ("BOOLEAN", "boolean"),
        ("DATE", "date"),
        ("DATETIME", "timestamp_ntz"),
        ("NUMERIC(10,2)", "string"),
        ("", "string"),
    ],
)
def test_a_declared_type_has_its_type_in_spark(declared: str, kind: str) -> None:
    assert spark_type(declared)[0] == kind


@pytest.mark.parametrize(
    ("kind", "stored", "value"),
    [
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("boolean", 1, True),
        ("double", -0.0, -0.0),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("timestamp_ntz", "2024-01-31 10:00:00.5", datetime.fromisoformat("2024-01-31T10:00:00.500000")),
        ("timestamp_ntz", "2024-01-31T10:00", datetime.fromisoformat("2024-01-31T10:00:00")),
        ("binary", b"\x00", b"\x00"),
        ("string", "a", "a"),
    ],
)
def test_a_value_of_its_kind_is_taken_as_it_is(kind: str, stored: Any, value: Any) -> None:
    assert converter(kind, Fidelity.EXACT)(stored) == value


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("bigint", "12"),
        ("bigint", 1.0),
        ("boolean", 2),
        ("double", "1.5"),
        ("date", "2023-02-29"),
        ("date", 19753),
        ("timestamp_ntz", 1704164645),
        ("timestamp_ntz", "2024-01-31T10:00:00+25:00"),
        ("timestamp_ntz", "2024-01-31 25:00:00"),
        ("binary", "text"),
        ("string", b"bytes"),
        ("string", "\udcff"),
    ],
)
def test_a_value_of_another_kind_is_refused_and_never_altered(kind: str, stored: Any) -> None:
    with pytest.raises(Unfit):
        converter(kind, Fidelity.EXACT)(stored)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.5, "0x1.8p0"),
        (0.1, "0x1.999999999999ap-4"),
        (-0.0, "-0x0.0p0"),
        (5e-324, "0x0.0000000000001p-1022"),
        (float("inf"), "Infinity"),
    ],
)
def test_a_double_is_written_as_java_writes_it(number: float, text: str) -> None:
    assert hexadecimal(number) == text


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
        "shop.main.endless: the query was cancelled (interrupted); the next sync resumes where this one stopped"
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


def test_of_a_number_and_its_text_in_one_key_column_the_number_lands_and_the_text_is_told(world: File) -> None:
    """They are two keys to SQLite, in a column of no type, and would be one in the copy; of `NUMERIC` only infinity is."""
    world.execute(
        "CREATE TABLE mixed (id NOT NULL, part NUMERIC NOT NULL, other, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (id, part))",
        "INSERT INTO mixed (id, part, other) VALUES (1, 7, '1'), ('1', '7', '2'), (1.5, 7, '3'), ('1.5', 7, '4'), "
        "('one', 7, '5'), ('01', 7, '6'), (2, 9e999, '7'), (2, 'inf', '8'), (x'31', 7, '9')",
    )
    spec = spec_of(world, "mixed", Cursor("updated_at", CursorType.DATETIME))
    connection = world.connect()
    sql.install(connection)
    unfit = {row.stored[2]: (row.column, row.reason) for row in window_queries.unfit(connection, spec, ())}
    landed = [row.values[:3] for row in window_queries.landable(connection, spec, ())]
    keys = read_keys(connection, spec)
    connection.close()
    assert sorted(landed) == [
        ("01", "7", "6"),
        ("1", "7", "1"),
        ("1.5", "7", "3"),
        ("2", "inf", "7"),
        ("one", "7", "5"),
    ]
    assert {other: column for other, (column, _) in unfit.items()} == {"2": "id", "4": "id", "8": "part", "9": "id"}
    assert unfit["2"][1].startswith(
        "another row's key is the same number in another spelling (keep one of the two, or declare the column's type)"
    )
    assert len(keys.all) == 5


@pytest.mark.parametrize(
    "number", ["1", "-9223372036854775808", "9223372036854775807", "1.5", "-0.0", "1e+16", "inf", "-inf", "5e-324"]
)
def test_a_text_of_a_key_that_a_stored_number_lands_as_is_held_while_that_is_there(world: File, number: str) -> None:
    assert landing_of_texts(world, number) == [number]
    world.execute(f"INSERT INTO codes (code) SELECT {number.replace('inf', '9e999')}")
    assert landing_of_texts(world) == [number]


@pytest.mark.parametrize(
    "text",
    [
        "nan",
        "12345678901234567890",
        "9223372036854775808",
        "-9223372036854775809",
        "1e16",
        "01",
        "+1",
        "Infinity",
        "9" * 5000,
    ],
)
def test_a_text_of_a_key_that_no_stored_number_lands_as_lands(world: File, text: str) -> None:
    assert landing_of_texts(world, text) == [text]


def landing_of_texts(world: File, *texts: str) -> list[str]:
    """The keys that land of a table whose key has no type, once these texts are in it."""
    world.execute(
        "CREATE TABLE IF NOT EXISTS codes (code NOT NULL PRIMARY KEY, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)",
        *(f"INSERT INTO codes (code) VALUES ('{text}')" for text in texts),
    )
    spec, connection = spec_of(world, "codes"), world.connect()
    sql.install(connection)
    landed = [row.values[0] for row in window_queries.landable(connection, spec, ())]
    connection.close()
    return landed


def test_a_primary_key_that_may_hold_null_is_told_as_such_and_is_none(world: File) -> None:
    """SQLite alone lets a primary key hold NULL, and several."""
    world.execute(
        "CREATE TABLE loose (code TEXT PRIMARY KEY, note TEXT)", "INSERT INTO loose VALUES (NULL, 'a'), (NULL, 'b')"
    )
    shapes = {shape.id.name: shape for shape in SqlProbe(world.address, "shop").catalogue()}
    assert (shapes["loose"].primary_key, shapes["loose"].own_key) == ((), ("code",))
    assert (shapes["first"].primary_key, shapes["first"].own_key) == ((), ())


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


def test_a_spelling_of_a_key_that_the_condition_leaves_out_keeps_no_row_out(world: File, probe: SqlProbe) -> None:
    world.execute(
        "CREATE TABLE seen (at DATETIME NOT NULL PRIMARY KEY, tenant_id INTEGER, updated_at DATETIME)",
        "INSERT INTO seen VALUES ('2024-01-01 10:00', 8, '2024-01-01 10:00:00'), ('2024-01-01T10:00', 7, '2024-01-01 10:00:00')",
    )
    every, some = spec_of(world, "seen"), where_contract.chosen(world, "seen", "tenant_id = 7")

    with probe.snapshot(planned(probe, every)) as numbers:
        assert (numbers.rows, numbers.rejected) == (2, 1)
    with probe.snapshot(planned(probe, some)) as numbers:
        assert (numbers.rows, numbers.rejected) == (1, 0)
