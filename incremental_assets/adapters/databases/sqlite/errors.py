"""SQLite's errors as sentences with the subject, the place and the cure."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.sentences import NO_COLUMN, REFUSED
from incremental_assets.adapters.databases.sqlite.header import has_log
from incremental_assets.core.errors import IncrementalAssetsError, SourceRefused, SourceUnreachable, TableMissing
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.words import age

_OF_THE_FILE = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    )
)


def is_of_one_object(error: sqlite3.Error) -> bool:
    """Whether the library complains of the table or view that it was asked for, and not of the file, the machine or this process: others of the file can be read."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _OF_THE_FILE


def check_openable(place: str) -> None:
    """Raises SourceUnreachable for a pipe, for whose writer the library would wait, and for a device."""
    found = Path(place)
    if found.exists() and not (found.is_file() or found.is_dir()):
        raise SourceUnreachable(f"{place}: this is a pipe or a device and no SQLite file; check `database`")


@contextmanager
def explained(address: Address, table: TableId | None = None) -> Iterator[None]:
    """Turn whatever the library raises inside into an error of the family."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, address, table) from None


def explain(error: sqlite3.Error, address: Address, table: TableId | None) -> IncrementalAssetsError:
    """One sentence for one error of the library. By its code, as the words quote names of tables and columns, which may be called anything."""
    words, place = str(error), address.database
    # What is further said is in its upper bytes.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
        return SourceUnreachable(
            f"{place}: a process ended within a transaction and left {Path(place).name}-journal, from which the file has to be put right before it is read, "
            'and a sync never writes to a source; open it once with its application, or with `sqlite3 FILE "SELECT count(*) FROM sqlite_schema"`'
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY) and (
        closed := _closed_log(Path(place))
    ):
        return SourceUnreachable(f"{place}: {closed}")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY):
        return SourceUnreachable(
            f"{place}: there is no SQLite file here that can be read ({words}); check `database`, which is relative to the configuration file; "
            "one with a write-ahead log is read by a user who may write to its folder, or where an application has it open"
        )
    if Path(place).is_dir():
        return SourceUnreachable(f"{place}: this is a folder and no SQLite file; check `database`")
    if code == sqlite3.SQLITE_NOTADB:
        return SourceUnreachable(f"{place}: this is not a SQLite file, or it is encrypted ({words}); check `database`")
    return _of_query(code, words, address, table)


def _of_query(code: int, words: str, address: Address, table: TableId | None) -> IncrementalAssetsError:
    """Of a file that is one."""
    place = address.database
    if code == sqlite3.SQLITE_CORRUPT:
        return SourceRefused(
            f"{table or place}: the file {place} is damaged or cut short ({words}); restore it from a backup, or have `sqlite3 FILE .recover` write what is left into a new one"
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return SourceUnreachable(
            f"{place}: another process has locked the file for longer than {age(address.socket_timeout.total_seconds())}; the next sync goes on "
            "from what has landed"
        )
    if table is not None and words.startswith("no such table"):
        return TableMissing(table)
    if table is not None and words.startswith("no such column"):
        return SourceRefused(f"{table}: {NO_COLUMN.format(words)}")
    if code == sqlite3.SQLITE_INTERRUPT:
        return SourceRefused(
            f"{table or place}: the query was cancelled ({words}); the next sync goes on from what has landed"
        )
    return SourceRefused(f"{table or place}: {REFUSED.format(words)}")


def _closed_log(file: Path) -> str:
    """Why this user may not read a file with a write-ahead log, with the cure; empty where that is not the reason."""
    if not has_log(file):
        return ""
    log, index = (file.with_name(f"{file.name}-{each}") for each in ("wal", "shm"))
    if log.exists() and not os.access(log, os.R_OK, effective_ids=True):
        return f"this user may not read {log.name}, in which its last changes are; let this user read it, as it may read the file"
    if not index.exists() and not os.access(file.parent, os.W_OK, effective_ids=True):
        return (
            f"the file has a write-ahead log, which is read through {index.name} beside it, and this user may not make that in {file.parent}; let this user "
            "write to the folder, have its application keep the file open, or have who may write to it run `PRAGMA journal_mode = delete` once"
        )
    return ""
