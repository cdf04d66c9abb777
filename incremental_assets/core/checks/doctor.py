"""What `doctor` must know of a source: who we are there, what we may see and do, and how each table is fitted for its cursor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from incremental_assets.core.model.table import TableId


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table that the configuration names, and the columns by which it will be asked: cursor, then fallback."""

    table: TableId
    cursors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One wanted table. Everything but `wanted` is as if absent where `exists` is False."""

    wanted: Wanted
    exists: bool = False
    usable: bool = False
    """Whether the schema may be entered."""
    readable: bool = False
    writable: bool = False
    """Whether this user may change its rows, which no reader needs."""
    filtered: bool = False
    """Whether row-level security hides rows from this user: what is hidden is never synced, and `reconciliation` cannot tell."""
    unindexed: tuple[str, ...] = ()
    """Cursor columns that no index begins with: every look at the table reads all of it."""
    unstamped: bool = False
    """Whether neither a default nor a trigger of the database stamps the cursor, so that an application's clock does."""
    rows: int = 0
    bytes: int = 0
    """Both are 0 where the catalogue keeps no such number, as of a view."""
    partitioned: bool = False


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The source as this user finds it."""

    version: str
    user: str
    encoding: str
    is_superuser: bool
    sees_transactions: bool
    """Whether the transactions of other users can be seen, on which the settled bound rests."""
    tracks_activities: bool
    says_which: bool
    """Whether the database's identity can be asked for, by which a restored or exchanged one is noticed."""
    is_replica: bool
    zone: str
    """The database's own time zone."""
    clock: datetime
    privilege: str = ""
    """Which one shows the transactions of other users."""
    login_trigger: str = ""
    """An event trigger that runs when a session logs in; empty where there is none."""
    tables: tuple[TableFacts, ...] = ()
