"""The databases that have a server here, each behind one small port: what a scenario needs of a source that it plays on all of them.

What differs is told in words (a type, a literal) and in what a server lets be done to it (sessions ended, the server pulled down).
"""

from __future__ import annotations

import itertools
import sqlite3
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import psycopg
import pytest

from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.played import BINLOGS, BY_LOG, FILES, IN_STORE, NOT_HERE, ON_CLUSTER, TOPICS
from tests.shop import PASSWORD, Place, Shop, touching

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Words:
    """What a database calls the columns of the scenarios' tables."""

    stamp: str
    """A stamp that the database gives, in microseconds or as near as it comes."""
    bare: str
    """The same type alone."""
    now: str
    cursor: str
    """The type of such a cursor, in the configuration."""
    numbered: str
    """A key of whole numbers that the database draws."""
    utc: str = ""
    """What stands behind a moment in UTC."""
    exact: str = ""
    """Behind a type of texts: each is equal to itself alone."""

    def at(self, moment: str) -> str:
        """A moment of UTC as a literal."""
        return f"'{moment}{self.utc}'"


@dataclass
class Session:
    """A connection with a transaction open from its first statement."""

    connection: Any
    begin: str = ""

    def run(self, *statements: str) -> None:
        cursor = self.connection.cursor()
        if self.begin:
            cursor.execute(self.begin)
            self.begin = ""
        for statement in statements:
            cursor.execute(statement)

    def answer(self, query: str) -> list[tuple[Any, ...]]:
        """What it sees."""
        cursor = self.connection.cursor()
        cursor.execute(query)
        return [tuple(row) for row in cursor.fetchall()]

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()

    def close(self) -> None:
        self.connection.close()


class World(Place):
    """One database of a server, or a file, that nobody else writes; and the configuration of a source on it."""

    title: ClassVar[str]
    words: ClassVar[Words]

    @property
    def version(self) -> str:
        """Of the server, as the report tells it."""
        raise NotImplementedError

    def address(self) -> str:
        """The keys of the source that say where it is, as YAML."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Whoever reads may read."""

    def open(self) -> Any:
        """A connection of one who may do everything, each statement a transaction."""
        raise NotImplementedError

    def session(self) -> Session:
        """For transactions that stay open."""
        raise NotImplementedError

    def end_sessions(self) -> None:
        """Those of the sync."""
        raise NotImplementedError

    def crash(self) -> None:
        """Pulled down, and started again."""
        raise NotImplementedError

    def configure(self, tables: str, options: str = "") -> None:
        """`tables` is the YAML list under `tables:`; `options` are more keys of the source. `{s}` is the schema, `{c}` the type of a cursor that is a stamp."""
        own = f"unlisted: ignore\n{options}".strip()
        told = textwrap.dedent(tables).strip().replace("{s}", self.schema).replace("{c}", self.words.cursor)
        parts = (
            "lake: ./lake\ncheckpoints: sqlite:///checkpoints.db\nsources:\n  shop:\n",
            textwrap.indent(f"{self.address()}\n{own}\n", "    "),
            "    tables:\n",
            textwrap.indent(f"{told}\n", "      "),
        )
        self.config.write_text("".join(parts))

    def execute(self, *statements: str) -> None:
        with closing(self.open()) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)

    def touching(self, table: str, column: str) -> tuple[str, ...]:
        """Statements that have a column of the type `stamp` stamped at each update which brings no stamp itself."""
        raise NotImplementedError

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self.open()) as connection:
            cursor = connection.cursor()
            cursor.execute(query)
            return [tuple(row) for row in cursor.fetchall()]

    def wait_until_dated(self, table: str) -> None:
        """Until the second is over in which the table was made: some servers tell no more of when that was, and a sync within it leaves a comparison to the next one."""

    def clock(self) -> str:
        """The database's own, as a literal."""
        ((moment,),) = self.rows(f"SELECT {self.words.now}")
        text = moment if isinstance(moment, str) else moment.replace(tzinfo=None).isoformat(" ", "microseconds")
        return self.words.at(text)

    def many(self, rows: int) -> str:
        """A query that gives the numbers from one on as `n`."""
        return f"(WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < {rows}) SELECT n FROM g) g"

    def literal(self, text: str) -> str:
        """Any text, in the database's quotes."""
        doubled = text.replace("'", "''")
        return f"'{doubled}'"

    def may_name(self, text: str) -> bool:
        """Whether the database takes this text for the name of a column."""
        return True

    def spares(self, why: str) -> NoReturn:
        """The scenario does not apply to this database: the report says so, and why."""
        pytest.skip(f"{NOT_HERE}{why}")


