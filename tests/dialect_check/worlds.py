"""A database of its own on a server that a user has, for each test: made by the check under a name that nobody has, and dropped by it alone."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import psycopg
import pymysql

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.oracle import connect as oracle
from incremental_assets.adapters.databases.sqlserver.connect import driver, tls
from incremental_assets.core.config.dialects import FILES, SCHEMA_IS_DATABASE, port_of, schema_of
from incremental_assets.core.config.settings import is_loopback
from incremental_assets.core.discovery.source_url import SourceUrl
from incremental_assets.core.model.cursor import CursorType
from tests.adapters.databases.contract import Words

PREFIX = "sync_check_"
"""How every database of the check begins."""


def _as_database(server: Address, name: str) -> Address:
    schema = name if server.dialect in SCHEMA_IS_DATABASE else schema_of(server.dialect)
    return replace(server, database=name, schemas=(schema,))


@dataclass(frozen=True)
class Kind:
    """How one dialect is written by the check: its connection, and what it calls the columns of the contract."""

    connect: Callable[[Address], Any]
    """In autocommit."""
    words: Words
    create: str
    drop: str
    begin: str = "BEGIN"
    """Empty where a transaction begins with its first statement."""
    translated: Callable[[str], str] = str
    after: tuple[str, ...] = ()
    within: Callable[[Address, str], Address] = _as_database
    """What was made, of the server."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Tests of the contract that such a server cannot keep, and why."""


def _postgresql(address: Address) -> Any:
    return psycopg.connect(
        host=address.host,
        port=address.port,
        dbname=address.database,
        user=address.user,
        password=address.password,
        sslmode=address.tls,
        autocommit=True,
    )


def _mysql(address: Address) -> Any:
    return pymysql.connect(
        host=address.host,
        port=address.port,
        database=address.database,
        user=address.user,
        password=address.password,
        charset="utf8mb4",
        autocommit=True,
        sql_mode="ANSI_QUOTES",
        ssl_disabled=address.tls == "disable",
    )


def _sqlserver(address: Address) -> Any:
    return driver().connect(
        address.host,
        address.database,
        address.user,
        address.password,
        port=address.port,
        autocommit=True,
        **tls(address),
    )


def _oracle(address: Address) -> Any:
    opened = oracle.driver().connect(**oracle.terms(address))
    opened.autocommit = True
    with closing(opened.cursor()) as cursor:
        cursor.execute("ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD'")
        if address.schemas[0].startswith(PREFIX):
            cursor.execute(f'ALTER SESSION SET CURRENT_SCHEMA = "{address.schemas[0]}"')
    return opened


def _oracle_words(sql: str) -> str:
    """The contract's words in Oracle's: its names, which are in lower case, are quoted, and a default stands before NOT NULL."""
    if '"' in sql:
        return sql
    types = {"text": "VARCHAR2(1000 CHAR)", "bigint": "NUMBER(18)", "date": "DATE", "varchar": "VARCHAR2"}
    parts = re.split(r"('(?:[^']|'')*')", sql)
    parts[::2] = [re.sub(r"\b[a-z_]+\b", lambda at: types.get(at[0], f'"{at[0]}"'), part) for part in parts[::2]]
    found = "".join(parts).replace("ADD COLUMN", "ADD").replace("CURRENT_TIMESTAMP", _SYSTIMESTAMP)
    return found.replace(f"NOT NULL DEFAULT {_SYSTIMESTAMP}", f"DEFAULT {_SYSTIMESTAMP} NOT NULL")


def _transact(sql: str) -> str:
    """The contract's words in Transact-SQL: texts in Unicode, and the clock in UTC."""
    sql = re.sub(r"(?<!N)'((?:[^']|'')*)'", r"N'\1'", sql) if '"' not in sql else sql
    sql = re.sub(r"\btext\b", "nvarchar(max)", sql) if sql.startswith(("CREATE TABLE", "ALTER TABLE")) else sql
    return sql.replace("ADD COLUMN", "ADD").replace("CURRENT_TIMESTAMP", "SYSUTCDATETIME()")


