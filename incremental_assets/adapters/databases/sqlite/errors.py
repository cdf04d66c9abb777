"""SQLite's errors as sentences with the subject, the place and the cure."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.errors import IncrementalAssetsError, SourceRefused, SourceUnreachable, TableMissing
from incremental_assets.core.model.table import TableId


@contextmanager
def explained(address: Address, table: TableId | None = None) -> Iterator[None]:
    """Turn whatever the library raises inside into an error of the family."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, address, table) from None


def explain(error: sqlite3.Error, address: Address, table: TableId | None) -> IncrementalAssetsError:
    """One sentence for one error of the library."""
    words, place = str(error), address.database
    if "unable to open" in words or "readonly database" in words:
        return SourceUnreachable(
            f"{place}: there is no SQLite file here that can be read ({words}); check `database`, which is relative to the configuration file. "
            "One with a write-ahead log is read by a user who may write to its folder, or where an application has it open"
        )
    if Path(place).is_dir():
        return SourceUnreachable(f"{place}: this is a folder and no SQLite file; check `database`")
    if "not a database" in words or "encrypted" in words:
        return SourceUnreachable(f"{place}: this is not a SQLite file, or it is encrypted ({words}); check `database`")
    if "locked" in words or "busy" in words:
        return SourceUnreachable(
            f"{place}: another process has locked the file for longer than {address.socket_timeout.total_seconds():.0f} s; the next sync resumes "
            "where this one stopped"
        )
    if table is not None and "no such table" in words:
        return TableMissing(table)
    if table is not None and "no such column" in words:
        return SourceRefused(
            f"{table}: a column disappeared while the table was queried ({words}); run the sync again, it reads the catalogue again"
        )
    if "interrupted" in words:
        return SourceRefused(
            f"{table or place}: the query was cancelled ({words}); the next sync resumes where this one stopped"
        )
    return SourceRefused(f"{table or place}: the source refused the query: {words}")
