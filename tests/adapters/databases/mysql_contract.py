"""What MariaDB and MySQL share beyond the contract of all databases: who is still writing, and who may read.

A module of either imports all of it and gives the fixture `server`.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pymysql
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql import transactions
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.zone import server_zone
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.core.captures.database.bound import GUARD
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.strategies import Strategy
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from tests.adapters.databases import contract, mysql_settings
from tests.adapters.databases.contract import Words, observe, orders, planned, rows_of, spec_of, synced
from tests.settings_page import section
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERED = "bigint AUTO_INCREMENT PRIMARY KEY"
TEXT = "varchar(20) COLLATE utf8mb4_bin"
SPELLINGS = (
    ("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "'a'", "'A '"),
    ("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "'straße'", "'STRASSE '"),
    ("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "'a'", "'a '"),
    ("char(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci", "'e'", "'É'"),
)
KINDS = {
    "timestamp": Words(
        NUMBERED,
        "timestamp",
        CursorType.TIMESTAMP,
        "date",
        "'2024-00-15'",
        TEXT,
        "() VALUES ()",
        on_update=" ON UPDATE CURRENT_TIMESTAMP",
        spellings=SPELLINGS[:1],
    ),
    "datetime": Words(
        NUMBERED,
        "datetime(6)",
        CursorType.DATETIME,
        "datetime",
        "'0000-00-00'",
        TEXT,
        "() VALUES ()",
        "NOW(6)",
        " ON UPDATE NOW(6)",
        spellings=SPELLINGS,
    ),
}
SHARED = "MariaDB and MySQL"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Shop:
    """A database of its own on the server of the run, and a user who may read it."""

    server: EmbeddedMariaDB
    """Or its kin, by another `title`."""
    database: str
    words: Words = KINDS["datetime"]

    @property
    def address(self) -> Address:
        reader = {"user": "reader", "password": "read only"}
        return Address(
            self.server.title.lower(),
            self.server.host,
            self.server.port,
            self.database,
            schemas=(self.database,),
            **reader,
        )

    def execute(self, *statements: str) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    @contextmanager
    def writing(self, statement: str) -> Iterator[Callable[[], None]]:
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        cursor.execute(statement)
        yield connection.commit
        connection.close()

    def elsewhere(self) -> Address:
        return made(self.server).address

    @property
    def hostile(self) -> tuple[str, ...]:
        return mysql_settings.hostile(self.server.title)

    @property
    def odd(self) -> Mapping[str, tuple[str, ...]]:
        versioned = {"versioned": mysql_settings.VERSIONED} if self.server.title == "MariaDB" else {}
        return {**mysql_settings.ODD, **versioned}

    @contextmanager
    def under(self, name: str) -> Iterator[None]:
        with self.server.connect() as admin, mysql_settings.under(admin, self.server.title, name):
            yield

    def connect(self) -> pymysql.Connection:
        # With the quotes of standard SQL, which the suite writes, and with whatever stands for a date.
        return self.server.connect(self.database, sql_mode="ANSI_QUOTES")


def made(server: EmbeddedMariaDB, words: Words = KINDS["datetime"]) -> Shop:
    shop = Shop(server, f"shop_{next(_numbers)}", words)
    server.create_database(shop.database)
    shop.execute(
        "CREATE USER IF NOT EXISTS reader@'127.0.0.1' IDENTIFIED BY 'read only'",
        "GRANT PROCESS ON *.* TO reader@'127.0.0.1'",
        f"GRANT SELECT ON {shop.database}.* TO reader@'127.0.0.1'",
    )
    return shop


def renumbered(shop: Shop) -> tuple[str, ...]:
    """A trigger is shown to whoever may make one."""
    return (
        f"GRANT TRIGGER ON {shop.database}.* TO reader@'127.0.0.1'",
        "CREATE TRIGGER renumbers BEFORE INSERT ON things FOR EACH ROW SET NEW.id = 7 - NEW.note",
    )


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, server: EmbeddedMariaDB) -> Shop:
    return made(server, KINDS[request.param])


@pytest.fixture
def shop(server: EmbeddedMariaDB) -> Shop:
    return made(server)


@contextmanager
def elsewhere(work: Callable[[], Any]) -> Iterator[None]:
    """Something that another session does meanwhile."""
    thread = threading.Thread(target=work)
    thread.start()
    yield
    thread.join()


def state_of(shop: Shop, words: str) -> bool:
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE %s", (f"%{words}%",))
        return bool(cursor.fetchone()[0])


# --- who stamps ---------------------------------------------------------------------------------------

TOUCH = "CREATE TRIGGER touch_{} BEFORE {} ON things FOR EACH ROW {}"


def stamped_by(shop: Shop, *, grant: bool = True) -> tuple[Guarantee, str]:
    if grant:
        shop.execute(f"GRANT TRIGGER ON {shop.database}.* TO reader@'127.0.0.1'")
    probe = SqlProbe(shop.address, "shop")
    settled = planned(probe, spec_of(shop, "things", Cursor("at", shop.words.stamps))).reading.settled
    probe.close()
    return settled.guarantee, settled.reason


@pytest.mark.parametrize(
    ("at_insert", "at_update", "doubt"),
    [
        ("SET NEW.at = NOW(6)", "BEGIN SET NEW.at = CURRENT_TIMESTAMP(6); END", ""),
        ("SET NEW.at = IFNULL(NEW.at, NOW(6))", "IF NEW.at <=> OLD.at THEN SET NEW.at = NOW(6); END IF", ""),
        (
            "SET NEW.note = 'x', NEW.at = NOW(6)",
            "SET NEW.at = NOW(6) - INTERVAL 1 HOUR",
            "the trigger touch_update may give",
        ),
        (
            "SET NEW.at = NOW(6)",
            "IF NEW.note <> OLD.note THEN SET NEW.at = NOW(6); END IF",
            "the trigger touch_update may give",
        ),
        ("SET NEW.at = '2020-01-01'", "SET NEW.at = NOW(6)", "the trigger touch_insert may give"),
        ("SET NEW.at = NOW(6)", "SET NEW.note = 'y'", "no trigger of the database stamps 'at' at an update"),
        ("SET NEW.at = UTC_TIMESTAMP(6)", "SET NEW.at = UTC_TIMESTAMP(6)", "`cursor: {zone: UTC}`"),
    ],
)
def test_triggers_are_read_by_whoever_may_see_them(shop: Shop, at_insert: str, at_update: str, doubt: str) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, note text, at datetime(6))",
        TOUCH.format("insert", "INSERT", at_insert),
        TOUCH.format("update", "UPDATE", at_update),
        "INSERT INTO things (note) VALUES ('one')",
        "SET GLOBAL time_zone = '+03:00'",
    )
    try:
        found, reason = stamped_by(shop)
    finally:
        shop.execute("SET GLOBAL time_zone = SYSTEM")
    assert found is (Guarantee.BEST_EFFORT if doubt else Guarantee.SETTLED), reason
    assert doubt in reason


def test_without_the_privilege_triggers_are_not_shown_and_prove_nothing(shop: Shop) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, note text, at datetime(6))",
        TOUCH.format("insert", "INSERT", "SET NEW.at = NOW(6)"),
        TOUCH.format("update", "UPDATE", "SET NEW.at = NOW(6)"),
    )
    found, reason = stamped_by(shop, grant=False)
    assert (found, "neither a default nor a trigger" in reason) == (Guarantee.BEST_EFFORT, True)
    assert stamped_by(shop)[0] is Guarantee.SETTLED


STAMPED = "at datetime(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6)"


@pytest.mark.parametrize(
    ("name", "actions", "passes"),
    [
        ("things", "ON UPDATE CASCADE", True),
        ("things", "ON DELETE SET NULL", True),
        ("things", "ON UPDATE SET NULL ON DELETE CASCADE", True),
        ("Thé-Things", "ON UPDATE CASCADE", True),
        ("things", "ON DELETE CASCADE", False),
        ("things", "ON UPDATE RESTRICT ON DELETE NO ACTION", False),
    ],
)
def test_rows_that_a_foreign_key_changes_are_stamped_by_nobody(
    shop: Shop, name: str, actions: str, *, passes: bool
) -> None:
    """What the server does is asserted too: the stamp stays as it was, though the column says `ON UPDATE` and a trigger stamps."""
    shop.execute(
        "CREATE TABLE others (id int PRIMARY KEY)",
        f'CREATE TABLE "{name}" (id {NUMBERED}, other int, {STAMPED}, CONSTRAINT its_other FOREIGN KEY (other) REFERENCES others (id) {actions})',
        f'CREATE TRIGGER touch BEFORE UPDATE ON "{name}" FOR EACH ROW SET NEW.at = NOW(6)',
        f"GRANT TRIGGER ON {shop.database}.* TO reader@'127.0.0.1'",
        "INSERT INTO others VALUES (1)",
        f'INSERT INTO "{name}" (other) VALUES (1)',
    )
    found: dict[Strategy, tuple[Guarantee, str]] = {}
    for strategy, within in ((Strategy.UPSERT, None), (Strategy.UPSERT, timedelta(minutes=1)), (Strategy.APPEND, None)):
        probe = SqlProbe(shop.address, "shop")
        settled = planned(
            probe, spec_of(shop, name, Cursor("at", shop.words.stamps, within=within), strategy=strategy)
        ).reading.settled
        probe.close()
        found[strategy] = settled.guarantee, settled.reason
        if strategy is Strategy.UPSERT:
            assert (settled.guarantee is Guarantee.BEST_EFFORT) is passes, within
            assert ("the foreign key its_other changes its rows" in settled.reason) is passes
    assert found[Strategy.APPEND][0] is Guarantee.SETTLED
    if actions == "ON UPDATE CASCADE":
        before = shop_rows(shop, name)
        shop.execute("UPDATE others SET id = 2")
        assert [(other, at) for other, at in shop_rows(shop, name)] == [(2, at) for _, at in before]


def shop_rows(shop: Shop, name: str) -> list[Any]:
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f'SELECT other, at FROM "{name}"')
        return list(cursor.fetchall())


def test_a_trigger_that_is_made_anew_between_two_syncs_is_noticed(shop: Shop) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, note text, at datetime(6) DEFAULT NOW(6))",
        TOUCH.format("update", "UPDATE", "SET NEW.at = NOW(6)"),
    )
    assert stamped_by(shop)[0] is Guarantee.SETTLED
    before = spec_of(shop, "things", Cursor("at", shop.words.stamps))
    time.sleep(0.02)  # a hundredth of a second is all that the server notes
    shop.execute("DROP TRIGGER touch_update", TOUCH.format("update", "UPDATE", "SET NEW.at = NOW(6)"))
    after = spec_of(shop, "things", Cursor("at", shop.words.stamps))
    was, now = (next(each.stamps for each in spec.columns if each.name == "at") for spec in (before, after))
    assert was is not None
    assert now is not None
    assert replace(was, marks="") == replace(now, marks="")
    assert was.marks != now.marks


def test_a_column_that_is_generated_from_a_stamp_is_stamped_as_that_is(shop: Shop) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, made datetime(6) DEFAULT NOW(6) ON UPDATE NOW(6), at date AS (DATE(made)) STORED)"
    )
    spec = spec_of(shop, "things", Cursor("at", CursorType.DATE))
    probe = SqlProbe(shop.address, "shop")
    assert planned(probe, spec).reading.settled.guarantee is Guarantee.SETTLED
    probe.close()


@pytest.mark.parametrize(
    ("made", "at", "kind", "doubt"),
    [
        ("timestamp(6)", "datetime(6) AS (made) VIRTUAL", CursorType.DATETIME, "is stamped in UTC and read in"),
        ("timestamp(6)", "datetime(6) AS (made) STORED", CursorType.DATETIME, ""),
        ("datetime(6)", "timestamp(6) AS (made) VIRTUAL", CursorType.TIMESTAMP, "the default of 'at' is `made`"),
        ("datetime(6)", "datetime(6) AS (made) VIRTUAL", CursorType.DATETIME, ""),
    ],
)
def test_a_column_that_is_computed_in_the_session_of_its_reader_shows_another_time_than_its_writers(
    shop: Shop, made: str, at: str, kind: CursorType, doubt: str
) -> None:
    """Our sessions are in UTC, and those that write in the zone of the server: to the east of UTC what is shown to us lies below what the others have stamped."""
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, made {made} DEFAULT NOW(6) ON UPDATE NOW(6), at {at})",
        "SET GLOBAL time_zone = '+05:00'",
    )
    probe = SqlProbe(shop.address, "shop")
    try:
        settled = planned(probe, spec_of(shop, "things", Cursor("at", kind))).reading.settled
    finally:
        shop.execute("SET GLOBAL time_zone = SYSTEM")
        probe.close()
    assert (settled.guarantee, doubt in settled.reason) == (
        Guarantee.BEST_EFFORT if doubt else Guarantee.SETTLED,
        True,
    )


# --- the settled bound --------------------------------------------------------------------------------


def test_an_open_transaction_holds_the_watermark_below_its_stamps(shop: Shop) -> None:
    spec, probe = orders(shop), SqlProbe(shop.address, "shop")
    with shop.writing("INSERT INTO orders (note) VALUES ('late')") as commit:
        time.sleep(GUARD.total_seconds() + 0.5)  # the clock is to pass what the bound stays below it anyway
        shop.execute("INSERT INTO orders (note) VALUES ('early')")
        _, state = synced(probe, spec)
        commit()
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT updated_at FROM orders WHERE note = 'late'")
        (stamp,) = cursor.fetchone()
    watermark = state.position.watermark
    assert watermark is not None
    assert watermark.moment() <= stamp
    assert synced(probe, spec, state)[0] >= 2


def test_a_statement_that_waits_for_a_metadata_lock_holds_the_bound_at_its_start(shop: Shop) -> None:
    """No list of transactions shows it, and it has its stamp already."""
    orders(shop)
    probe, locker, waiter = SqlProbe(shop.address, "shop"), shop.connect(), shop.connect()
    locker.cursor().execute("LOCK TABLES orders WRITE")
    began = probe.bound().clock
    with elsewhere(lambda: waiter.cursor().execute("INSERT INTO orders (note) VALUES ('waited')")):
        until(lambda: state_of(shop, "metadata lock"))
        waits = probe.bound().clock
        time.sleep(3)
        found = probe.bound()
        locker.close()
    assert found.oldest is not None
    second = timedelta(seconds=1)  # to which MySQL cuts it
    assert began - second <= found.oldest <= waits + second
    assert (found.clock - found.oldest).total_seconds() > 2.5
    assert found.blind == ""
    waiter.close()


@contextmanager
def stamped_before_its_start(shop: Shop, statement: str, seconds: float) -> Iterator[Callable[[], None]]:
    """A transaction whose only statement, which is over, waited for a metadata lock after it had its stamp; the call commits it."""
    locker, waiter = shop.connect(), shop.connect()
    locker.cursor().execute("LOCK TABLES orders WRITE")
    waiter.begin()
    with elsewhere(lambda: waiter.cursor().execute(statement)):
        until(lambda: state_of(shop, "metadata lock"))
        time.sleep(seconds)
        locker.close()
    yield waiter.commit
    waiter.close()


def stamp_of(shop: Shop, note: str) -> datetime:
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT updated_at FROM orders WHERE note = %s", (note,))
        found: datetime = cursor.fetchone()[0]
        return found


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO orders (note) VALUES ('waited')",
        pytest.param(
            "UPDATE orders SET note = 'waited', updated_at = NOW(6) WHERE id = 2", marks=pytest.mark.acceptance
        ),
    ],
)
def test_a_row_of_a_transaction_that_began_after_its_stamp_is_not_lost(shop: Shop, statement: str) -> None:
    """The list shows when it got the lock, and nothing shows any more when its statement began."""
    spec, probe = orders(shop), SqlProbe(shop.address, "shop")
    _, state = synced(probe, spec)
    with stamped_before_its_start(shop, statement, 6) as commit:
        shop.execute("INSERT INTO orders (note) VALUES ('between')")
        decision = planned(probe, spec, state)
        _, state = synced(probe, spec, state)
        commit()
    assert decision.reading.settled.guarantee is Guarantee.SETTLED
    assert state.position.watermark is not None
    assert state.position.watermark.moment() <= stamp_of(shop, "waited")
    assert synced(probe, spec, state)[0] >= 2


def test_an_old_row_that_is_being_changed_does_not_hold_the_watermark_at_its_old_stamp(shop: Shop) -> None:
    spec, probe = orders(shop), SqlProbe(shop.address, "shop")
    shop.execute("UPDATE orders SET updated_at = '2024-01-31' WHERE id = 1")
    with shop.writing("UPDATE orders SET note = 'new', updated_at = NOW() WHERE id = 1"):
        found = observe(probe, spec)
        decision = planned(probe, spec)
    assert found.bound.uncommitted
    assert found.uncommitted is None
    assert decision.reading.new_watermark is not None
    assert decision.reading.new_watermark.moment().year > 2024


def test_a_statement_that_only_reads_does_not_hold_the_bound(shop: Shop) -> None:
    orders(shop)
    probe, reader = SqlProbe(shop.address, "shop"), shop.connect()
    with elsewhere(lambda: reader.cursor().execute("SELECT SLEEP(1.5) FROM orders")):
        time.sleep(1)
        found = probe.bound()
    assert found.oldest is None or found.oldest >= found.clock
    reader.close()


def test_a_function_that_writes_in_a_select_holds_the_bound(shop: Shop) -> None:
    spec, probe, reader = orders(shop), SqlProbe(shop.address, "shop"), shop.connect()
    shop.execute(
        "CREATE TABLE two (n int)",
        "INSERT INTO two VALUES (1), (2)",
        "CREATE FUNCTION written() RETURNS int READS SQL DATA BEGIN DECLARE x int; INSERT INTO orders (note) VALUES ('by a SELECT'); "
        "SET x = GET_LOCK('gate', 600); RETURN RELEASE_LOCK('gate'); END",
    )
    gate = shop.connect()
    gate.cursor().execute("SELECT GET_LOCK('gate', 600)")
    with elsewhere(lambda: reader.cursor().execute("SELECT written(), n FROM two")):
        until(lambda: state_of(shop, "user lock"))
        time.sleep(2.5)  # how old it is, is what is told
        found = probe.bound()
        _, state = synced(probe, spec)
        gate.close()
    reader.close()
    assert found.oldest is not None
    assert (found.clock - found.oldest).total_seconds() > 2
    assert synced(probe, spec, state)[0] >= 2


def test_a_list_of_transactions_that_was_read_a_moment_ago_is_read_anew(shop: Shop) -> None:
    """Else it would show our last question, and not the transaction that began since."""
    orders(shop)
    connections, writer = contract.dialect_of(shop.address.dialect).connections(shop.address), shop.connect()
    with connections.session() as session:
        assert session.bound(()).oldest is None
        writer.begin()
        writer.cursor().execute("INSERT INTO orders (note) VALUES ('since')")
        found = session.bound(())
    writer.close()
    assert found.oldest is not None
    assert found.blind == ""


def test_a_list_of_transactions_that_others_keep_old_is_not_trusted(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "PATIENCE", (0.0, 0.15))
    spec, probe, done = orders(shop), SqlProbe(shop.address, "shop"), threading.Event()

    def look() -> None:
        with shop.connect() as connection, connection.cursor() as cursor:
            while not done.is_set():
                cursor.execute("SELECT COUNT(*) FROM information_schema.innodb_trx")
                time.sleep(0.01)

    settled = []

    def is_not_trusted() -> bool:
        settled.append(planned(probe, spec).reading.settled)
        return settled[-1].guarantee is Guarantee.BEST_EFFORT

    with elsewhere(look), shop.writing("INSERT INTO orders (note) VALUES ('unseen')"):
        try:
            # Whoever looks is not always let in time by a busy machine: the list is new then.
            until(is_not_trusted)
        finally:
            done.set()
    assert "innodb_trx" in settled[-1].reason
    assert planned(probe, spec).reading.settled.guarantee is Guarantee.SETTLED


def test_many_that_look_at_once_do_not_blind_each_other(shop: Shop) -> None:
    """As tables do that are synced side by side."""
    spec, probe = orders(shop), SqlProbe(shop.address, "shop")
    with shop.writing("INSERT INTO orders (note) VALUES ('open')"), ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: planned(probe, spec).reading.settled, range(48)))
    assert {each.guarantee for each in found} == {Guarantee.SETTLED}


def test_a_prepared_transaction_stops_the_watermark_even_after_a_crash(tmp_path: Any, server: EmbeddedMariaDB) -> None:
    own = type(server)(tmp_path / "server").start()
    try:
        shop = made(own)
        spec, probe, client = orders(shop), SqlProbe(shop.address, "shop"), shop.connect()
        _, before = synced(probe, spec)
        with client.cursor() as cursor:
            for statement in (
                "XA START 'one'",
                "INSERT INTO orders (note) VALUES ('prepared')",
                "XA END 'one'",
                "XA PREPARE 'one'",
            ):
                cursor.execute(statement)
        time.sleep(GUARD.total_seconds() + 0.5)  # the clock is to pass what the bound stays below it anyway
        own.crash()
        own.start()
        probe = SqlProbe(shop.address, "shop")
        shop.execute("INSERT INTO orders (note) VALUES ('after')")
        decision = planned(probe, spec, before)
        # MySQL shows its name to whoever may end it, and that there is one to all who see transactions.
        assert ("'one'" if shop.address.dialect == "mariadb" else "XA_RECOVER_ADMIN") in str(
            decision.reading.bound.prepared
        )
        assert decision.reading.new_watermark == before.position.watermark
        _, state = synced(probe, spec, before)
        shop.execute("XA COMMIT 'one'")
        rows, state = synced(probe, spec, state)
        assert rows == 5
        assert probe.bound().prepared is None
    finally:
        own.remove()


def test_the_start_of_a_transaction_is_told_right_by_a_server_in_another_zone(
    tmp_path: Any, server: EmbeddedMariaDB
) -> None:
    own = type(server)(tmp_path / "server", settings={"default-time-zone": "SYSTEM"}, zone="America/New_York").start()
    try:
        shop = made(own)
        orders(shop)
        probe = SqlProbe(shop.address, "shop")
        before = probe.bound().clock
        with shop.writing("INSERT INTO orders (note) VALUES ('open')"):
            found = probe.bound()
        assert found.oldest is not None
        assert -1.001 <= (found.oldest - before).total_seconds() <= (found.clock - before).total_seconds()
        assert found.zone in ("EST", "EDT")
    finally:
        own.remove()


def test_without_the_privilege_the_run_is_best_effort_and_names_it(shop: Shop) -> None:
    spec = orders(shop)
    shop.execute(
        "DROP USER IF EXISTS blind@'127.0.0.1'",
        "CREATE USER blind@'127.0.0.1' IDENTIFIED BY 'read only'",
        f"GRANT SELECT ON {shop.database}.* TO blind@'127.0.0.1'",
    )
    probe = SqlProbe(replace(shop.address, user="blind"), "shop")
    settled = planned(probe, spec).reading.settled
    assert settled.guarantee is Guarantee.BEST_EFFORT
    assert "GRANT PROCESS" in settled.reason
    assert not probe.facts(()).sees_transactions
    assert SqlProbe(shop.address, "shop").facts(()).sees_transactions


def test_a_table_of_another_engine_is_best_effort(shop: Shop) -> None:
    shop.execute(
        f"CREATE TABLE old (id {NUMBERED}, updated_at datetime NOT NULL DEFAULT CURRENT_TIMESTAMP) ENGINE = MyISAM"
    )
    settled = planned(SqlProbe(shop.address, "shop"), spec_of(shop, "old")).reading.settled
    assert settled.guarantee is Guarantee.BEST_EFFORT


def test_views_of_which_the_server_tells_nothing_say_what_it_says_of_them(shop: Shop) -> None:
    orders(shop)
    shop.execute(
        "CREATE TABLE parts (id bigint PRIMARY KEY, size int)",
        "CREATE VIEW of_a_column AS SELECT size FROM parts",
        "CREATE FUNCTION doubled(x int) RETURNS int DETERMINISTIC RETURN 2 * x",
        "CREATE VIEW of_a_function AS SELECT doubled(id) AS id FROM parts",
        "CREATE DEFINER = nobody_here@localhost VIEW of_nobody AS SELECT id FROM parts",
        "ALTER TABLE parts DROP COLUMN size",
        "DROP FUNCTION doubled",
    )
    probe = SqlProbe(shop.address, "shop")
    found = {shape.id.name: shape for shape in probe.catalogue()}
    assert found["parts"].names == ("id",)
    for name in ("of_a_column", "of_a_function"):
        assert f"{name}' references invalid table(s) or column(s) or function(s)" in found[name].undescribed
        assert "add it to `exclude`" in found[name].undescribed
    # What its columns are, the server tells; who asks for its rows is told why there are none, and not to look at a password.
    spec = TableSpec(found["of_nobody"], Strategy.FULL_REFRESH)
    with pytest.raises(SourceRefused, match=r"of_nobody: the server lets nobody read this view, as its DEFINER"):
        rows_of(cast("SparkSession", None), shop, planned(probe, spec))


@pytest.mark.parametrize(
    ("of_sessions", "of_machine", "zone"),
    [
        ("SYSTEM", "UTC", "UTC"),
        ("+00:00", "CET", "UTC"),
        ("+02:00", "UTC", "Etc/GMT-2"),
        ("-11:00", "UTC", "Etc/GMT+11"),
        ("europe/paris", "UTC", "Europe/Paris"),
        ("+05:30", "UTC", "+05:30"),
    ],
)
def test_the_zone_of_the_server_is_one_that_python_knows_or_stands_as_it_is(
    of_sessions: str, of_machine: str, zone: str
) -> None:
    assert server_zone(of_sessions, of_machine) == zone


# --- what a server allows -----------------------------------------------------------------------------


def test_rows_that_do_not_come_are_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, whole = orders(shop), Connection.batches

    def cut(*asked: Any) -> Iterator[list[pa.BinaryArray]]:
        yield from ([column[:2] for column in batch] for batch in whole(*asked))

    monkeypatch.setattr(Connection, "batches", cut)
    with pytest.raises(
        contract.SourceRefused, match="orders: the source counts 3 rows and sent 2, so nothing was written"
    ):
        synced(SqlProbe(shop.address, "shop"), spec)


def test_keys_places_and_hashes_that_do_not_come_are_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, probe, whole = orders(shop), SqlProbe(shop.address, "shop"), Connection.rows
    monkeypatch.setattr(
        Connection,
        "rows",
        lambda self, sql, values=(): whole(self, sql, values)[
            : 2 if "MD5" in sql or "`id` IS NOT NULL" in sql else None
        ],
    )
    reader, spark = dialect_of(shop.address.dialect).reader(shop.address), cast("SparkSession", None)

    @contextmanager
    def all_keys() -> Iterator[None]:
        with probe.keys(spec) as keys:
            keys.as_written(frozenset())
            yield

    for asked in (
        all_keys,
        lambda: probe.placed_rows(spec, (Window(None, None),)),
        lambda: nullcontext(reader.row_hashes(spark, spec, (Window(None, None),))),
    ):
        with pytest.raises(contract.SourceRefused, match="counts 3 rows and sent 2"), asked():
            pass


def test_a_row_that_is_too_long_for_the_server_to_compare_lands_and_is_not_compared(shop: Shop) -> None:
    """`max_allowed_packet` makes the text of such a row NULL, without a word."""
    shop.execute(
        "CREATE TABLE books (id int PRIMARY KEY, a longtext, b longblob, updated_at datetime(6) NOT NULL DEFAULT NOW(6))",
        "INSERT INTO books (id, a, b) VALUES (1, 'short', 'short'), (2, REPEAT('a', 700000), REPEAT('b', 700000))",
    )
    spec = spec_of(shop, "books")
    with shop.connect() as admin, admin.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.max_allowed_packet")
        ((before,),) = cursor.fetchall()
        cursor.execute("SET GLOBAL max_allowed_packet = 1048576")
        try:
            probe = SqlProbe(shop.address, "shop")
            assert synced(probe, spec)[0] == 2
            with pytest.raises(contract.SourceRefused, match="`max_allowed_packet`, 1,048,576 bytes"):
                probe.measure(spec, (Window(None, None),))
            with (
                pytest.raises(contract.SourceRefused, match="`max_allowed_packet`"),
                probe.placed_rows(spec, (Window(None, None),)),
            ):
                pass
        finally:
            cursor.execute("SET GLOBAL max_allowed_packet = %s", (before,))
    assert SqlProbe(shop.address, "shop").measure(spec, (Window(None, None),))[0].rows == 2


def test_each_variable_that_a_session_has_is_on_the_page_with_a_verdict(shop: Shop) -> None:
    """A later server may have another one."""
    said = {name for heading in (SHARED, shop.server.title) for name in re.findall(r"`(\w+)`", section(heading))}
    with shop.connect() as admin, admin.cursor() as cursor:
        assert mysql_settings.of_a_session(cursor) - said == set()


def test_a_connect_script_that_fails_is_named(shop: Shop) -> None:
    with shop.connect() as admin, admin.cursor() as cursor:
        cursor.execute("SET GLOBAL init_connect = 'SET nothing'")
        try:
            with pytest.raises(
                contract.SourceRefused, match=r"what the server runs when reader connects fails .*`init_connect`"
            ):
                SqlProbe(shop.address, "shop").catalogue()
        finally:
            cursor.execute("SET GLOBAL init_connect = ''")


def test_a_connect_script_that_goes_to_another_database_changes_no_source_into_another(shop: Shop) -> None:
    def identity() -> Any:
        probe = SqlProbe(shop.address, "shop")
        try:
            return probe.bound().identity
        finally:
            probe.close()

    before = identity()
    with shop.connect() as admin, admin.cursor() as cursor:
        cursor.execute("SET GLOBAL init_connect = 'USE information_schema'")
        try:
            # The server writes its log meanwhile.
            assert identity().is_of(before)
        finally:
            cursor.execute("SET GLOBAL init_connect = ''")


# --- who may --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["ACCOUNT LOCK", "PASSWORD EXPIRE"])
def test_a_user_who_is_let_in_to_no_session_is_told_so(shop: Shop, state: str) -> None:
    away = replace(shop.address, user="away", password="away")
    shop.execute(
        "CREATE USER away@'127.0.0.1' IDENTIFIED BY 'away'",
        f"GRANT SELECT ON {shop.database}.* TO away@'127.0.0.1'",
        f"ALTER USER away@'127.0.0.1' {state}",
    )
    try:
        with pytest.raises(contract.SourceUnreachable, match="lets this user in to no session"):
            SqlProbe(away, "shop").catalogue()
    finally:
        shop.execute("DROP USER away@'127.0.0.1'")


def test_a_wrong_password_is_one_sentence_without_it(shop: Shop) -> None:
    with pytest.raises(contract.SourceUnreachable, match="the password of reader is refused") as refused:
        SqlProbe(replace(shop.address, password="hunter2"), "shop").catalogue()
    assert "hunter2" not in str(refused.value)


def test_no_session_of_ours_can_write(shop: Shop) -> None:
    orders(shop)
    connection = Connection(replace(shop.address, user=shop.server.user, password=shop.server.password))
    with pytest.raises(pymysql.Error, match="READ ONLY transaction"):
        connection.execute("DELETE FROM orders")
    connection.close()


def test_the_printed_sql_is_what_a_new_user_needs(shop: Shop) -> None:
    spec = orders(shop)
    wanted = (contract_wanted(spec),)
    shop.execute("DROP USER IF EXISTS newcomer@'%'", "CREATE USER newcomer@'%' IDENTIFIED BY 'read only'")
    address = replace(shop.address, user="newcomer")
    sql = contract.dialect_of(shop.address.dialect).missing_sql(address, wanted, None)
    shop.execute(*(line for line in sql.splitlines() if line.startswith("GRANT")))
    probe = SqlProbe(address, "shop")
    facts = probe.facts(wanted)
    assert facts.sees_transactions
    assert facts.tables[0].readable
    assert not facts.tables[0].writable
    assert facts.tables[0].unindexed == ("updated_at",)
    missing = contract.dialect_of(shop.address.dialect).missing_sql(address, wanted, facts)
    assert missing == f"CREATE INDEX `orders_updated_at` ON `{shop.database}`.`orders` (`updated_at`);"


def contract_wanted(spec: contract.TableSpec) -> Any:
    from incremental_assets.core.checks.doctor import Wanted

    return Wanted(spec.id, ("updated_at",))


def test_a_comparison_ends_when_it_is_interrupted(shop: Shop) -> None:
    orders(shop, rows=1)
    shop.execute("CREATE VIEW slow AS SELECT id, SLEEP(600) AS waited FROM orders")
    spec = spec_of(shop, "slow", strategy=Strategy.FULL_REFRESH)
    reader = dialect_of(shop.address.dialect).reader(shop.address)
    with ThreadPoolExecutor(1) as pool:
        comparing = pool.submit(reader.row_hashes, cast("SparkSession", None), spec, (Window(None, None),))

        def asked_to_end() -> bool:
            this_process.ask()
            time.sleep(0.1)
            return comparing.done()

        try:
            until(asked_to_end)
        finally:
            this_process.go_on()
        with pytest.raises(contract.SourceUnreachable, match="the connection was lost"):
            comparing.result()
