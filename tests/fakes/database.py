"""A source that lives in memory: rows, a clock that tests move, transactions that stamp early and commit late."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.clock_reading import HostClock
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from tests.fakes.rows import Row


class Locked(Exception):
    """Another open transaction has written that row; PostgreSQL would wait here."""


@dataclass(frozen=True)
class Stored:
    """One row version. `version` is never used twice, like `(ctid, xmin)`."""

    values: Row
    version: int
    member: int = 0
    """The partition in which it lies, by its number; 0 for the table's own."""
    xid: int = 0
    """The transaction, or the subtransaction, that wrote it."""


@dataclass
class Table:
    """A table: its shape, and its committed rows by an identity that survives updates."""

    shape: TableShape
    rows: dict[int, Stored] = field(default_factory=dict)
    members: set[int] = field(default_factory=set)
    """Partitions that are attached."""
    apart: dict[int, dict[int, Stored]] = field(default_factory=dict)
    """Rows of partitions that are not."""
    file: int = 1
    """The number of the file that holds its rows, which changes when it is truncated."""


@dataclass(eq=False)
class Statement:
    """What a session runs while its transactions come and go: a procedure that commits, a message that holds several."""

    since: datetime
    drawn: list[int] = field(default_factory=list)
    """Numbers that it keeps from one transaction for the next."""


class Transaction:
    """One session's open transaction. `begun` is the oldest stamp that it writes; nobody else sees its rows before `commit`."""

    def __init__(
        self, database: SimulatedDatabase, number: int, *, private: bool, shown: bool, statement: Statement | None
    ) -> None:
        self.database, self.number = database, number
        self.started = database.clock
        """What the view of open transactions shows as its begin."""
        self.statement = statement
        self.begun = statement.since if statement else self.started
        self.private = private
        """Whether its session hides from ours when it began."""
        self.shown = shown
        """False between taking its stamp and appearing in the view of open transactions."""
        self.named = False
        """Whether its session is called as ours are: a pooler has lent it to us before."""
        self.idle_since: datetime | None = None
        """Of one that stands still there: when its session had become idle."""
        self.prepared = ""
        self.xid: int | None = None
        self.pending: dict[tuple[TableId, int], Row | None] = {}
        self.written_by: dict[tuple[TableId, int], int] = {}
        self.within: int | None = None
        """The subtransaction that is under way."""

    def savepoint(self) -> None:
        """What is written from now on has a number of its own, above that of the transaction."""
        if self.xid is None:
            self.xid = self.database.next_xid()
        self.within = self.database.next_xid()

    def stamp(self, kind: CursorType = CursorType.TIMESTAMP, zone: str | None = None) -> str:
        """Its begin as a cursor's text: what `DEFAULT now()` writes."""
        return self.database.stamp(kind, zone, at=self.begun)

    def insert(self, table: TableId, **values: object) -> None:
        """A new row; columns that are not named are NULL."""
        names = self.database.tables[table].shape.names
        self._write(table, next(self.database.identities), {name: values.get(name) for name in names})

    def update(self, table: TableId, where: Row, **changes: object) -> int:
        """Change every row that shows `where`; gives their number. Raises Locked."""
        found = self._matching(table, where)
        for identity, row in found:
            self._write(table, identity, {**row, **changes})
        return len(found)

    def delete(self, table: TableId, where: Row) -> int:
        """Delete every row that shows `where`. Raises Locked."""
        found = self._matching(table, where)
        for identity, _ in found:
            self._write(table, identity, None)
        return len(found)

    def show(self) -> None:
        """From now on the view of open transactions has it."""
        self.shown, self.idle_since = True, None

    def stand_still(self, idle: float) -> None:
        """It has taken its stamp and does not come to show it; its session had been idle for so many seconds."""
        self.shown, self.idle_since = False, self.started - timedelta(seconds=idle)

    def prepare(self, name: str) -> None:
        """`PREPARE TRANSACTION`: no session holds it any more, its rows are still to come."""
        self.prepared = name

    def commit(self) -> None:
        """Its rows appear, all at once."""
        self.database.finish(self, self.pending)

    def abort(self) -> None:
        """As if it had never been, except that the numbers it drew are gone."""
        self.database.finish(self, {})

    def _matching(self, table: TableId, where: Row) -> list[tuple[int, Row]]:
        committed = {identity: stored.values for identity, stored in self.database.tables[table].rows.items()}
        own = {identity: values for (name, identity), values in self.pending.items() if name == table}
        rows = {identity: values for identity, values in {**committed, **own}.items() if values is not None}
        return [
            (identity, row)
            for identity, row in rows.items()
            if all(row[name] == value for name, value in where.items())
        ]

    def _write(self, table: TableId, identity: int, values: Row | None) -> None:
        place = (table, identity)
        if any(place in other.pending for other in self.database.open if other is not self):
            raise Locked(f"{table}: row {identity} is locked by another transaction")
        if self.xid is None:
            self.xid = self.database.next_xid()
        self.pending[place] = values
        self.written_by[place] = self.within or self.xid


