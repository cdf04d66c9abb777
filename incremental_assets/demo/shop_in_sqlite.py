"""The shop in a SQLite file. One transaction writes at a time, so that none commits late."""

from __future__ import annotations

import csv
import random
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from incremental_assets.demo import plain_sql
from incremental_assets.demo.day import FUTURE, DayReport, TableDay

FILE = "shop.db"
_NOW = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
_STAMP = f"timestamp NOT NULL DEFAULT ({_NOW})"
_TRIGGER = """
    CREATE TRIGGER {table}_stamp AFTER UPDATE ON {table} FOR EACH ROW WHEN NEW.updated_at = OLD.updated_at
    BEGIN UPDATE {table} SET updated_at = {now} WHERE rowid = NEW.rowid; END
"""


class Connection:
    """Implements `plain_sql.Connection`."""

    def __init__(self, file: Path) -> None:
        self.driver = sqlite3.connect(file, isolation_level=None, timeout=30)
        self.driver.execute("PRAGMA journal_mode = WAL")
        self.driver.create_function("bucket", 2, _bucket, deterministic=True)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        return self.driver.execute(statement, tuple(values)).rowcount

    def run_many(self, statement: str, values: Iterable[Sequence[Any]]) -> int:
        return self.driver.executemany(statement, values).rowcount

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.driver.execute(query, tuple(values)).fetchall()

    def now(self) -> str:
        """As rows are stamped that change now."""
        ((now,),) = self.rows(f"SELECT {_NOW}")
        return str(now)

    def bucket(self, key: str) -> str:
        return f"bucket({key}, ?)"


class _Nothing:
    """Implements `demo.shop.Late` without rows: a transaction that holds some back would block every other writer."""

    def commit(self) -> tuple[TableDay, ...]:
        return ()


class Shop:
    """Implements `demo.shop.Shop`."""

    database = "SQLite"
    schema = "main"
    size = 2**30

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE

    def start(self) -> str:
        """The file needs only its folder."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return str(self._file)

    def stop(self) -> None:
        """Nothing runs."""

    def remove(self) -> None:
        """The file, and what SQLite keeps beside it."""
        for file in self._file.parent.glob(f"{FILE}*"):
            file.unlink()

    def access(self) -> Mapping[str, str]:
        """Nothing: the right to read the file is enough."""
        return {}

    def loaded_scale(self) -> Decimal | None:
        """The scale, kept in thousandths as `PRAGMA user_version`, which commits with the data; None where it is 0."""
        if not self._file.is_file():
            return None
        with Connection(self._file) as connection:
            ((thousandths,),) = connection.rows("PRAGMA user_version")
        return Decimal(thousandths) / 1000 if thousandths else None

    def prepare(self, scale: Decimal, on_table: Callable[[str, int], None]) -> bool:
        """All in one transaction."""
        if self.loaded_scale() == scale:
            return False
        with Connection(self._file) as connection:
            connection.run("BEGIN IMMEDIATE")
            made = plain_sql.make_tables(connection, _STAMP, self._file.parent, partial(_load, connection), scale)
            for name, rows in made:
                on_table(name, rows)
            for name in plain_sql.STAMPED:
                connection.run(_TRIGGER.format(table=name, now=_NOW))
            connection.run(f"PRAGMA user_version = {int(scale * 1000)}")
            connection.run("COMMIT")
        return True

    @contextmanager
    def late(self, seed: int) -> Iterator[_Nothing]:  # noqa: ARG002 - of the protocol
        """No late transaction."""
        yield _Nothing()

    def open(self, seed: int) -> None:
        """The first changes of the day."""
        with Connection(self._file) as connection:
            plain_sql.open_shop(connection, seed)

    def live_a_day(self, seed: int) -> DayReport:
        """The others."""
        with Connection(self._file) as connection:
            return plain_sql.live_a_day(connection, seed, FUTURE)

    def fix(self, day: DayReport) -> None:
        """The part's size."""
        with Connection(self._file) as connection:
            plain_sql.fix_part(connection, day)


def _bucket(key: int, seed: int) -> int:
    return zlib.crc32(f"{key}:{seed}".encode()) & 1023


def _load(connection: Connection, table: str, file: Path) -> int:
    with file.open(encoding="utf-8", newline="") as content:
        rows = csv.reader(content)
        columns = next(rows)
        if table in plain_sql.STAMPED:
            columns, rows = [*columns, "updated_at"], _stamped(rows)  # type: ignore[assignment]
        holes = ", ".join("?" * len(columns))
        return connection.run_many(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({holes})", rows)  # noqa: S608 - our own names


def _stamped(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Spread over the sixty days before yesterday, the same ones every time."""
    yesterday, drawn = datetime.now(UTC) - timedelta(days=1), random.Random(5)  # noqa: S311 - no secret
    for row in rows:
        stamp = yesterday - timedelta(days=60) * drawn.random()
        yield [*row, stamp.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]]