_SYSTIMESTAMP = "CAST(SYSTIMESTAMP AS TIMESTAMP(6))"
_ROW_BY_ROW = {
    "test_numbers_settle_when_nobody_writes_and_a_later_one_is_read_alone": "an experimental dialect calls no bound settled",
    "test_a_comparison_gives_what_differs_and_what_no_copy_can_hold_from_one_snapshot": "a table that is read row by row is not compared",
}
_MYSQL = Kind(
    _mysql,
    Words(
        "bigint AUTO_INCREMENT PRIMARY KEY",
        "datetime(6)",
        CursorType.DATETIME,
        "datetime",
        "'0000-00-00'",
        "varchar(20) COLLATE utf8mb4_bin",
        "() VALUES ()",
        "NOW(6)",
    ),
    "CREATE DATABASE `{}`",
    "DROP DATABASE `{}`",
)
KINDS = {
    "postgresql": Kind(
        _postgresql,
        Words(
            "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            "timestamptz",
            CursorType.TIMESTAMP,
            "numeric(5,2)",
            "'NaN'",
        ),
        'CREATE DATABASE "{}"',
        'DROP DATABASE "{}" WITH (FORCE)',
    ),
    "mariadb": _MYSQL,
    "mysql": _MYSQL,
    "sqlserver": Kind(
        _sqlserver,
        Words(
            "bigint IDENTITY PRIMARY KEY",
            "datetime2(6)",
            CursorType.DATETIME,
            "nvarchar(10)",
            "NCHAR(55296)",
            "nvarchar(20) COLLATE Latin1_General_BIN2",
            now="SYSUTCDATETIME()",
        ),
        "CREATE DATABASE [{}] COLLATE Latin1_General_100_CI_AS",
        "ALTER DATABASE [{0}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE [{0}]",
        "BEGIN TRANSACTION",
        _transact,
        ("ALTER DATABASE [{}] SET ALLOW_SNAPSHOT_ISOLATION ON",),
        cannot=_ROW_BY_ROW,
    ),
    # A schema of its own, which is a user whom nobody can be.
    "oracle": Kind(
        _oracle,
        Words(
            "NUMBER(18) GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
            "TIMESTAMP(6)",
            CursorType.DATETIME,
            "DATE",
            "DATE '-4000-01-01'",
            "VARCHAR2(20 CHAR)",
            now=_SYSTIMESTAMP,
        ),
        'CREATE USER "{}" NO AUTHENTICATION',
        'DROP USER "{}" CASCADE',
        "",
        _oracle_words,
        ('GRANT UNLIMITED TABLESPACE TO "{}"',),
        within=lambda server, name: replace(server, schemas=(name,)),
        cannot={
            **_ROW_BY_ROW,
            "test_names_are_never_more_than_names": "no name in Oracle holds a double quote",
            "test_which_database_answers_is_told_apart": "the check makes a schema, and no second database",
            "test_what_the_source_has_deleted_is_found_by_hashes_of_any_key": "an empty text is NULL, which no key holds",
            "test_rows_that_differ_are_found_by_hashes_of_any_key_or_of_the_row": "an empty text is NULL, which no key holds",
        },
    ),
}
"""Of each dialect with a server. A SQLite file is played by `make test` wherever it runs."""


def address_of(url: SourceUrl, password: str) -> Address:
    """Where the user's server is."""
    safe = "disable" if is_loopback(url.host) else "verify-full"
    return Address(
        url.dialect,
        url.host,
        url.port or port_of(url.dialect),
        url.database,
        url.user,
        password,
        tls=url.tls or safe,
        connect_timeout=timedelta(seconds=10),
    )


def playable(dialect: str) -> bool:
    """Whether it has a server that a user may have."""
    return dialect not in FILES and dialect in KINDS


@dataclass
class Scratch:
    """Implements `contract.World` on a server that others use as well: it touches nothing but what it has made."""

    server: Address
    kind: Kind
    made: list[str] = field(default_factory=list)
    at: Address = field(init=False)

    def __post_init__(self) -> None:
        try:
            self.at = self.elsewhere()
        except BaseException:
            self.drop()
            raise

    @property
    def words(self) -> Words:
        return self.kind.words

    @property
    def address(self) -> Address:
        return self.at

    def elsewhere(self) -> Address:
        name = f"{PREFIX}{secrets.token_hex(6)}"
        # It is refused where there is one of that name, which then is not dropped.
        self._at(self.server, self.kind.create.format(name))
        self.made.append(name)
        self._at(self.server, *(each.format(name) for each in self.kind.after))
        return self.kind.within(self.server, name)

    def execute(self, *statements: str) -> None:
        self._at(self.at, *(self.kind.translated(each) for each in statements))

    @contextmanager
    def writing(self, statement: str) -> Iterator[Callable[[], None]]:
        with closing(self.kind.connect(self.at)) as connection, closing(connection.cursor()) as cursor:
            if self.kind.begin:
                cursor.execute(self.kind.begin)
            else:
                connection.autocommit = False
            cursor.execute(self.kind.translated(statement))
            yield lambda: cursor.execute("COMMIT") and None

    def drop(self) -> None:
        """All that it has made, even if one of them cannot be dropped."""
        with ExitStack() as each:
            for name in self.made:
                each.callback(self._at, self.server, self.kind.drop.format(name))

    def _at(self, address: Address, *statements: str) -> None:
        with closing(self.kind.connect(address)) as connection, closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)


def scratch(server: Address) -> Scratch:
    """One with a database of its own."""
    return Scratch(server, KINDS[server.dialect])
