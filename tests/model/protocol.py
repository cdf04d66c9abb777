"""The protocol as a state machine: everybody does everything at any moment, and in the end the copy is true.

A source whose transactions stamp early and commit late, draw numbers out of order, abort, are prepared, stamp by a statement that is older
than they are, hide their start, stand still before they show it; a clock that is put back, by a moment or by an hour, while they are open and
while syncs run; syncs that are killed or err at any moment, or sleep past their lease and wake; backfills, resets, full refreshes; files that
are put together in between; partitions that come and go; rows that change to what no lake can hold, and back; a checkpoint table that is lost or an older copy of itself.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from incremental_assets.core.errors import Busy, CommitMissing, IncrementalAssetsError, SourceRefused, StageBroken
from incremental_assets.core.model.compaction import Compacted
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.settled_bound import Guarantee, settle
from incremental_assets.core.syncing.compact import compact_all
from incremental_assets.core.syncing.first_load import WORTH_IT
from incremental_assets.core.syncing.reset import reset_table
from incremental_assets.core.syncing.sync import sync_table
from tests.fakes import Killed, Locked, Process, Sleeper, Statement, Transaction, World, ordered
from tests.fakes.rows import is_fit
from tests.scenario import MONDAY, ORDERS, ORDERS_SHAPE, orders

TERMS = {
    "upsert by a stamp": orders(Strategy.UPSERT),
    "append by a stamp": orders(Strategy.APPEND),
    "upsert by a stamp, held back": orders(Strategy.UPSERT, holdback=timedelta(minutes=5)),
    "append by a stamp, looking back": orders(Strategy.APPEND, lookback=timedelta(minutes=5)),
    "upsert by a sequence": orders(Strategy.UPSERT, cursor="id"),
    "append by a sequence": orders(Strategy.APPEND, cursor="id"),
    "append by a number that repeats": replace(
        orders(Strategy.APPEND, cursor="id"), shape=replace(ORDERS_SHAPE, primary_key=()), key=(), key_enforced=False
    ),
    "upsert that follows deletes": orders(
        Strategy.UPSERT, deletes=Deletes(DeleteMode.DIFF, every=timedelta(), max_fraction=1.0)
    ),
    "upsert by a stamp, loaded directly": orders(Strategy.UPSERT, size=WORTH_IT),
    "append by a stamp, loaded directly": orders(Strategy.APPEND, size=WORTH_IT),
}

PUT_BACK = timedelta(seconds=1)
"""How far the clock may be behind its highest reading without a word; the guard bears two seconds. What is more is noticed."""

NAMED = [
    "before observe", "after observe", "before snapshot", "after snapshot", "staging", "before staged", "after staged",
    "before load commit", "after load commit", "before commit", "after commit", "before landed", "after landed", "before fence", "after fence", "after find", "before abandoned",
]  # fmt: skip
"""Between these the faults lie that have been found; any other moment is drawn by its number."""
BEFORE_IT_LANDS = ["before snapshot", "after snapshot", "staging", "before staged"]
"""Of a run that has looked, and whose commit is not on its way."""

moments = st.sampled_from(NAMED) | st.integers(0, 32)
spans = st.sampled_from([0.001, 1.0, 1.0, 2.0, 5.0, 30.0, 90.0, 3600.0])


class Protocol(RuleBasedStateMachine):
    """One table and all that can happen to it."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World.of(ORDERS_SHAPE)
        self.world.database.clock = self.latest = MONDAY
        self.spec = TERMS["upsert by a stamp"]
        self.drawn: dict[Transaction, list[int]] = {}
        self.numbers = itertools.count(1)
        self.sleepers: list[Sleeper] = []
        self.saved: list[int] = []
        self.committed: list[dict[str, object]] = []
        self.lost_seconds = 0.0
        """By how much the clock was put back in all: what is held back waits for it to come there again."""
        self.put_back_at = 0.0
        """When the clock was last put back by more than the guard bears, in seconds since the beginning."""
        self.put_forward_after = 0
        """Events of the checkpoint table when the clock was last put forward again."""
        self.woke = self.forgot = False
        """Whether the checkpoint table was lost or put back, so that nobody can know of batches that were being staged."""

    @initialize(terms=st.sampled_from(sorted(TERMS)))
    def choose(self, terms: str) -> None:
        self.spec = TERMS[terms]

    # --- the source --------------------------------------------------------------------------------

    @property
    def by_stamp(self) -> bool:
        return self.spec.cursor is not None and self.spec.cursor.type is CursorType.TIMESTAMP

    @property
    def open(self) -> list[Transaction]:
        return [each for each in self.world.database.open if not each.prepared]

    @precondition(lambda self: len(self.world.database.open) < 4)
    @rule(shown=st.booleans())
    def begin(self, shown: bool) -> None:
        self.drawn[self.world.database.begin(shown=shown)] = []

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
        assert settled.guarantee is not Guarantee.SETTLED
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

    @precondition(lambda self: not self.lost_seconds)
    @rule(moment=st.sampled_from(BEFORE_IT_LANDS), how=st.sampled_from(["kill", "err"]))
    def clock_is_put_back_and_forward_again_around_a_run_that_comes_to_nothing(self, moment: str, how: str) -> None:
        self.clock_is_put_back_far(60.0)
        self.write_at_once()
        before = len(self.world.memory.events)
        (self.sync_is_killed if how == "kill" else self.sync_errs)(moment)
        if any(event.kind is EventKind.INTENT for event in self.world.memory.events[before:]):
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
    def the_lake_knows(self) -> bool:
        """Until a run has landed since, that the clock was put back stands in the checkpoint table alone: none of its copies may be lost then."""
        since = self.world.memory.events[self.put_forward_after :]
        return not self.put_forward_after or any(
            event.kind is EventKind.LANDED and event.report and event.report.rows.read for event in since
        )

    @property
    def put_back_is_known(self) -> bool:
        host = self.state.reading.host if self.state and self.state.reading else None
        return host is not None and host.uptime >= self.put_back_at

    @precondition(lambda self: self.spec.repeats and not self.by_stamp and self.open)
    @rule(which=st.integers(0, 3))
    def the_highest_number_comes_again(self, which: int) -> None:
        numbers = [row["id"] for row in self.world.database.rows(ORDERS)]
        if numbers:
            self.pick(which).insert(ORDERS, id=max(numbers), status=self.version())  # type: ignore[type-var]

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

    # --- syncs -------------------------------------------------------------------------------------

    @rule()
    def sync(self) -> None:
        self.run(self.world.process())

    @rule(moment=moments)
    def sync_is_killed(self, moment: int | str) -> None:
        process = self.world.process()
        process.at[moment] = process.kill
        with contextlib.suppress(Killed):
            self.run(process)

    @rule(moment=moments)
    def sync_errs(self, moment: int | str) -> None:
        def err() -> None:
            raise OSError("no space left on device")

        process = self.world.process()
        process.at[moment] = err
        with contextlib.suppress(OSError):
            self.run(process)

    @rule(moment=moments, what=st.sampled_from(["commit", "insert", "wake", "clock"]), which=st.integers(0, 3))
    def something_happens_during_a_sync(self, moment: int | str, what: str, which: int) -> None:
        process = self.world.process()

        def happening() -> None:
            if what == "commit" and self.open:
                self.commit(which)
            elif what == "wake" and self.sleepers:
                self.wake(self.sleepers.pop())
            elif what == "clock":
                self.clock_is_put_back_far(60.0)
            else:
                self.write_at_once()

        process.at[moment] = happening
        self.run(process)

    @rule()
    def a_row_is_lost_on_the_way_to_the_stage(self) -> None:
        self.world.stage.loses = 1
        try:
            self.run(self.world.process())
        finally:
            self.world.stage.loses = 0

    @precondition(lambda self: len(self.sleepers) < 2)
    @rule(moment=moments, mode=st.sampled_from([Mode.SYNC, Mode.FULL_REFRESH]))
    def sync_falls_asleep(self, moment: int | str, mode: Mode) -> None:
        self.fell_asleep(self.world.asleep(self.spec, moment, self.world.request(mode)))

    @precondition(lambda self: len(self.sleepers) < 2)
    @rule()
    def sync_sleeps_past_its_lease_before_its_commit(self) -> None:
        self.fell_asleep(self.world.asleep(self.spec, "before commit"))
        self.time_passes(90.0)

    @precondition(lambda self: self.sleepers)
    @rule()
    def sleeper_wakes(self) -> None:
        self.wake(self.sleepers.pop(0))

    @rule(moment=st.none() | st.sampled_from(["before compact", "before commit", "after commit"]))
    def files_are_put_together(self, moment: str | None) -> None:
        self.world.lake.small_files = 100
        process = self.world.process()
        if moment is not None:
            process.at[moment] = process.kill
        with contextlib.suppress(Killed):
            for done in compact_all([self.spec], "upkeep", self.world.ports(process), seconds=0):
                assert isinstance(done, Compacted), done

    @rule(lower=st.integers(0, 120), length=st.integers(0, 60))
    def backfill(self, lower: int, length: int) -> None:
        window = Window(self.value(lower), self.value(lower + length))
        self.run(self.world.process(), self.world.request(Mode.BACKFILL, window=window))

    @rule()
    def full_refresh(self) -> None:
        self.run(self.world.process(), self.world.request(Mode.FULL_REFRESH, allow_shrink=True))

    @rule(to=st.none() | st.integers(0, 120))
    def reset(self, to: int | None) -> None:
        with contextlib.suppress(IncrementalAssetsError):
            value = None if to is None else self.value(to)
            reset_table(spec=self.spec, to=value, run_id="reset", checkpoints=self.world.checkpoints)

    # --- the checkpoint table ----------------------------------------------------------------------

    @rule()
    def checkpoints_are_copied(self) -> None:
        self.saved.append(len(self.world.memory.events))

    @precondition(lambda self: self.saved and self.the_lake_knows)
    @rule()
    def checkpoints_are_an_older_copy(self) -> None:
        self.forgot = True
        self.put_forward_after = 0
        del self.world.memory.events[self.saved.pop() :]

    @precondition(lambda self: self.the_lake_knows)
    @rule()
    def checkpoints_are_lost(self) -> None:
        self.forgot = True
        self.put_forward_after = 0
        self.saved.clear()
        self.world.memory.events.clear()
        self.world.memory.leases.clear()

    # --- what must hold ----------------------------------------------------------------------------

    @invariant()
    def the_watermark_is_below_all_that_can_still_commit(self) -> None:
        state = self.state
        if state is None or state.position.watermark is None or self.spec.cursor is None:
            return
        if self.by_stamp:
            if not self.put_back_is_known:
                return  # decided before the clock was put back: the next sync has to notice
            stamps = [row["updated_at"] for each in self.world.database.open for row in each.pending.values() if row]
            pending = [CursorValue(CursorType.TIMESTAMP, str(stamp)) for stamp in stamps]
            pending += [CursorValue.of(CursorType.TIMESTAMP, each.since) for each in self.world.database.statements]
            pending.append(CursorValue.of(CursorType.TIMESTAMP, self.world.database.clock))
        else:
            numbers = [number for each in self.world.database.open for number in self.drawn[each]]
            numbers += [number for each in self.world.database.statements for number in each.drawn]
            numbers += [row["id"] for each in self.world.database.open for row in each.pending.values() if row]  # type: ignore[misc]
            pending = [CursorValue(CursorType.INTEGER, str(number)) for number in numbers]
        assert all(state.position.watermark <= value for value in pending), (
            f"the watermark is at {state.position.watermark}"
        )

    @invariant()
    def the_watermark_only_grows(self) -> None:
        """But for a reset, a full refresh, a clock that was put back, and what is told of a run or a checkpoint table that was lost."""
        before = None
        for event in self.world.memory.events[-12:]:
            if event.state is None:
                continue
            after = event.state.position.watermark
            if (
                event.kind in (EventKind.LANDED, EventKind.IDLE)
                and event.report
                and event.report.mode is not Mode.FULL_REFRESH
            ):
                told_later = bool(event.kind is EventKind.LANDED and event.report.reason) or event.state.put_back
                assert told_later or before is None or (after is not None and before <= after)
            # What a reset says is not held against the source's clock before the next run.
            before = None if event.kind is EventKind.RESET else after

    @invariant()
    def nothing_is_held_twice(self) -> None:
        held = [str(row["status"]) for row in self.world.rows(ORDERS)]
        assert len(held) == len(set(held)), "a version landed twice"

    @invariant()
    def sequences_only_grow(self) -> None:
        sequences = self.world.lake.sequences(ORDERS)
        assert sequences == sorted(set(sequences))

    def teardown(self) -> None:
        """Everybody comes to an end; one more sync then makes the copy true, with nothing left over."""
        for sleeper in self.sleepers:
            sleeper.wake()
        for transaction in list(self.world.database.open):
            self.finish(transaction)
        self.world.database.statements.clear()
        for member in (1, 2):
            self.world.database.attach(ORDERS, member)
        self.time_passes(600 + (self.lost_seconds if self.spec.holdback else 0))
        self.run(self.world.process(), quiet=True)
        self.judge()
        self.nothing_is_held_twice()
        self.sequences_only_grow()
        assert self.leftovers() == {}, "a staged batch was left over"
        assert self.world.memory.leases == {}

    def judge(self) -> None:
        """The copy, as it must be in the end."""
        rows, there = self.world.database.rows(ORDERS), self.world.rows(ORDERS)
        here = [row for row in rows if is_fit(row)]
        kept = self.world.lake.quarantine.get(ORDERS, [])
        assert {row["status"] for row in rows if not is_fit(row)} <= {row["status"] for row in kept}, (
            "not in quarantine"
        )
        if self.spec.strategy is Strategy.APPEND:
            assert [row for row in here if row not in there] == [], "rows were lost"
            assert [row for row in there if row not in self.committed] == [], "rows that never were"
        else:
            assert ordered(there) == ordered(here)

    def leftovers(self) -> object:
        return self.world.stage.batches if not self.forgot else {}

    # --- how ----------------------------------------------------------------------------------------

    @property
    def state(self) -> State | None:
        return next((event.state for event in reversed(self.world.memory.events) if event.state), None)

    def run(self, process: Process, request: Request | None = None, *, quiet: bool = False) -> None:
        # What was deleted may be all that there was.
        asked = request or self.world.request(Mode.SYNC, allow_shrink=self.spec.deletes.compares)
        self.bear(lambda: sync_table(self.spec, asked, self.world.ports(process)), quiet=quiet)

    def bear(self, act: Callable[[], object], *, quiet: bool = False) -> None:
        """What may come to a run in such a world; `quiet`: nothing of it."""
        try:
            act()
        except Busy:
            assert not quiet
        except CommitMissing:
            # The sleeper of a checkpoint table that was lost had announced the same number, and woke first.
            assert self.forgot
            assert not quiet
        except SourceRefused:
            # A partition left between the plan and its snapshot.
            assert not quiet
        except StageBroken:
            # A sleeper that woke before it had looked around took this run for a dead one and discarded its batch; or a row was lost.
            assert self.woke or self.world.stage.loses
            assert not quiet

    def fell_asleep(self, sleeper: Sleeper) -> None:
        if sleeper.is_asleep:
            self.sleepers.append(sleeper)

    def wake(self, sleeper: Sleeper) -> None:
        self.woke = True
        sleeper.wake()

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
        transaction.insert(ORDERS, id=number, status=self.version(), updated_at=transaction.stamp())
        self.finish(transaction)

    def version(self) -> str:
        """Every version of every row is told apart by its status."""
        return f"v{next(self.numbers)}"

    def stamp(self, transaction: Transaction, early: bool) -> str:
        return transaction.stamp() if early else self.world.database.stamp()

    def value(self, number: int) -> CursorValue:
        if self.by_stamp:
            return CursorValue.of(CursorType.TIMESTAMP, MONDAY + timedelta(seconds=number))
        return CursorValue(CursorType.INTEGER, str(number))
