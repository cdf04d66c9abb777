"""What MariaDB and MySQL share beyond the contract of all databases: who is still writing, and who may read.

A module of either imports all of it and gives the fixture `server`.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pymysql
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql import transactions
from incremental_assets.adapters.databases.mysql.zone import server_zone
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.captures.database.bound import GUARD
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.strategies import Strategy
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from tests.adapters.databases import contract, mysql_settings
from tests.adapters.databases.contract import Words, observe, orders, planned, rows_of, spec_of, synced
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


def writes(shop: Shop, statement: str) -> tuple[str, ...]:
    """The same of another table."""
    return (
        f"GRANT TRIGGER ON {shop.database}.* TO reader@'127.0.0.1'",
        f"CREATE TRIGGER writes AFTER INSERT ON others FOR EACH ROW {statement}",
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


@pytest.mark.acceptance
def test_many_that_look_at_once_do_not_blind_each_other(shop: Shop) -> None:
    """As tables do that are synced side by side."""
    spec, probe = orders(shop), SqlProbe(shop.address, "shop")
    with shop.writing("INSERT INTO orders (note) VALUES ('open')"), ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: planned(probe, spec).reading.settled, range(48)))
    assert {each.guarantee for each in found} == {Guarantee.SETTLED}


@pytest.mark.acceptance
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
    followed = spec_of(shop, "old")
    whole = replace(followed, strategy=Strategy.FULL_REFRESH, cursor=None)
    for spec in (followed, whole, replace(whole, strategy=Strategy.UPSERT, compares=True)):
        settled = planned(SqlProbe(shop.address, "shop"), spec).reading.settled
        assert settled.guarantee is Guarantee.BEST_EFFORT
        assert "half of what a statement writes" in settled.reason


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