@dataclass
class Count:
    """Numbers that are given out once, unless a server goes back to an older state of itself."""

    given: int = 0

    def __next__(self) -> int:
        self.given += 1
        return self.given


Saved = tuple[dict[TableId, Table], dict[str, int], int, int, tuple[int, int]]


class SimulatedDatabase:
    """The source of every story: tables, sequences, a clock, open transactions, an identity."""

    def __init__(
        self, *shapes: TableShape, clock: datetime = datetime(2024, 1, 31, 10, tzinfo=UTC), zone: str = "UTC"
    ) -> None:
        self.clock, self.zone = clock, zone
        self.elapsed = 0.0
        """Seconds that have passed, whatever its clock is set to: what the machine that asks measures."""
        self.machine = "worker"
        self.tables = {shape.id: Table(shape) for shape in shapes}
        self.sequences: dict[str, int] = {}
        self.open: list[Transaction] = []
        self.statements: list[Statement] = []
        """That run for longer than one transaction."""
        self.blind = ""
        """Why no session's transactions can be seen, such as a missing privilege; empty when they can."""
        self.system, self.name, self.timeline, self.position = "7001", "shop", 1, 1000
        self.durable: Saved | None = None
        """What is on disk, where commits do not wait for it."""
        self.started = clock
        self.identities, self.versions = Count(), Count()
        self.starts = itertools.count(1)
        self.xid, self._numbers = 700, itertools.count(100)

    # --- what its users do --------------------------------------------------------------------------

    def create(self, shape: TableShape) -> None:
        """A new, empty table."""
        self.tables[shape.id] = Table(shape)

    def tick(self, seconds: float) -> None:
        """Time passes; a negative number is a clock that was put back."""
        self.clock += timedelta(seconds=seconds)
        self.elapsed += max(0.0, seconds)

    def stamp(
        self, kind: CursorType = CursorType.TIMESTAMP, zone: str | None = None, at: datetime | None = None
    ) -> str:
        """A moment, default now, as the text that a column of that type would hold."""
        moment = at or self.clock
        if kind is not CursorType.TIMESTAMP:
            moment = moment.astimezone(ZoneInfo(zone or self.zone)).replace(tzinfo=None)
        return CursorValue.of(kind, moment).text

    def nextval(self, sequence: str = "ids", step: int = 1) -> int:
        """The next number, drawn forever, whatever becomes of the transaction; `step` numbers at once give the first of them."""
        first = self.sequences.get(sequence, 0) + 1
        self.sequences[sequence] = first + step - 1
        return first

    def run(self) -> Statement:
        """A statement of several transactions begins, with none open."""
        self.statements.append(Statement(self.clock))
        return self.statements[-1]

    def begin(self, *, private: bool = False, shown: bool = True, statement: Statement | None = None) -> Transaction:
        """Open a transaction, alone or as the next one of a statement."""
        transaction = Transaction(self, next(self._numbers), private=private, shown=shown, statement=statement)
        self.open.append(transaction)
        return transaction

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """One that commits at the end of the block and aborts if it raises."""
        transaction = self.begin()
        try:
            yield transaction
        except BaseException:
            transaction.abort()
            raise
        transaction.commit()

    def insert(self, table: TableId, **values: object) -> None:
        """One row in a transaction of its own."""
        with self.transaction() as transaction:
            transaction.insert(table, **values)

    def update(self, table: TableId, where: Row, **changes: object) -> None:
        """One update in a transaction of its own."""
        with self.transaction() as transaction:
            transaction.update(table, where, **changes)

    def delete(self, table: TableId, where: Row) -> None:
        """One delete in a transaction of its own."""
        with self.transaction() as transaction:
            transaction.delete(table, where)

    def truncate(self, table: TableId) -> None:
        """Every row is gone, and the table has another file."""
        found = self.tables[table]
        found.rows, found.file = {}, found.file + 1

    def finish(self, transaction: Transaction, writes: dict[tuple[TableId, int], Row | None]) -> None:
        """The end of a transaction."""
        self.open.remove(transaction)
        if writes:
            self.position += 1
        for place, values in writes.items():
            table, identity = place
            if values is None:
                self.tables[table].rows.pop(identity, None)
            else:
                rows = self.tables[table].rows
                member = rows[identity].member if identity in rows else 0
                rows[identity] = Stored(values, next(self.versions), member, transaction.written_by[place])

    def fill(self, table: TableId, member: int, **values: object) -> None:
        """A row in a partition that is not attached: nobody who asks the table sees it."""
        names = self.tables[table].shape.names
        row = {name: values.get(name) for name in names}
        self.tables[table].apart.setdefault(member, {})[next(self.identities)] = Stored(
            row, next(self.versions), member, self.next_xid()
        )

    def attach(self, table: TableId, member: int) -> None:
        """All rows of a partition appear at once, with the stamps that they have."""
        found = self.tables[table]
        found.members.add(member)
        found.rows |= found.apart.pop(member, {})

    def detach(self, table: TableId, member: int) -> None:
        """They are gone from the table, and kept."""
        found = self.tables[table]
        found.members.discard(member)
        found.apart[member] = {identity: stored for identity, stored in found.rows.items() if stored.member == member}
        found.rows = {identity: stored for identity, stored in found.rows.items() if stored.member != member}

    # --- what its administrators do -----------------------------------------------------------------

    def backup(self) -> Saved:
        """A copy of what is committed, to be restored later."""
        counts = self.identities.given, self.versions.given
        return copy.deepcopy(self.tables), dict(self.sequences), self.position, self.xid, counts

    def write_to_disk(self) -> None:
        """All that is committed. From now on commits do not wait until they are."""
        self.durable = self.backup()

    def crash(self) -> None:
        """It starts again with what is on disk, and goes on in the same log. What it had given out since, it gives out again."""
        if self.durable is not None:
            self._go_back(self.durable)
        self.open.clear()
        self.statements.clear()
        self.started = self.clock + timedelta(microseconds=next(self.starts))

    def restore(self, saved: Saved) -> None:
        """Put an older copy back: every open transaction is gone, the log is where it was, on a new timeline."""
        self._go_back(saved)
        self.open.clear()
        self.statements.clear()
        self.timeline += 1
        self.started = self.clock + timedelta(microseconds=next(self.starts))

    def _go_back(self, saved: Saved) -> None:
        tables, sequences, self.position, self.xid, (self.identities.given, self.versions.given) = saved
        self.tables, self.sequences = copy.deepcopy(tables), dict(sequences)

    def exchange(self, system: str = "7002") -> None:
        """Another database answers at the same address."""
        self.system = system

    def fail_over(self) -> None:
        """A replica takes over without losing anything."""
        self.open.clear()
        self.statements.clear()
        self.timeline += 1
        self.position += 1

    # --- what a sync may ask ------------------------------------------------------------------------

    def rows(self, table: TableId) -> list[Row]:
        """What a snapshot taken now shows."""
        return [stored.values for stored in self.tables[table].rows.values()]

    def visible(self) -> str:
        """Which transactions a snapshot taken now shows: all below the first number, none from the second on, and none of those behind it."""
        under_way = sorted(each.xid for each in self.open if each.xid is not None)
        return f"{min(under_way, default=self.xid)}:{self.xid}:{','.join(map(str, under_way))}"

    def next_xid(self) -> int:
        """A transaction or subtransaction gets its number at its first write."""
        self.xid += 1
        return self.xid - 1

    def bound(self) -> Bound:
        """Clock, open transactions, prepared transactions, as our own autocommit statements see them."""
        sessions = [each for each in self.open if not each.prepared and each.shown]
        seen = [] if self.blind else [each for each in sessions if not each.private]
        starts = [(each.started, f"transaction {each.number}") for each in seen]
        starts += [(each.since, "a statement") for each in self.statements]
        oldest, holder = min(starts, default=(None, ""))
        newest = max((each.started for each in seen), default=None)
        flushed = self.durable[2] if self.durable else self.position
        hidden = f"transaction {sessions[0].number} hides when it began" if len(seen) < len(sessions) else ""
        return Bound(
            clock=self.clock,
            oldest=oldest,
            holder=holder,
            prepared=next((each.prepared for each in self.open if each.prepared), None),
            blind=self.blind or hidden,
            zone=self.zone,
            identity=SourceIdentity.of(self.timeline, flushed, system=self.system, database=self.name),
            newest=newest,
            host=HostClock(self.machine, self.elapsed, self.elapsed, 0.0),
            unshown=min((each.idle_since for each in self.open if each.idle_since), default=None),
            written=self.position,
            flushed=flushed,
            started=self.started,
        )
