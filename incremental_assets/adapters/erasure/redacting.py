"""Takes texts of a person out of databases and files of texts, which have to go on: where a row or a line names one, something else stands in its place."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import inspect, text

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.erasure import in_files
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.core.model.erasure import Holds, Place

_WAIT = 30
"""Seconds for which another writer of a file is waited for."""


@dataclass(frozen=True, slots=True)
class Redacting:
    """`table`: the name of the one whose rows a number is looked for in."""

    search: Search
    table: str

    def holds(self, path: Path) -> bool:
        """Whether a file holds something."""
        return any(how for _, _, how in in_files.of_path(path, self.search, self.table, Place.LOGS))

    def file(self, path: Path) -> None:
        """One file, by what it is."""
        if not self.holds(path):
            return
        if in_files.is_database(path):
            self._sqlite(path)
            return
        data = path.read_bytes()
        packed = data[:2] == b"\x1f\x8b"
        fresh = self.search.all_texts.sub(in_files.IN_PLACE.encode(), gzip.decompress(data) if packed else data)
        path.write_bytes(gzip.compress(fresh) if packed else fresh)

    def checkpoints(self, url: str) -> None:
        """The checkpoint database."""
        database = Database(url)
        try:
            if database.file is not None:
                self._sqlite(Path(database.file))
                return
            with database.transaction(writes=True) as connection:
                quote = connection.dialect.identifier_preparer.quote
                for table in map(quote, inspect(connection).get_table_names()):
                    asked = f"SELECT CAST(ctid AS text) AS place, * FROM {table}"  # noqa: S608 - a name of the database's own
                    rows = connection.execute(text(asked)).mappings().all()
                    for row in rows:
                        for name, fresh in self._fresh({**row}):
                            change = f"UPDATE {table} SET {quote(name)} = :fresh WHERE ctid = CAST(:place AS tid)"  # noqa: S608
                            connection.execute(text(change), {"fresh": fresh, "place": row["place"]})
        finally:
            database.close()

    def _sqlite(self, path: Path) -> None:
        """Then the file is written anew, so that nothing is in it that was freed."""
        with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as database:
            tables = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%WITHOUT ROWID%'"
            )
            for name in [f'"{name.replace(chr(34), chr(34) * 2)}"' for (name,) in tables]:
                cursor = database.execute(f"SELECT rowid AS place, * FROM {name}")  # noqa: S608 - a name of the file's own
                names = [each[0] for each in cursor.description]
                for values in cursor.fetchall():
                    for column, fresh in self._fresh(dict(zip(names, values, strict=True))):
                        change = f'UPDATE {name} SET "{column}" = ? WHERE rowid = ?'  # noqa: S608
                        database.execute(change, (fresh, values[0]))
            for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                database.execute(statement).fetchall()

    def _fresh(self, row: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """The columns of a row that hold something, as they are to be; positions stay."""
        texts = {name: value for name, value in row.items() if isinstance(value, str) and name != "place"}
        for name in texts:
            if in_files.of_cell(texts, name, self.search, self.table) is Holds.TEXT:
                yield name, in_files.without(texts, name, self.search)
