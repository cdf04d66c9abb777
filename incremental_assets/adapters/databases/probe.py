"""Light queries to one source, for any database; no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

from incremental_assets.adapters.budget import patiently
from incremental_assets.adapters.databases import observe
from incremental_assets.adapters.databases.dialect import (
    Address,
    Bounding,
    ByteHashing,
    Comparing,
    Discovering,
    Estimating,
    Listing,
    Numbers,
    Peeking,
    Placing,
    Ranging,
    Session,
    Sharing,
    Timekeeping,
)
from incremental_assets.adapters.databases.explained_keys import ExplainedKeys, ExplainedRows
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.databases.shared_snapshot import MOST_BYTES, Ask, SharedSnapshots
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.log.observation import LogSeen
from incremental_assets.core.captures.log.standing import LogStanding
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.checks.lateness import Lateness
from incremental_assets.core.discovery.traits import TableTraits, from_catalogue
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.as_copied import in_source
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.estimate import CANNOT_TELL, Estimate
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import PlacedRows, Seek, SourceKeys


class SqlProbe:
    """Implements `core.ports.Probe` and `SourceRows` over a dialect's connections. Opens nothing before the first question."""

    def __init__(self, address: Address, source: str) -> None:
        self._source, self._schemas, self._budget = source, address.schemas, address.budget
        self._sessions = address.connections
        self._globs = address.schema_globs
        self._connections = dialect_of(address.dialect).connections(address)
        self._shared = SharedSnapshots(self._shared_snapshot) if self._connections.shares_snapshots else None

    @property
    def rows(self) -> SqlProbe:
        """Itself: a database can be asked for all that it has."""
        return self

    def close(self) -> None:
        """Close the connections that are kept."""
        self._connections.close()

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every table of the configured schemas, those that this user may not read after the others."""
        with self._session() as session:
            return session.catalogue(self._source, self._looked_into(session))

    def _looked_into(self, session: Session) -> tuple[str, ...]:
        if not self._globs or not isinstance(session, Listing):
            return self._schemas
        matched = (each for each in session.schemas() if any(fnmatchcase(each, glob) for glob in self._globs))
        return tuple(dict.fromkeys((*self._schemas, *matched)))

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those of the schemas that the database does not have."""
        with self._session() as session:
            return session.missing_schemas(schemas)

    def bound(self) -> Bound:
        """How far the source has settled."""
        with self._session() as session:
            return session.bound(())

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[DatabaseObservation, ...]:
        """One observation per look, all under one bound; of several tables, one that cannot be asked is observed without a fingerprint."""
        with self._session(_only(looks)) as session:
            return observe.observe(session, [_look(look) for look in looks])

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """For each look the seconds, on the source's clock, since the oldest row that has not landed was stamped; 0.0 when all has."""
        with self._session(_only(looks)) as session:
            return observe.lag(session, [_look(look) for look in looks])

    def lowest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """The smallest cursor of each table; None where it is not incremental, has no row with a cursor, or takes too long to answer."""
        with self._session() as session:
            return observe.lowest(session, [_asked(spec) for spec in specs])

    def row_hash(self) -> RowHash:
        """The cheapest that the source computes."""
        with self._session() as session:
            return session.row_hash() if isinstance(session, ByteHashing) else RowHash.TEXT

    def measure(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> tuple[Measure, ...]:
        """Rows and hash of each window, counted by the source in one statement; without masked columns, as in all that follows."""
        spec = _asked(spec)
        with self._session(spec.id) as session:
            if by is RowHash.BYTES and isinstance(session, ByteHashing):
                return session.measure_bytes(spec, windows)
            return session.measure(spec, windows)

    @contextmanager
    def keys(self, spec: TableSpec) -> Iterator[SourceKeys]:
        """The table's keys, in a snapshot of their own that is held until the block ends."""
        with self._looking() as session, ExitStack() as held:
            with self._connections.explained(spec.id):
                found = held.enter_context(session.keys(_asked(spec)))
            yield ExplainedKeys(found, partial(self._connections.explained, spec.id))

    def key_ends(self, spec: TableSpec) -> tuple[int, int] | None:
        """The smallest and the largest key by a light query; None where this database has none for it, or the table has no row."""
        with self._session(spec.id) as session:
            return session.key_ends(_asked(spec)) if isinstance(session, Bounding) else None

    def key_ranges(self, spec: TableSpec, after: Place | None, rows: int) -> tuple[KeyRange, ...] | None:
        """As many as sessions may read at once; None where this database is not asked for them."""
        with self._session(spec.id) as session:
            if not isinstance(session, Ranging):
                return None
            return session.key_ranges(_asked(spec), after, rows, self._sessions)

    @contextmanager
    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> Iterator[PlacedRows | None]:
        """The rows of the windows, in a snapshot of their own that is held until the block ends; None where the source cannot tell."""
        with self._looking() as session, ExitStack() as held:
            if not isinstance(session, Placing):
                yield None
                return
            with self._connections.explained(spec.id):
                found = held.enter_context(session.placed_rows(_asked(spec), windows))
            yield ExplainedRows(found, partial(self._connections.explained, spec.id))

    def facts(self, wanted: Sequence[Wanted]) -> SourceFacts:
        """What `doctor` must know of the source and of some tables."""
        with self._session() as session:
            return session.facts(wanted)

    def lateness(self, specs: Sequence[TableSpec]) -> tuple[Lateness | None, ...]:
        """How late the rows of each table come; None where nothing tells."""
        with self._session() as session:
            return (
                session.lateness([in_source(spec) for spec in specs])
                if isinstance(session, Timekeeping)
                else tuple(None for _ in specs)
            )

    def logs(self, specs: Sequence[TableSpec]) -> tuple[LogSeen | None, ...]:
        """What the source's log says of each table that is read from it; None for others."""
        return tuple(None for _ in specs)

    def log_sql(self, specs: Sequence[TableSpec]) -> str:  # noqa: ARG002 - of a source whose log is read
        """What an administrator runs so that those of the tables can be read from the log that are to be; empty when nothing is missing."""
        return ""

    def log_standing(self) -> LogStanding | None:
        """Where the source's log stands; None where no table is read from it."""
        return None

    def leave_log(self, number: int) -> None:
        """Keep nothing more of the log for the table that the source numbers so."""
        raise ValueError(f"no table is read from this log, and none has the number {number} there")

    def schemas(self) -> tuple[str, ...]:
        """Every schema with a table; none where the database is not asked for them."""
        with self._session() as session:
            return session.schemas() if isinstance(session, Discovering) else ()

    def describe(self, shapes: Sequence[TableShape]) -> tuple[TableTraits, ...]:
        """What tells how fit the columns of each table are as cursors."""
        with self._session() as session:
            if isinstance(session, Discovering):
                return session.describe(shapes)
        return tuple(from_catalogue(shape) for shape in shapes)

    def highest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """The largest cursor of each table; None where it has none, or where that takes too long to find."""
        with self._session() as session:
            found = session.highest({at: _asked(spec) for at, spec in enumerate(specs)}, alone=False)
        return tuple(found.get(index) for index in range(len(specs)))

    def estimates(self, plans: Sequence[SyncPlan]) -> tuple[Estimate, ...]:
        """What each read would ask, and what the source expects of it."""
        with self._session() as session:
            read = [replace(plan, spec=in_source(plan.spec.as_read)) for plan in plans]
            return session.estimates(read) if isinstance(session, Estimating) else tuple(CANNOT_TELL for _ in plans)

    def peek(self, spec: TableSpec, most: int) -> list[tuple[str | None, ...]] | None:
        """The texts of some rows, by a light query; None where this database is not asked for them."""
        with self._session(spec.id) as session:
            return session.peek(_asked(spec), most) if isinstance(session, Peeking) else None

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Numbers]:
        """One snapshot, held open for the parallel readers until the block ends; tables that ask at the same time share it."""
        # Keys are asked for while the snapshot is held, by one table at a time.
        if self._shared is not None and plan.spec.shape.bytes < MOST_BYTES and not plan.reading.finds_gone:
            with self._shared.numbers(plan) as numbers:
                yield numbers
            return
        with self._held(plan, lambda session: session.snapshot(plan)) as numbers:
            yield numbers

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[Numbers]:
        """One snapshot, compared with a copy and held open for the readers of what differs. Raises SourceRefused."""

        def opened(session: Session) -> AbstractContextManager[Numbers]:
            if isinstance(session, Comparing):
                return session.compared(plan, seek)
            raise SourceRefused(
                f"{plan.spec.id}: this database is not asked for hashes of its rows, so that they cannot be compared; remove `compare`, "
                "and add a cursor or choose full_refresh"
            )

        with self._held(plan, opened) as numbers:
            yield numbers

    @contextmanager
    def _held(self, plan: SyncPlan, opened: Callable[[Session], AbstractContextManager[Numbers]]) -> Iterator[Numbers]:
        with self._holding() as session, ExitStack() as held:
            # What is raised while it is held is the readers' own error, and explained by them.
            with self._connections.explained(plan.spec.id):
                numbers = held.enter_context(opened(session))
            explained = partial(self._connections.explained, plan.spec.id)
            yield replace(numbers, keys=ExplainedKeys(numbers.keys, explained)) if numbers.keys else numbers

    @contextmanager
    def _shared_snapshot(self) -> Iterator[Ask]:
        with self._holding() as session, ExitStack() as held:
            if not isinstance(session, Sharing):
                raise TypeError("a session of connections that share snapshots has one to share")
            with self._connections.explained():
                ask = held.enter_context(session.shared_snapshot())

            def explained(plans: Sequence[SyncPlan]) -> Sequence[Numbers]:
                with self._connections.explained(plans[0].spec.id if len(plans) == 1 else None):
                    return ask(plans)

            yield explained

    @contextmanager
    def _session(self, table: TableId | None = None) -> Iterator[Session]:
        with self._looking() as session, self._connections.explained(table):
            yield session

    @contextmanager
    def _looking(self) -> Iterator[Session]:
        with self._budget.look(), self._opened() as session:
            yield session

    @contextmanager
    def _holding(self) -> Iterator[Session]:
        with self._budget.snapshot(), self._opened() as session:
            yield session

    @contextmanager
    def _opened(self) -> Iterator[Session]:
        """The only place where a session for light queries is opened: by who has a place in the budget."""
        with ExitStack() as opened:
            yield patiently(lambda: opened.enter_context(self._connections.session()), self._budget)


def _asked(spec: TableSpec) -> TableSpec:
    """The table as far as its source can be asked for what lands, by the source's names."""
    return in_source(spec.without_masked)


def _look(look: ObserveRequest) -> ObserveRequest:
    return replace(look, spec=_asked(look.spec))


def _only(looks: Sequence[ObserveRequest]) -> TableId | None:
    return looks[0].spec.id if len(looks) == 1 else None