@dataclass(frozen=True)
class PostgresWorld(World):
    """A database of the run's PostgreSQL, as the scenarios that are PostgreSQL's own have it."""

    title: ClassVar[str] = "PostgreSQL"
    words: ClassVar[Words] = Words(
        "timestamptz NOT NULL DEFAULT now()",
        "timestamptz",
        "now()",
        "timestamp",
        "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "+00",
    )
    server: EmbeddedPostgres
    database: str
    folder: Path

    @property
    def version(self) -> str:
        return str(self.rows("SHOW server_version")[0][0]).split()[0]

    @property
    def port(self) -> int:
        return self.server.port

    def address(self) -> str:
        return _server("postgresql", self.port, self.database)

    def prepare(self) -> None:
        self.server.create_database(self.database)
        Shop.open(self.server, self.database, self.folder, "[]")

    def open(self) -> Any:
        connection = psycopg.connect(self.server.dsn(self.database), autocommit=True)
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def session(self) -> Session:
        return Session(psycopg.connect(self.server.dsn(self.database)))

    def touching(self, table: str, column: str) -> tuple[str, ...]:
        return touching(table, column)

    def end_sessions(self) -> None:
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader' AND datname = current_database()"
        )

    def crash(self) -> None:
        self.server.restart("immediate")


