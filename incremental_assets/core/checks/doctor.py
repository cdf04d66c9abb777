"""The facts that `doctor` needs of a source: user, privileges, and how well each table suits its cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from incremental_assets.core.captures.database.stamps import CURE
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import is_small


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table that the configuration names, and the columns by which it will be queried: cursor, then fallback."""

    table: TableId
    cursors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One wanted table. If `exists` is False, nothing but `wanted` counts."""

    wanted: Wanted
    exists: bool = False
    usable: bool = False
    """Whether this user may use the schema."""
    readable: bool = False
    writable: bool = False
    """Whether this user may change its rows, which no reader needs."""
    filtered: bool = False
    """Whether row-level security hides rows from this user: hidden rows are never synced, and `reconciliation` cannot notice."""
    unindexed: tuple[str, ...] = ()
    """Cursor columns that no index begins with: every look at the table reads all of it."""
    numbers: tuple[str, ...] = ()
    """Cursor columns that hold numbers and no texts, where the source stores values of any kind in a column of times (SQLite)."""
    sequences: tuple[str, ...] = ()
    """Sequences that cursor columns draw from, of which this user may not see how far they have come, as the source quotes them."""
    rows: int = 0
    bytes: int = 0
    """The bytes; 0, like the rows, if the catalogue has no such number, as for a view."""
    partitioned: bool = False

    @property
    def worth_an_index(self) -> tuple[str, ...]:
        """Those of `unindexed` for which an index changes anything: none of a table that is known to be small."""
        return () if (self.rows or self.bytes) and is_small(self.rows, self.bytes) else self.unindexed


def there(facts: SourceFacts | None, wanted: Sequence[Wanted]) -> list[TableFacts]:
    """The tables that exist; all that are wanted where the source has not been asked."""
    if facts is None:
        return [TableFacts(each, exists=True) for each in wanted]
    return [each for each in facts.tables if each.exists]


def unseen(facts: SourceFacts | None) -> list[TableId]:
    """The wanted tables that the source did not show: they are not there or, where a catalogue shows only what is granted, not granted."""
    return [each.wanted.table for each in facts.tables if not each.exists] if facts else []


@dataclass(frozen=True, slots=True)
class Cures:
    """What to do about a finding, in the terms of one database; the defaults hold for every database."""

    unseen_transactions: str = "let this user see all transactions, or set a `holdback`"
    untracked_sessions: str = "have the server show what its sessions do, or set a `holdback`"
    no_identity: str = "let this user read the identity of the server"
    hidden_rows: str = "let this user read every row, or sync a view of the rows that are meant"
    emptied_by_crash: str = "run `incremental-assets check` and `sync --full-refresh` after a crash"
    numbers_apart: str = "set a `lookback` of as many numbers as such rows may lag"
    numbers: str = "take a time cursor, or set a `lookback` of as many numbers as are to be looked through each time"
    login_trigger: str = "drop or disable the trigger, or set a `holdback` longer than a login may take"
    stamps: str = CURE
    guessed_zone: str = "or take this user's own time zone away, so that it begins with the server's"
    role_zones: str = "give the role the database's time zone, or take a cursor that carries its zone"


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The source as seen by this user."""

    version: str
    user: str
    encoding: str
    is_superuser: bool
    sees_transactions: bool
    """Whether the transactions of other users can be seen, on which the settled bound rests."""
    tracks_activities: bool
    says_which: bool
    """Whether the database reveals its identity, by which a restored or exchanged one is noticed."""
    is_replica: bool
    zone: str
    """The database's own time zone."""
    clock: datetime
    zone_is_guess: bool = False
    """Whether `zone` cannot be seen, as this user begins with one of its own."""
    login_trigger: str = ""
    """An event trigger that runs when a session logs in; empty if there is none."""
    experimental: str = ""
    """Why none of these facts is proven: the dialect was never run against a real server; empty for one that was."""
    unsettled: str = ""
    """Another reason why no run can be `settled`, with its cure; empty if there is none."""
    not_compared: str = ""
    """Why the source cannot compare its rows with a copy; empty where it can."""
    pooled: bool = False
    """Whether a connection pooler answers at the address, and not the server."""
    shared_with: str = ""
    """Other clients that are logged in as this user; empty if none was there."""
    room: int | None = None
    """The sessions that this user may have now, this one included, by the limits of the server, the database and the user; None where it is not asked."""
    put_aside: tuple[str, ...] = ()
    """Settings of this user's sessions that would change what a query answers, and that a sync replaces by its own."""
    tables: tuple[TableFacts, ...] = ()
    cures: Cures = Cures()
