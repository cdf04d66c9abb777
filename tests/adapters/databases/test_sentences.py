"""What a database's errors become: one sentence, with times as the configuration writes them."""

from __future__ import annotations

import sqlite3

import psycopg
import pymysql
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql import errors as mysql
from incremental_assets.adapters.databases.postgresql import errors as postgresql
from incremental_assets.adapters.databases.postgresql.read_timeout import SILENT
from incremental_assets.adapters.databases.sentences import LOST, NO_COLUMN, REFUSED, cancelled, unreachable
from incremental_assets.adapters.databases.sqlite import errors as sqlite
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.table_id import TableId

ADDRESS = Address("postgresql", "127.0.0.1", 5432, "shop", "reader", "hunter2")
ORDERS = TableId("shop", "public", "orders")


TOO_LONG = {
    "postgresql": postgresql.explain(psycopg.errors.QueryCanceled("canceling statement"), ADDRESS, ORDERS),
    "mysql": mysql.explain(pymysql.OperationalError(1969, "Query execution was interrupted"), ADDRESS, ORDERS),
    "any": unreachable("timed out", ADDRESS),
}


@pytest.mark.parametrize("told", TOO_LONG.values(), ids=TOO_LONG)
def test_a_time_that_is_over_is_written_as_in_the_configuration(told: object) -> None:
    assert "15m" in str(told)
    assert "0:15:00" not in str(told)


@pytest.mark.parametrize(
    ("told", "alike"),
    [
        (mysql.explain(pymysql.OperationalError(2013, "gone"), ADDRESS, None), LOST),
        (postgresql.explain(psycopg.errors.AdminShutdown("gone"), ADDRESS, None), LOST),
        (mysql.explain(pymysql.OperationalError(1054, "gone"), ADDRESS, ORDERS), NO_COLUMN),
        (postgresql.explain(psycopg.errors.UndefinedColumn("gone"), ADDRESS, ORDERS), NO_COLUMN),
        (mysql.explain(pymysql.OperationalError(1, "gone"), ADDRESS, ORDERS), REFUSED),
        (postgresql.explain(psycopg.errors.DivisionByZero("gone"), ADDRESS, ORDERS), REFUSED),
        (mysql.explain(pymysql.OperationalError(1969, "gone"), ADDRESS, ORDERS), cancelled("{}", ADDRESS)),
        (postgresql.explain(psycopg.errors.QueryCanceled("gone"), ADDRESS, ORDERS), cancelled("{}", ADDRESS)),
    ],
)
def test_what_two_databases_refuse_alike_is_told_alike(told: Exception, alike: str) -> None:
    assert str(told).endswith(alike.replace("{}", "gone"))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1370, "execute command denied to user 'reader'@'%' for routine 'shop.MD5'"),
        (1305, "FUNCTION shop.md5 does not exist"),
    ],
)
def test_a_mysql_that_has_its_hashes_in_a_component_is_told_how_to_install_it(number: int, words: str) -> None:
    told = str(mysql.explain(pymysql.OperationalError(number, words), ADDRESS, ORDERS))
    assert told == (
        "shop.public.orders: the server has no MD5(), by which rows are compared with a copy: since version 9.6 MySQL has it in a component alone "
        f"({words}); as an administrator run INSTALL COMPONENT 'file://component_classic_hashing'"
    )


def test_a_query_that_is_refused_is_told_with_its_cure() -> None:
    """What a view or a function of the source does wrong, it does again; nobody knows of what else may come."""
    told = str(postgresql.explain(psycopg.errors.DivisionByZero("division by zero"), ADDRESS, ORDERS))
    assert told == (
        "shop.public.orders: the source refused the query: division by zero; "
        "correct in the source what it names (of a view, its query), else try again"
    )


def test_a_server_that_fell_silent_is_one_sentence() -> None:
    with pytest.raises(SourceUnreachable) as told, postgresql.copying_explained(ADDRESS, ORDERS):
        raise psycopg.OperationalError(SILENT)
    assert ". " not in str(told.value)


def test_a_row_that_cannot_be_computed_is_not_told_to_be_read_again_as_it_is() -> None:
    with pytest.raises(SourceRefused) as told, postgresql.copying_explained(ADDRESS, ORDERS):
        raise psycopg.errors.DivisionByZero("division by zero")
    assert str(told.value) == (
        "shop.public.orders: the source refused the read: division by zero; nothing was written; if SELECT * FROM public.orders fails in the source "
        "too, correct there what it reads (of a view, its query), else run the sync again"
    )


def test_a_file_that_cannot_be_read_is_one_sentence() -> None:
    with pytest.raises(sqlite3.OperationalError) as met:
        sqlite3.connect("file:/nowhere/shop.db?mode=ro", uri=True)
    told = str(sqlite.explain(met.value, Address("sqlite", "", 0, "/nowhere/shop.db", "", ""), None))
    assert "a write-ahead log is read by a user who may write to its folder" in told
    assert ". " not in told
