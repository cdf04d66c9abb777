"""What happens in the source that the model syncs: transactions, its clock, its partitions."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.captures.database.stamps import declared, units_cut
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.definition import Fact
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy
from tests.fakes import Locked, Statement, Transaction, World
from tests.fakes.rows import is_fit
from tests.scenario import MONDAY, ORDERS, ORDERS_SHAPE, orders

PUT_BACK = timedelta(seconds=1)
"""How far the clock may be behind its highest reading without a word; the guard bears two seconds. What is more is noticed."""

INDIA = timedelta(hours=5, minutes=30)
"""A zone in which an hour begins where none of UTC does."""

spans = st.sampled_from([0.001, 1.0, 1.0, 2.0, 5.0, 30.0, 90.0, 3600.0])


class SourceMoves(RuleBasedStateMachine):
    """The source of one table, and all that can happen in it."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World.of(ORDERS_SHAPE)
        self.world.database.clock = self.latest = MONDAY
        self.spec = orders(Strategy.UPSERT)
        self.drawn: dict[Transaction, list[int]] = {}
        self.numbers, self.definitions = itertools.count(1), itertools.count(1)
        self.committed: list[dict[str, object]] = []
        self.lost_seconds = 0.0
        """By how much the clock was put back in all: what is held back waits for it to come there again."""
        self.put_back_at = 0.0
        """When the clock was last put back by more than the guard bears, in seconds since the beginning."""
        self.put_forward_after = 0
        """Events of the checkpoint table when the clock was last put forward again."""

    # --- its transactions --------------------------------------------------------------------------

    @property
    def by_stamp(self) -> bool:
        return self.spec.cursor is not None and self.spec.cursor.type is CursorType.TIMESTAMP

    @property
    def open(self) -> list[Transaction]:
        return [each for each in self.world.database.open if not each.prepared]

    @precondition(lambda self: len(self.world.database.open) < 4)
    @rule(shown=st.booleans(), named=st.booleans())
    def begin(self, shown: bool, named: bool) -> None:
        transaction = self.world.database.begin(shown=shown)
        transaction.named = named
        self.drawn[transaction] = []

    @precondition(lambda self: len(self.world.database.open) < 4)
    @rule(idle=st.sampled_from([0.0, 1.0, 60.0]), span=spans)
    def a_session_stands_still_with_a_stamp_that_nothing_shows(self, idle: float, span: float) -> None:
        transaction = self.world.database.begin()
        self.drawn[transaction] = []
        transaction.stand_still(idle)
        self.time_passes(span)

    @precondition(lambda self: len(self.world.database.statements) < 2)
    @rule()
    def a_statement_of_several_transactions_begins(self) -> None:
        self.world.database.run()

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 3))
    def a_transaction_sets_a_savepoint(self, which: int) -> None:
        self.pick(which).savepoint()

    @property
    def between(self) -> list[Statement]:
        """Those that have no transaction open at this moment."""
        busy = [each.statement for each in self.world.database.open]
        return [each for each in self.world.database.statements if each not in busy]

    @precondition(lambda self: self.between and len(self.world.database.open) < 4)
    @rule()
    def a_statement_begins_its_next_transaction(self) -> None:
        statement = self.between[0]
        self.drawn[self.world.database.begin(statement=statement)] = statement.drawn

    @precondition(lambda self: self.between)
    @rule()
    def a_statement_ends(self) -> None:
        self.world.database.statements.remove(self.between[0])

    @precondition(lambda self: self.spec.cursor is not None and len(self.world.database.open) < 4)
    @rule(span=spans)
    def a_transaction_hides_its_start_while_it_is_looked_for(self, span: float) -> None:
        """A run could lose its rows, so it must not say that it is settled."""
        hiding = self.world.database.begin(private=True)
        self.drawn[hiding] = []
        self.time_passes(span)
        assert self.spec.cursor is not None
        settled = settle(self.spec, self.spec.cursor, self.world.database.bound(), None, self.state)
        assert settled.guarantee not in (Guarantee.SETTLED, Guarantee.SETTLED_WITHIN)
        hiding.private = False

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 3))
    def draw(self, which: int) -> None:
        """A number is drawn, the row comes later."""
        transaction = self.pick(which)
        self.drawn[transaction].append(self.world.database.nextval())

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 3), early=st.booleans())
    def insert(self, which: int, early: bool) -> None:
        """Stamped at the transaction's begin, or by the clock at this moment."""
        transaction = self.pick(which)
        drawn = self.drawn[transaction]
        number = drawn.pop(0) if drawn else self.world.database.nextval()
        transaction.insert(ORDERS, id=number, status=self.version(), updated_at=self.stamp(transaction, early))

    @precondition(lambda self: self.open and self.by_stamp)
    @rule(
        which=st.integers(0, 3), row=st.integers(0, 20), early=st.booleans(), fit=st.sampled_from([True, True, False])
    )
    def update(self, which: int, row: int, early: bool, fit: bool) -> None:
        rows = self.world.database.rows(ORDERS)
        if rows:
            transaction = self.pick(which)
            changes = {
                "status": f"{'' if fit else 'unfit '}{self.version()}",
                "updated_at": self.stamp(transaction, early),
            }
            with contextlib.suppress(Locked):
                transaction.update(ORDERS, {"id": rows[row % len(rows)]["id"]}, **changes)

    @precondition(lambda self: self.open and self.spec.collation_key)
    @rule(which=st.integers(0, 3), row=st.integers(0, 20), early=st.booleans(), blanks=st.integers(0, 2))
    def a_key_is_written_anew(self, which: int, row: int, early: bool, blanks: int) -> None:
        """As the same number to the source, which takes no blanks around it into account."""
        rows = self.world.database.rows(ORDERS)
        if rows:
            transaction, key = self.pick(which), rows[row % len(rows)]["id"]
            number = int(str(key))
            changes = {"id": f"{number}{' ' * blanks}" if blanks else number, "status": self.version()}
            with contextlib.suppress(Locked):
                transaction.update(ORDERS, {"id": key}, **changes, updated_at=self.stamp(transaction, early))

    @precondition(lambda self: self.open and self.spec.deletes.compares)
    @rule(which=st.integers(0, 3), row=st.integers(0, 20))
    def delete(self, which: int, row: int) -> None:
        rows = self.world.database.rows(ORDERS)
        if rows:
            with contextlib.suppress(Locked):
                self.pick(which).delete(ORDERS, {"id": rows[row % len(rows)]["id"]})

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 3))
    def commit(self, which: int) -> None:
        self.finish(self.pick(which))

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 3))
    def abort(self, which: int) -> None:
        self.pick(which).abort()

    @precondition(lambda self: self.open)
    @rule(which=st.integers(0, 3))
    def prepare(self, which: int) -> None:
        self.pick(which).prepare("gx")

    @precondition(lambda self: any(each.prepared for each in self.world.database.open))
    @rule()
    def commit_prepared(self) -> None:
        self.finish(next(each for each in self.world.database.open if each.prepared))

    @precondition(lambda self: self.spec.repeats and not self.by_stamp and self.open)
    @rule(which=st.integers(0, 3))
    def the_highest_number_comes_again(self, which: int) -> None:
        numbers = [row["id"] for row in self.world.database.rows(ORDERS)]
        if numbers:
            self.pick(which).insert(ORDERS, id=max(numbers), status=self.version())  # type: ignore[type-var]

    # --- its clock ---------------------------------------------------------------------------------

    @rule(span=spans)
    def time_passes(self, span: float) -> None:
        self.moments_pass()
        self.world.pass_time(span)
        self.latest = max(self.latest, self.world.database.clock)

    @rule(span=st.sampled_from([0.25, 1.0]))
    def clock_is_put_back(self, span: float) -> None:
        self.moments_pass()
        self.world.database.clock = max(self.world.database.clock - timedelta(seconds=span), self.latest - PUT_BACK)

    @rule(span=st.sampled_from([3.0, 60.0, 3600.0]))
    def clock_is_put_back_far(self, span: float) -> None:
        database = self.world.database
        self.moments_pass()
        self.world.pass_time(0.001)
        self.put_back_at = database.elapsed
        self.lost_seconds += span
        database.clock = self.latest = database.clock - timedelta(seconds=span)

    @precondition(lambda self: self.lost_seconds and self.put_back_is_known)
    @rule()
    def clock_is_put_forward_again(self) -> None:
        """Once a run has looked: a clock that goes back and forward between two looks leaves no trace."""
        self._put_forward()

    def _put_forward(self) -> None:
        for transaction in self.world.database.open:
            transaction.show()
        self.world.pass_time(0.001)
        self.world.database.clock += timedelta(seconds=self.lost_seconds)
        self.latest = self.world.database.clock
        self.lost_seconds = 0.0
        self.put_forward_after = len(self.world.memory.events)

    @property
    def put_back_is_known(self) -> bool:
        host = self.state.position.reading.host if self.state and self.state.position.reading else None
        return host is not None and host.uptime >= self.put_back_at

    # --- its partitions ----------------------------------------------------------------------------

    @rule(member=st.integers(1, 2))
    def a_partition_that_is_not_attached_is_filled(self, member: int) -> None:
        table = self.world.database.tables[ORDERS]
        if member not in table.members:
            row = {
                "id": self.world.database.nextval(),
                "status": self.version(),
                "updated_at": self.world.database.stamp(),
            }
            self.world.database.fill(ORDERS, member, **row)
            self.committed.append({name: row.get(name) for name in table.shape.names})

    @rule(member=st.integers(1, 2))
    def a_partition_is_attached(self, member: int) -> None:
        self.world.database.attach(ORDERS, member)

    @rule(member=st.integers(1, 2))
    def a_partition_is_detached(self, member: int) -> None:
        """It waits for all who write to it."""
        table = self.world.database.tables[ORDERS]
        held = {identity for identity, stored in table.rows.items() if stored.member == member}
        if member in table.members and not any(
            (ORDERS, each) in other.pending for other in self.world.database.open for each in held
        ):
            self.world.database.detach(ORDERS, member)

    # --- its definition ----------------------------------------------------------------------------

    @precondition(lambda self: not any(each.pending for each in self.world.database.open))
    @rule(which=st.integers(0, 2))
    def the_table_is_altered(self, which: int) -> None:
        """It waits for all who write to it. Some rows show something else then, and neither stamp nor version tells of it."""
        rows = self.world.database.tables[ORDERS].rows
        for number, (identity, stored) in enumerate(list(rows.items())):
            if number % 3 == which and is_fit(stored.values):
                rows[identity] = replace(stored, values={**stored.values, "status": self.version()})
                self.committed.append(dict(rows[identity].values))
        self.define()

    def define(self) -> None:
        """As the catalogue has it from now on."""
        fact = Fact("table", (str(next(self.definitions)),), "it was made anew")
        self.spec = replace(self.spec, shape=replace(self.spec.shape, facts=(fact,)))

    # --- how ---------------------------------------------------------------------------------------

    @property
    def state(self) -> State | None:
        return next((event.state for event in reversed(self.world.memory.events) if event.state), None)

    def moments_pass(self) -> None:
        """What was about to be shown is; what stands still goes on when it is picked."""
        for transaction in self.world.database.open:
            if transaction.idle_since is None:
                transaction.show()

    def pick(self, which: int) -> Transaction:
        transaction = self.open[which % len(self.open)]
        transaction.show()
        return transaction

    def finish(self, transaction: Transaction) -> None:
        self.committed += [dict(row) for row in transaction.pending.values() if row is not None]
        transaction.commit()

    def write_at_once(self) -> None:
        transaction = self.world.database.begin()
        self.drawn[transaction] = []
        number = self.world.database.nextval()
        transaction.insert(ORDERS, id=number, status=self.version(), updated_at=self.stamp(transaction, early=True))
        self.finish(transaction)

    def version(self) -> str:
        """Every version of every row is told apart by its status."""
        return f"v{next(self.numbers)}"

    def stamp(self, transaction: Transaction, early: bool) -> str:
        """By the clock of the source; or as early as an application may, or a default that cuts what is below the hour in its own zone."""
        return self.stored(transaction.begun if early else self.world.database.clock).text

    def stored(self, moment: datetime) -> CursorValue:
        """The smallest stamp of a transaction that begins at this moment."""
        moment -= declared(self.spec) or timedelta()
        if units_cut(self.spec):
            moment = (moment + INDIA).replace(minute=0, second=0, microsecond=0) - INDIA
        return CursorValue.of(CursorType.TIMESTAMP, moment)
