"""What a sync reads of a database: rows of one snapshot, by a cursor or all, after open transactions were asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.local_readings import highest_reading
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.settled_bound import Settled, still_settled
from incremental_assets.core.model.clock_reading import PutBack
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.guarantee import Promise
from incremental_assets.core.model.key_range import KeyRange
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, NullPolicy
from incremental_assets.core.model.window import EVERYTHING, Window
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseReading(Reading):
    """The same of a table that is read whole, or compared, without a cursor."""

    bound: Bound
    settled: Settled
    along: Cursor | None = None
    """The cursor by which rows are read; None: all are."""
    new_watermark: CursorValue | None = None
    fingerprint_lower: CursorValue | None = None
    """The next sync's lower bound, at and above which the snapshot is fingerprinted."""
    late_below: CursorValue | None = None
    """Rows below this that land for the first time were committed late: an earlier sync had read that far."""
    future_above: CursorValue | None = None
    """Stamps at or above this are past the source's clock; None for integers and for tables without a cursor."""
    waited: timedelta = timedelta()
    """How long after that clock the snapshot had been taken."""
    members: tuple[int, ...] | None = None
    """The members that the snapshot must show, and that the new state records."""
    zones: tuple[str, ...] = ()
    put_back: PutBack | None = None
    """The time that the source's clock shows a second time."""
    doubtful_stamps: str = ""
    """Why the stamps are not known for the source's own; empty if they are, or are declared."""
    ranges: tuple[KeyRange, ...] = ()
    """Of the window only these ranges of the key, side by side: a part of a first load."""
    alone: bool = False
    """Whether nothing has landed but other ranges of the same load."""

    @property
    def promise(self) -> Promise:
        """By the settled bound."""
        return Promise(self.settled.guarantee, self.settled.reason, self.settled.within)

    @property
    def clock(self) -> datetime:
        """When the bound was taken."""
        return self.bound.clock

    @property
    def identity(self) -> SourceIdentity | None:
        """As the bound says."""
        return self.bound.identity

    @property
    def is_whole(self) -> bool:
        """Where no cursor tells rows apart."""
        return self.along is None

    @property
    def whole_from(self) -> CursorValue | None:
        """Of a part of a load what the sync behind it reads."""
        return self.fingerprint_lower if self.ranges else self.window.lower

    @property
    def has_new_keys(self) -> bool:
        """Where only other ranges have landed."""
        return bool(self.ranges) and self.alone

    @property
    def settled_at(self) -> CursorValue | None:
        """The settled bound."""
        return self.settled.value

    @property
    def lag(self) -> float | None:
        """Seconds from the new watermark to the source's clock; None without a watermark, or if it is not a time."""
        cursor, mark = self.along, self.new_watermark
        if cursor is None or mark is None or not cursor.type.is_time:
            return None
        now = highest_reading(cursor, self.bound, self.clock)
        return max(0.0, (now.moment() - mark.moment()).total_seconds())

    @property
    def told_above(self) -> CursorValue | None:
        """Beside a busy writer the snapshot shows some stamps that were true and yet past the clock before it."""
        if self.future_above is None or self.along is None or not self.waited:
            return self.future_above
        return highest_reading(self.along, self.bound, self.clock + self.waited)

    @property
    def compared(self) -> tuple[Window, ...]:
        """Those of the window, or all where some have no cursor, which lie in no other."""
        everything = self.along is None or self.along.nulls is NullPolicy.ALWAYS
        return (EVERYTHING if everything else self.window,)


def of_database(plan: SyncPlan) -> DatabaseReading:
    """The reading of a plan that a capture of databases has made."""
    if not isinstance(plan.reading, DatabaseReading):
        raise TypeError(f"{plan.spec.id} is not read from a database: {type(plan.reading).__name__}")
    return plan.reading


def fingerprint_window(plan: SyncPlan) -> Window | None:
    """What the next sync would read of this snapshot; a backfill leaves the fingerprint of the last sync as it is."""
    reading = of_database(plan)
    if reading.along is None or reading.ranges or plan.request.mode.reads_again:
        return None
    return Window(reading.fingerprint_lower, None).clamp_upper(reading.window.upper)


def noticed(plan: SyncPlan) -> State | None:
    """What is kept before anything is read: should this run come to nothing and the clock be put forward again, no later look would notice."""
    before, reading = plan.previous, of_database(plan)
    if before is None or reading.put_back in (None, position_of(before).put_back):
        return None
    watermark = still_settled(plan.spec, reading.bound, before)
    position = replace(position_of(before).lowered(watermark), reading=reading.bound.reading, put_back=reading.put_back)
    return replace(before, position=position)
