"""What a SQLite file says of how the rows of a table are stored and shown: the words in which its columns were declared, where its rows begin, and how often the schema has changed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from incremental_assets.adapters.databases.sentences import ALTERED
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.definition import COLUMN, Fact
from incremental_assets.core.model.table import TableSpec

_SCHEMA = "SELECT type, name, rootpage, sql, rowid FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
_WORDS = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|[(),]|\s+|[^\s'"`\[(),/-]+|.""",
    re.DOTALL,
)
_QUOTES = {'"': '"', "`": "`", "[": "]", "'": "'"}
_FILE, _ANOTHER_FILE = "file", "another file has been put in the place of the one that was read"
_SHOWN = ("table", "view")
Entry = tuple[str, str, int, str, int]
"""Kind, name, root, words and number of one object of a file."""


@dataclass(frozen=True, slots=True)
class FileSchema:
    """The schema of a file at one moment."""

    file: str
    """What the machine knows the file by, whatever it is called."""
    version: int
    entries: tuple[Entry, ...]
    shown: Mapping[str, Entry]
    """Tables and views by their names."""

    @classmethod
    def of(cls, connection: sqlite3.Connection, file: str) -> FileSchema:
        """As the connection's transaction shows it."""
        (version,) = connection.execute("PRAGMA schema_version").fetchone()
        entries = tuple(connection.execute(_SCHEMA))
        return cls(file, version, entries, {entry[1]: entry for entry in entries if entry[0] in _SHOWN})

    def facts(self, table: str, columns: Collection[str]) -> tuple[Fact, ...] | None:
        """Of one table or view; None where the file does not list it."""
        entry = self.shown.get(table)
        if entry is None:
            return None
        kind, _, root, sql, rowid = entry
        if kind == "view":
            made_of = tuple(text for of, *_, text, _ in self.entries if of in _SHOWN)
            return (*self._file, Fact("view", made_of, "a view or a table of the file is defined anew"))
        # Each object that is made counts one, and so does each change: where only the first has happened, nothing else has.
        changes = self.version - len(self.entries)
        # Values stand in their row in the order in which the columns were declared.
        declared = {name: (text, str(place)) for place, (name, text) in enumerate(_declared(sql))}
        return (
            *self._file,
            Fact("root", (str(root), str(rowid)), "it was made anew, moved within its file"),
            Fact("schema", (str(changes),), "something of the file's schema was dropped, altered or made anew"),
            *(
                Fact(
                    f"{COLUMN}{name.lower()}", declared.get(name.lower(), ("",)), f"what {name!r} shows is defined anew"
                )
                for name in columns
            ),
        )

    @property
    def _file(self) -> tuple[Fact, ...]:
        return (Fact(_FILE, (self.file,), _ANOTHER_FILE),)


def check_same_file(spec: TableSpec, file: str) -> None:
    """That the rows are read from the file that was planned for: the one before may be put back before anybody looks again. Raises SourceRefused."""
    planned = next((fact.values for fact in spec.shape.facts or () if fact.name == _FILE), (file,))
    if planned != (file,):
        raise SourceRefused(f"{spec.id}: {ALTERED.format(_ANOTHER_FILE)}")


def draws_numbers_once(sql: str) -> bool:
    """Whether a CREATE TABLE says AUTOINCREMENT: as a word of the language, and in no name, text or comment."""
    return any(word.upper() == "AUTOINCREMENT" for part in _parts(sql) for word in part)


def _declared(sql: str) -> Iterator[tuple[str, str]]:
    """The parts of a CREATE TABLE by the first word of each, without spaces and comments."""
    for part in _parts(sql):
        if part:
            first = part[0]
            end = _QUOTES.get(first[0], "")
            name = first[1:-1].replace(end * 2, end) if end else first
            yield name.lower(), " ".join(part)


def _parts(sql: str) -> Iterator[list[str]]:
    """What stands between the outermost brackets, cut at its commas."""
    depth, part = 0, list[str]()
    for word in (found[0] for found in _WORDS.finditer(sql)):
        if word.isspace() or word.startswith(("--", "/*")):
            continue
        depth += (word == "(") - (word == ")")
        if depth == 0 and word == ")":
            break
        if depth == 1 and word in "(,":
            yield part
            part = []
        elif depth:
            part.append(word)
    yield part
