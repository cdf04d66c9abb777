"""The source as a sync asks it and reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from incremental_assets.core.captures.database import last_read
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.observation import DatabaseObservation, Parts
from incremental_assets.core.captures.database.parts import joined
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.captures.database.windows import narrower, reading
from incremental_assets.core.errors import SourceRefused, TableMissing
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.key_parts import Selected
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import FuturePolicy, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Request, SyncPlan
from incremental_assets.core.ports import Seek
from tests.fakes.database import SimulatedDatabase, Stored
from tests.fakes.keys import FakeKeys
from tests.fakes.placed import FakePlacedRows, by_value, place_of
from tests.fakes.rows import (
    Row,
    cursor_of,
    digest,
    in_plan,
    inside,
    is_fit,
    is_marked,
    reads_nulls,
    rejected,
    version_digest,
)


def fingerprint(spec: TableSpec, window: Window, table: dict[int, Stored], started: datetime) -> Fingerprint:
    """Count, maximum and sum of row versions in a window."""
    nulls = reads_nulls(spec)
    found = {number: stored for number, stored in table.items() if inside(spec, window, stored.values, nulls=nulls)}
    highest = _highest(spec, [stored.values for stored in found.values()])
    return Fingerprint(
        lower=window.lower,
        rows=len(found),
        highest=highest.text if highest else None,
        digest=version_digest((number, stored.version) for number, stored in found.items()),
        started=started if found else None,
    )


class FakeProbe:
    """Light questions to a simulated database. `asked` counts the observations."""

    def __init__(self, database: SimulatedDatabase) -> None:
        self._database = database
        self.asked = 0

    @property
    def rows(self) -> FakeProbe:
        """Itself."""
        return self

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every table there is."""
        return tuple(table.shape for table in self._database.tables.values())

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those without a table, but for the one that every database has."""
        there = {"public", *(table.schema for table in self._database.tables)}
        return tuple(schema for schema in schemas if schema not in there)

    def bound(self) -> Bound:
        """How far it has settled."""
        return self._database.bound()

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[DatabaseObservation, ...]:
        """The integer maxima, then the bound, then the fingerprints over what a sync would read now."""
        self.asked += 1
        maxima = [self._highest_integer(look.spec) for look in looks]
        bound = self._database.bound()
        seen = [DatabaseObservation(bound, highest) for highest in maxima]
        return tuple(
            DatabaseObservation(
                bound, each.highest, self._kept(look, each), self._narrowed(look, each), self._parts(look)
            )
            for look, each in zip(looks, seen, strict=True)
        )

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """Seconds since the oldest row above all that was read was stamped, or since the last sync if only older rows moved."""
        return tuple(self._lag(look, seen) for look, seen in zip(looks, self.observe(looks), strict=True))

    def lowest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """The smallest cursor of each incremental table."""
        return tuple(
            _lowest(spec, self._database.rows(spec.id)) if spec.read_by is not None else None for spec in specs
        )

    def row_hash(self) -> RowHash:
        """Both are known."""
        return RowHash.BYTES

    def measure(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> tuple[Measure, ...]:
        """Rows and hash per window."""
        rows = [row for row in self._database.rows(spec.id) if is_fit(row) and not is_marked(spec, row)]
        return tuple(measured(spec, window, rows, by) for window in windows)

    @contextmanager
    def keys(self, spec: TableSpec) -> Iterator[FakeKeys]:
        """Of the rows that are committed now."""
        yield keys_of(spec, self._database)

    def key_ends(self, spec: TableSpec) -> tuple[int, int] | None:
        """Of the rows that are committed now."""
        rows = self._database.rows(spec.id)
        places = [place_of(spec, row) for row in rows] if by_value(spec, rows) else []
        return (min(places), max(places)) if places else None

    def key_ranges(self, spec: TableSpec, after: Place | None, rows: int) -> tuple[KeyRange, ...] | None:
        """Of the rows that are committed now, of each two ranges."""
        places = sorted(key_place(spec, row) for row in self._database.rows(spec.id))
        behind = [place for place in places if after is None or place > _numbers(after)]
        if rows >= len(behind):
            return (KeyRange(after),)
        upto, half = _texts(behind[rows - 1]), _texts(behind[max(0, rows // 2 - 1)])
        return (KeyRange(after, half), KeyRange(half, upto)) if half != upto else (KeyRange(after, upto),)

    @contextmanager
    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> Iterator[FakePlacedRows | None]:
        """Of the rows that are committed now."""
        rows = [row for row in self._database.rows(spec.id) if is_fit(row) and not is_marked(spec, row)]
        if spec.read_by is not None:
            rows = [row for row in rows if any(inside(spec, window, row, nulls=False) for window in windows)]
        yield FakePlacedRows(spec, rows, rows, windows)

    def _kept(self, look: ObserveRequest, seen: DatabaseObservation) -> Fingerprint | None:
        kept = look.state.position.fingerprint if look.state else None
        if kept is None or look.spec.read_by is None:
            return None
        upper = reading(look.spec, Request(run_id=""), look.state, seen).upper
        return self._fingerprint(look.spec, Window(kept.lower, None).clamp_upper(upper))

    def _narrowed(self, look: ObserveRequest, seen: DatabaseObservation) -> Fingerprint | None:
        lower = narrower(look.spec, look.state)
        if lower is None:
            return None
        upper = reading(look.spec, Request(run_id=""), look.state, seen).upper
        return self._fingerprint(look.spec, Window(lower, None).clamp_upper(upper))

    def _fingerprint(self, spec: TableSpec, window: Window) -> Fingerprint:
        return fingerprint(spec, window, self._table(spec), self._database.started)

    def _parts(self, look: ObserveRequest) -> Parts | None:
        if look.spec.id not in self._database.tables:
            return None
        members = Parts(tuple(sorted(self._database.tables[look.spec.id].members)))
        new = joined(look.state, members)
        rows = [stored.values for stored in self._table(look.spec).values() if stored.member in new]
        return replace(members, joined=new, lowest=_lowest(look.spec, rows))

    def _highest_integer(self, spec: TableSpec) -> CursorValue | None:
        if spec.cursor is None or spec.read_by is None or spec.cursor.type is not CursorType.INTEGER:
            return None
        return _highest(spec, [stored.values for stored in self._table(spec).values()])

    def _lag(self, look: ObserveRequest, seen: DatabaseObservation) -> float:
        spec, state = look.spec, look.state
        if (
            state is not None
            and state.clock is not None
            and (spec.read_by is None or state.position.fingerprint == seen.fingerprint)
        ):
            return 0.0
        now = CursorValue.of(CursorType.TIMESTAMP, seen.bound.clock)
        reached = state.position.max_cursor_read if state else None
        stamps = [cursor_of(spec, row) for row in self._database.rows(spec.id)]
        unread = [
            stamp
            for stamp in stamps
            if stamp is not None
            and stamp.type is CursorType.TIMESTAMP
            and stamp <= now
            and (reached is None or stamp > reached)
        ]
        if unread:
            return (seen.bound.clock - min(unread).moment()).total_seconds()
        return (
            (seen.bound.clock - state.clock).total_seconds() if state is not None and state.clock is not None else 0.0
        )

    def _table(self, spec: TableSpec) -> dict[int, Stored]:
        if spec.id not in self._database.tables:
            raise TableMissing(spec.id)
        return self._database.tables[spec.id].rows


@dataclass(frozen=True)
class FakeSnapshot:
    """What one snapshot shows of a plan's window. `frame` is the list of rows."""

    rows: int
    rejected: int
    nulls: int
    highest: CursorValue | None
    due: CursorValue | None
    visible: str
    fingerprint: Fingerprint | None
    frame: list[Row]
    waited: timedelta = timedelta()
    parts: None = None
    keys: FakeKeys | None = None
    selected: Selected | None = None


