"""What servers of MariaDB and MySQL allow, and whom: limits of packets and rows, scripts at the connect, accounts and privileges."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pymysql
import pytest

from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.uncommitted import lowest_uncommitted
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases import contract, mysql_settings
from tests.adapters.databases.contract import decided, orders, spec_of, synced
from tests.adapters.databases.mysql_contract import Shop
from tests.settings_page import section
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARED = "MariaDB and MySQL"


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


def test_a_server_that_has_md5_in_a_component_alone_is_followed_and_compares_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As MySQL since 9.6."""
    whole = Connection.rows

    def lacking(self: Connection, sql: str, values: Any = ()) -> Any:
        if "MD5(" in sql:
            raise pymysql.OperationalError(1370, "execute command denied to user 'reader'@'%' for routine 'shop.MD5'")
        return whole(self, sql, values)

    monkeypatch.setattr(Connection, "rows", lacking)
    spec, probe = orders(shop), SqlProbe(shop.address, "shop")
    rows, state = synced(probe, spec)
    connection = Connection(shop.address)
    with shop.server.connect(shop.database, autocommit=False) as other, other.cursor() as cursor:
        cursor.execute("UPDATE orders SET note = 'later' WHERE id = 1")
        stamp = lowest_uncommitted(connection, spec, Window(None, None))
        other.commit()
    connection.close()
    assert (rows, stamp is not None) == (3, True)
    assert isinstance(decided(probe, spec, state), SyncPlan), "the fingerprint is another one"
    with pytest.raises(contract.SourceRefused, match="INSTALL COMPONENT 'file://component_classic_hashing'"):
        probe.measure(spec, (Window(None, None),))
    assert probe.facts([Wanted(spec.id)]).not_compared


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


@pytest.mark.parametrize("aside", ["", "SET ROLE NONE"], ids=["with its role", "without it"])
def test_what_a_role_grants_counts_where_the_session_has_it(shop: Shop, aside: str) -> None:
    """`init_connect` puts it aside, or nobody has made it the default."""
    spec = orders(shop)
    away = replace(shop.address, user="away", password="away")
    default = "SET DEFAULT ROLE watcher FOR" if shop.server.title == "MariaDB" else "SET DEFAULT ROLE watcher TO"
    shop.execute(
        "CREATE ROLE watcher",
        "GRANT PROCESS ON *.* TO watcher",
        "CREATE USER away@'127.0.0.1' IDENTIFIED BY 'away'",
        f"GRANT SELECT ON {shop.database}.orders TO away@'127.0.0.1'",
        "GRANT watcher TO away@'127.0.0.1'",
        f"{default} away@'127.0.0.1'",
        f"SET GLOBAL init_connect = '{aside}'",
    )
    probe = SqlProbe(away, "shop")
    try:
        blind, facts = probe.bound().blind, probe.facts((contract_wanted(spec),))
        printed = dialect_of(away.dialect).missing_sql(away, (contract_wanted(spec),), facts)
    finally:
        probe.close()
        shop.execute("SET GLOBAL init_connect = ''", "DROP USER away@'127.0.0.1'", "DROP ROLE watcher")
    assert (bool(blind), facts.sees_transactions, "GRANT PROCESS" in printed) == (
        bool(aside),
        not aside,
        bool(aside),
    )


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
    assert contract.dialect_of(shop.address.dialect).missing_sql(address, wanted, facts) == ""
    hidden = replace(wanted[0], table=replace(wanted[0].table, name="hidden"))
    unseen = contract.dialect_of(shop.address.dialect).missing_sql(address, (hidden,), probe.facts((hidden,)))
    assert unseen.startswith("-- this user sees no such table; if it is there: GRANT SELECT ON ")
    assert f"`{shop.database}`.`hidden` TO 'newcomer'@'%'" in unseen
    large = replace(facts, tables=(replace(facts.tables[0], rows=2_000_000),))
    missing = contract.dialect_of(shop.address.dialect).missing_sql(address, wanted, large)
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