@dataclass(frozen=True)
class MariaWorld(World):
    """A database of a MariaDB of the run's own."""

    title: ClassVar[str] = "MariaDB"
    words: ClassVar[Words] = Words(
        "timestamp(6) NOT NULL DEFAULT NOW(6)",
        "timestamp(6)",
        "NOW(6)",
        "timestamp",
        "bigint AUTO_INCREMENT PRIMARY KEY",
        exact=" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    )
    server: EmbeddedMariaDB
    database: str
    folder: Path

    @property
    def version(self) -> str:
        return str(self.rows("SELECT VERSION()")[0][0]).partition("-")[0]

    def wait_until_dated(self, table: str) -> None:
        dated = f"SELECT create_time < NOW() - INTERVAL 1 SECOND FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{table}'"
        deadline = time.monotonic() + 30
        while self.rows(dated) != [(1,)]:
            assert time.monotonic() < deadline, f"the server tells no time at which {table} was made"
            time.sleep(0.05)

    @property
    def schema(self) -> str:
        return self.database

    @property
    def port(self) -> int:
        return self.server.port

    def address(self) -> str:
        return _server(self.title.lower(), self.port, self.database)

    def prepare(self) -> None:
        self.server.create_database(self.database)
        self.execute(
            f"CREATE USER IF NOT EXISTS reader@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
            f"ALTER USER reader@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
            "GRANT PROCESS ON *.* TO reader@'127.0.0.1'",
            f"GRANT SELECT ON {self.database}.* TO reader@'127.0.0.1'",
        )

    def open(self) -> Any:
        # With the quotes of standard SQL, and with whatever stands for a date.
        return self.server.connect(self.database, sql_mode="ANSI_QUOTES")

    def literal(self, text: str) -> str:
        return super().literal(text.replace("\\", "\\\\"))

    def may_name(self, text: str) -> bool:
        # No space at the end, and no character beyond the first 65,536.
        return text == text.rstrip() and max(text) <= "\uffff"

    def session(self) -> Session:
        return Session(self.server.connect(self.database, sql_mode="ANSI_QUOTES", autocommit=False))

    def touching(self, table: str, column: str) -> tuple[str, ...]:
        return (f"ALTER TABLE {table} MODIFY {column} {self.words.stamp} ON UPDATE {self.words.now}",)

    def end_sessions(self) -> None:
        ids = self.rows("SELECT id FROM information_schema.processlist WHERE user = 'reader'")
        self.execute(*(f"KILL {number}" for (number,) in ids))

    def crash(self) -> None:
        self.server.crash()
        self.server.start()


class MySQLWorld(MariaWorld):
    """A database of a MySQL of the run's own."""

    title: ClassVar[str] = "MySQL"


@dataclass(frozen=True)
class SQLiteWorld(World):
    """A file with a write-ahead log, which the scenario writes from outside."""

    title: ClassVar[str] = "SQLite"
    words: ClassVar[Words] = Words(
        "timestamp NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))",
        "timestamp",
        "strftime('%Y-%m-%d %H:%M:%f', 'now')",
        "datetime",
        "INTEGER PRIMARY KEY AUTOINCREMENT",
    )
    folder: Path
    file: str = "shop.db"

    @property
    def version(self) -> str:
        return sqlite3.sqlite_version

    @property
    def schema(self) -> str:
        return "main"

    def address(self) -> str:
        return f"dialect: sqlite\ndatabase: {self.file}"

    def open(self) -> Any:
        connection = sqlite3.connect(
            self.folder / self.file, isolation_level=None, check_same_thread=False, detect_types=sqlite3.PARSE_DECLTYPES
        )
        connection.execute("PRAGMA journal_mode = wal")
        return connection

    def session(self) -> Session:
        return Session(self.open(), begin="BEGIN IMMEDIATE")

    def touching(self, table: str, column: str) -> tuple[str, ...]:
        return (
            (
                f"CREATE TRIGGER {table}_touch AFTER UPDATE ON {table} FOR EACH ROW WHEN NEW.{column} = OLD.{column} "
                f"BEGIN UPDATE {table} SET {column} = {self.words.now} WHERE rowid = NEW.rowid; END"
            ),
        )


def _server(dialect: str, port: int, database: str) -> str:
    return (
        f"dialect: {dialect}\nhost: 127.0.0.1\nport: {port}\ndatabase: {database}\n"
        "user: reader\npassword: {env: SHOP_PASSWORD}"
    )


ALL = ("postgresql", "mariadb", "mysql", "sqlite")
"""The databases that scenarios are played on, in the order of the report's columns."""
OTHERS = ALL[1:]
"""Where PostgreSQL has scenarios of its own for it."""
TITLES = {world.title.lower(): world.title for world in (PostgresWorld, MariaWorld, MySQLWorld, SQLiteWorld)} | {
    "log": BY_LOG,
    **BINLOGS,
    "topics": TOPICS,
    "files": FILES,
    "store": IN_STORE,
    "cluster": ON_CLUSTER,
}
"""The report's columns."""


def made(name: str, request: pytest.FixtureRequest, folder: Path) -> World:
    """A world of this database. Where its server cannot be had, the scenario is not played."""
    database = f"world_{next(_numbers)}"
    world: World
    if name == "sqlite":
        world = SQLiteWorld(folder)
    elif name == "postgresql":
        world = PostgresWorld(request.getfixturevalue("postgres"), database, folder)
    else:
        kind = MariaWorld if name == "mariadb" else MySQLWorld
        world = kind(request.getfixturevalue(name), database, folder)
    world.prepare()
    return world


@contextmanager
def held(session: Session) -> Iterator[Session]:
    """Until the block ends, whatever becomes of it."""
    try:
        yield session
    finally:
        session.close()
