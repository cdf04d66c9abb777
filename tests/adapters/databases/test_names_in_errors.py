"""Names that users have chosen, and words of errors that look alike: an error is known by its code, or by words that are nobody's name."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import psycopg
import pymysql
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql import errors as mysql
from incremental_assets.adapters.databases.postgresql import errors as postgresql
from incremental_assets.adapters.databases.sqlite import errors as sqlite
from incremental_assets.core.errors import IncrementalAssetsError, SourceRefused, TableMissing
from incremental_assets.core.model.table_id import TableId

SERVER = Address("postgresql", "ssl.certificates.example", 5432, "no database", "ssl error", "hunter2")


def refused(statement: str, table: str) -> IncrementalAssetsError:
    address = Address("sqlite", "", 0, "/shop.db", "", "", schemas=("main",))
    with pytest.raises(sqlite3.Error) as met, sqlite3.connect(":memory:") as connection:
        connection.execute(statement)
    return sqlite.explain(met.value, address, TableId("shop", "main", table))


@pytest.mark.parametrize("name", ["locked_accounts", "busy_lines", "encrypted", "interrupted", "unable to open"])
def test_a_table_of_a_file_may_be_called_as_any_error(name: str) -> None:
    assert isinstance(refused(f'SELECT * FROM "{name}"', name), TableMissing)


@pytest.mark.parametrize("name", ["locked", "busy", "encrypted", "no such table", "readonly database"])
def test_a_column_of_a_file_may_be_called_as_any_error(name: str) -> None:
    found = refused(f"SELECT [{name}] FROM sqlite_schema", "orders")
    assert isinstance(found, SourceRefused)
    assert "run the sync again, it reads the catalogue again" in str(found)


def test_a_file_that_another_process_has_locked_is_still_told(tmp_path: Path) -> None:
    path = str(tmp_path / "shop.db")
    with sqlite3.connect(path, isolation_level=None) as writer, sqlite3.connect(path, timeout=0) as reader:
        writer.execute("CREATE TABLE orders (id)")
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.Error) as met:
            reader.execute("SELECT * FROM orders")
    found = sqlite.explain(met.value, Address("sqlite", "", 0, path, "", ""), None)
    assert "another process has locked the file" in str(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("port 5432 failed: Connection refused", "does not answer"),
        ('port 5432 failed: FATAL:  role "ssl error" does not exist', "there is no user 'ssl error'"),
        ('port 5432 failed: FATAL:  database "no database" does not exist', "there is no database 'no database'"),
        ("port 5432 failed: SSL error: certificate verify failed", "no connection under `tls: disable`"),
        (
            "port 5432 failed: SSL error: certificate verify failed",
            "renew the server's certificate where it has expired",
        ),
        ("port 5432 failed: server does not support SSL, but SSL was required", "switch TLS on in the server"),
        (
            'port 5432 failed: server certificate for "other" does not match host name "ssl.certificates.example"',
            "write `host` by a name that the certificate carries",
        ),
        ("port 5432 failed: SSL SYSCALL error: EOF detected", "does not answer"),
        ("port 5432 failed: FATAL:  the database system is starting up", "does not answer"),
        (
            'port 5432 failed: FATAL:  role "reader" is not permitted to log in',
            "lets this user in to no session (connection failed: ",
        ),
        (
            'port 5432 failed: FATAL:  could not access file "audit": No such file',
            "what the server runs or loads when it does",
        ),
        (
            'port 5432 failed: FATAL:  permission denied for database "shop"',
            "whether this user may log in and use the database",
        ),
    ],
)
def test_a_server_of_postgresql_may_be_called_as_what_secures_a_line(words: str, said: str) -> None:
    error = psycopg.OperationalError(f'connection failed: connection to server at "{SERVER.host}", {words}')
    assert said in str(postgresql.explain(error, SERVER, None))


def test_a_host_that_is_not_known_may_be_called_as_what_secures_a_line() -> None:
    error = psycopg.OperationalError(f"failed to resolve host '{SERVER.host}': [Errno -2] Name or service not known")
    assert "is not known; check `host`" in str(postgresql.explain(error, SERVER, None))


def test_a_server_of_mysql_may_be_called_as_what_secures_a_line() -> None:
    address = replace(SERVER, dialect="mysql")
    error = pymysql.OperationalError(
        2003, f"Can't connect to MySQL server on '{SERVER.host}' ([Errno 111] Connection refused)"
    )
    assert "does not answer" in str(mysql.explain(error, address, None))
    error = pymysql.OperationalError(
        2003, f"Can't connect to MySQL server on '{SERVER.host}' ([SSL: CERTIFICATE_VERIFY_FAILED])"
    )
    assert "no connection under `tls: disable`" in str(mysql.explain(error, address, None))
    error = pymysql.OperationalError(
        2003, "Can't connect to MySQL server ([SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired (_ssl.c:1006))"
    )
    assert str(mysql.explain(error, address, None)).endswith("; renew the server's certificate")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("permission denied for table orders", 'GRANT SELECT ON "public"."orders"'),
        ("keine Berechtigung für Tabelle orders", 'GRANT SELECT ON "public"."orders"'),
        ("permission denied for schema public", 'GRANT USAGE ON SCHEMA "public"'),
        ("permission denied for view pg_stat_activity", "grant what the server names"),
        ("permission denied for function pg_export_snapshot", "grant what the server names"),
        ("permission denied for table orders_of_a_view", "grant what the server names"),
    ],
)
def test_a_privilege_that_is_missing_is_that_of_the_table_only_where_the_server_names_it(words: str, said: str) -> None:
    found = str(
        postgresql.explain(psycopg.errors.InsufficientPrivilege(words), SERVER, TableId("shop", "public", "orders"))
    )
    assert said in found
    assert words in found