class FakeSource:
    """Reads the rows that are committed when the snapshot is opened, however long it is held open."""

    def __init__(self, database: SimulatedDatabase) -> None:
        self._database = database

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[FakeSnapshot]:
        """One snapshot."""
        if plan.spec.id not in self._database.tables:
            raise TableMissing(plan.spec.id)
        found = self._database.tables[plan.spec.id]
        if not found.members.issuperset(plan.reading.members or ()):
            raise SourceRefused(f"{plan.spec.id}: a partition left it")
        table = dict(found.rows)
        keys = keys_of(plan.spec, self._database) if plan.reading.finds_gone else None
        yield replace(self.take(plan, table, self._database.visible()), keys=keys)

    @property
    def differing(self) -> FakeSource:
        """Itself."""
        return self

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[FakeSnapshot]:
        """One snapshot, whose rows that a copy can hold are shown first."""
        spec, everything = plan.spec, plan.reading.compared == (Window(None, None),)
        shown = [row for row in self._database.rows(spec.id) if is_fit(row) and not is_marked(spec, row)]
        if not everything:
            shown = [
                row for row in shown if any(inside(spec, each, row, nulls=False) for each in plan.reading.compared)
            ]
        sought = seek(FakePlacedRows(spec, shown, shown))
        with self.snapshot(plan.at(sought.places)) as snapshot:
            yield replace(snapshot, selected=sought)

    def take(self, plan: SyncPlan, table: dict[int, Stored], visible: str) -> FakeSnapshot:
        """The snapshot's rows and its own numbers."""
        spec, last = plan.spec, last_read.read_already(plan)
        since = first_unread(last.visible, visible) if last else 0
        rows = [stored.values for stored in table.values() if stored.xid >= since and in_plan(plan, stored.values)]
        if plan.request.places is not None:
            places, unfit = plan.request.places, plan.reading.finds_differing
            rows = [row for row in rows if places.holds(place_of(spec, row)) or (unfit and not is_fit(row))]
        if ranges := of_database(plan).ranges:
            rows = [row for row in rows if in_ranges(spec, ranges, row)]
        marks = None
        if spec.read_by is not None:
            lower, upper = plan.reading.fingerprint_lower, plan.reading.window.upper
            empty = lower is not None and upper is not None and upper < lower
            marks = fingerprint(
                spec, Window(lower, lower) if empty else Window(lower, upper), table, self._database.started
            )
        return FakeSnapshot(
            rows=len(rows),
            rejected=sum(1 for row in rows if rejected(plan, row)),
            nulls=sum(1 for stored in table.values() if spec.cursor and cursor_of(spec, stored.values) is None),
            highest=_highest(spec, rows) if spec.read_by is not None else None,
            due=_due(plan, rows),
            visible=visible,
            fingerprint=marks,
            frame=rows,
        )


