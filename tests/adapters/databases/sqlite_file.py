"""A SQLite file of its own, as the contract of all databases plays on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.model.cursor import CursorType
from tests.adapters.databases.contract import Words
from tests.adapters.databases.sqlite_settings import another_build


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


@pytest.fixture(params=["wal", "delete"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> File:
    found = File(tmp_path / "shop.db", request.param)
    found.execute("CREATE TABLE first (id integer)")
    return found
