"""A database of its own on a server that a user has, for each test: made by the check under a name that nobody has, and dropped by it alone."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import Any

import psycopg
import pymysql

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.config.database_settings import is_loopback
from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.discovery.source_url import SourceUrl
from incremental_assets.core.model.cursor import CursorType
from tests.adapters.databases.contract import Words

PREFIX = "sync_check_"
"""How every database of the check begins."""


def _as_database(server: Address, name: str) -> Address:
    facts = facts_of(server.dialect)
    schema = name if facts.schema_is_database else facts.schema
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
            cascade=" CASCADE",
        ),
        'CREATE DATABASE "{}"',
        'DROP DATABASE "{}" WITH (FORCE)',
    ),
    "mariadb": _MYSQL,
    "mysql": _MYSQL,
}
"""Of each built-in dialect with a server. A SQLite file is played by `make test` wherever it runs."""


def address_of(url: SourceUrl, password: str) -> Address:
    """Where the user's server is."""
    safe = "disable" if is_loopback(url.host) else "verify-full"
    return Address(
        url.dialect,
        url.host,
        url.port or facts_of(url.dialect).port,
        url.database,
        url.user,
        password,
        tls=url.tls or safe,
        connect_timeout=timedelta(seconds=10),
    )


@cache
def kinds() -> Mapping[str, Kind]:
    """Of each dialect with a server that a user may have; those of this checkout's other distribution too, where it is installed."""
    try:
        return KINDS | import_module("plugins.experimental.tests.kinds").KINDS
    except ImportError:
        return KINDS


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
    return Scratch(server, kinds()[server.dialect])