def key_place(spec: TableSpec, row: Row) -> tuple[int, ...]:
    """Where the key of a row lies among others: whole numbers alone have an order here."""
    return tuple(int(str(row[name])) for name in spec.key)


def in_ranges(spec: TableSpec, ranges: Sequence[KeyRange], row: Row) -> bool:
    """Whether a row lies in one of some ranges that follow each other."""
    after, upto = ranges[0].after, ranges[-1].upto
    begins = after is None or key_place(spec, row) > _numbers(after)
    return begins and (upto is None or key_place(spec, row) <= _numbers(upto))


def _numbers(place: Place) -> tuple[int, ...]:
    return tuple(map(int, place))


def _texts(place: tuple[int, ...]) -> Place:
    return tuple(map(str, place))


def keys_of(spec: TableSpec, database: SimulatedDatabase) -> FakeKeys:
    """The keys of a table as it is."""
    return FakeKeys.of(spec, database.rows(spec.id), ((1, database.tables[spec.id].file),))


def first_unread(before: str, now: str) -> int:
    """The smallest number of a transaction that a snapshot may show and an earlier one did not."""
    _, end, open_then = before.split(":")
    open_now = now.split(":")[2].split(",")
    return min([int(end), *(int(each) for each in open_then.split(",") if each and each not in open_now)])


def measured(spec: TableSpec, window: Window, rows: Sequence[Row], by: RowHash) -> Measure:
    """Rows and hash of one window; without a cursor every row is in it."""
    found = [row for row in rows if spec.read_by is None or inside(spec, window, row, nulls=False)]
    # The two kinds of hash of the same rows are never equal.
    return Measure(window, len(found), f"{digest(found)} by {by}", by)


def _due(plan: SyncPlan, rows: Sequence[Row]) -> CursorValue | None:
    if plan.spec.future is not FuturePolicy.QUARANTINE or plan.reading.future_above is None:
        return None
    stamps = [value for row in rows if (value := cursor_of(plan.spec, row)) is not None]
    return min((value for value in stamps if value >= plan.reading.future_above), default=None)


def _highest(spec: TableSpec, rows: Sequence[Row]) -> CursorValue | None:
    return max((value for row in rows if (value := cursor_of(spec, row)) is not None), default=None)


def _lowest(spec: TableSpec, rows: Sequence[Row]) -> CursorValue | None:
    return min((value for row in rows if (value := cursor_of(spec, row)) is not None), default=None)
