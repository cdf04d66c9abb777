"""The protocol as a state machine: everybody does everything at any moment, and in the end the copy is true.

A source whose transactions stamp early and commit late, draw numbers out of order, abort, are prepared, stamp by a statement that is older
than they are, hide their start, stand still before they show it; a clock that is put back, by a moment or by an hour, while they are open and
while syncs run; syncs that are killed or err at any moment, or sleep past their lease and wake; backfills, resets, full refreshes; files that
are put together in between; partitions that come and go; a table that is altered, so that rows show something else under their stamps; rows that change to what no lake can hold, and back; a checkpoint table that is lost or an older copy of itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from incremental_assets.core.errors import Busy, CommitMissing, IncrementalAssetsError, SourceRefused, StageBroken
from incremental_assets.core.landing.first_load import WORTH_IT
from incremental_assets.core.maintenance.compact import compact_all
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.collation_key import collated
from incremental_assets.core.model.compaction import Compacted
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.stamping import Cut, Stamp, Stamping, Unit
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.sync import sync_table
from tests.fakes import Killed, Process, Sleeper, ordered
from tests.fakes.rows import is_fit
from tests.model.invariants import Invariants
from tests.scenario import MONDAY, ORDERS, ORDERS_SHAPE, orders, written_by

BLANKS_APART = replace(
    ORDERS_SHAPE, columns=(replace(ORDERS_SHAPE.columns[0], collation="blanks"), *ORDERS_SHAPE.columns[1:])
)
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
    "upsert whose keys are written in several ways": collated(replace(orders(Strategy.UPSERT), shape=BLANKS_APART)),
    "upsert by a stamp, loaded directly": orders(Strategy.UPSERT, size=WORTH_IT),
    "append by a stamp, loaded directly": orders(Strategy.APPEND, size=WORTH_IT),
}


CUT_TO_THE_HOUR = Stamping(Stamp((Cut(Unit.HOUR, aligned=False),)), Stamp((Cut(Unit.HOUR, aligned=False),)))
TERMS |= {
    "upsert by a stamp that is cut to the hour": written_by(orders(Strategy.UPSERT), CUT_TO_THE_HOUR),
    "upsert by an application's stamps": written_by(orders(Strategy.UPSERT), Stamping(), timedelta(minutes=1)),
    "append by an application's stamps": written_by(orders(Strategy.APPEND), Stamping(), timedelta(minutes=1)),
}

NAMED = [
    "before observe", "after observe", "before snapshot", "after snapshot", "staging", "before staged", "after staged",
    "before load commit", "after load commit", "before commit", "after commit", "before landed", "after landed", "before fence", "after fence", "after find", "before abandoned",
]  # fmt: skip
"""Between these the faults lie that have been found; any other moment is drawn by its number."""
BEFORE_IT_LANDS = ["before snapshot", "after snapshot", "staging", "before staged"]
"""Of a run that has looked, and whose commit is not on its way."""

moments = st.sampled_from(NAMED) | st.integers(0, 32)


class Protocol(Invariants):
    """One table and all that can happen to it: in its source, and to its syncs."""

    def __init__(self) -> None:
        super().__init__()
        self.sleepers: list[Sleeper] = []
        self.saved: list[int] = []
        self.woke = self.forgot = False
        """Whether the checkpoint table was lost or put back, so that nobody can know of batches that were being staged."""

    @initialize(terms=st.sampled_from(sorted(TERMS)))
    def choose(self, terms: str) -> None:
        self.spec = TERMS[terms]
        self.define()

    # --- a clock that goes back and forward --------------------------------------------------------

    @precondition(lambda self: not self.lost_seconds)
    @rule(moment=st.sampled_from(BEFORE_IT_LANDS), how=st.sampled_from(["kill", "err"]))
    def clock_is_put_back_and_forward_again_around_a_run_that_comes_to_nothing(self, moment: str, how: str) -> None:
        self.clock_is_put_back_far(60.0)
        self.write_at_once()
        before = len(self.world.memory.events)
        (self.sync_is_killed if how == "kill" else self.sync_errs)(moment)
        if any(event.kind is EventKind.INTENT for event in self.world.memory.events[before:]):
            self._put_forward()

    @property
    def the_lake_knows(self) -> bool:
        """Until a run has landed since, that the clock was put back stands in the checkpoint table alone: none of its copies may be lost then."""
        since = self.world.memory.events[self.put_forward_after :]
        return not self.put_forward_after or any(
            event.kind is EventKind.LANDED and event.report and event.report.rows.read for event in since
        )

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
        value = None if to is None else self.value(to)
        state = self.world.checkpoints.position(self.spec.id).state
        if state is None or (value is not None and not state.position.reaches(value)):
            return  # a person is told that rows would never be read
        with contextlib.suppress(IncrementalAssetsError):
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

    # --- the end -----------------------------------------------------------------------------------

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

    def run(self, process: Process, request: Request | None = None, *, quiet: bool = False) -> None:
        # What was deleted may be all that there was.
        asked = request or self.world.request(Mode.SYNC, allow_shrink=self.spec.deletes.compares)
        self.bear(lambda: self.synced(asked, self.world.ports(process)), quiet=quiet)

    def synced(self, request: Request, ports: Ports) -> None:
        sync_table(self.spec, request, ports)

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

    def value(self, number: int) -> CursorValue:
        if self.by_stamp:
            return CursorValue.of(CursorType.TIMESTAMP, MONDAY + timedelta(seconds=number))
        return CursorValue(CursorType.INTEGER, str(number))
