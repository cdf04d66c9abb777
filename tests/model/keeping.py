"""What is kept beside a copy, and done to it by hand: the same world with histories, deletes of every kind, repairs and rollbacks.

Rows also change, come and go where no stamp tells of it; a check and its repair then have to find them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import date, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.errors import Refused, SelectionError, TargetChanged
from incremental_assets.core.maintenance.replay import replay_table
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import Every, Grid, TimeGrid
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import Mode
from tests.fakes import Killed, Locked, Process, Sleeper, ordered
from tests.fakes.rows import breaks, is_fit, is_live, is_marked
from tests.model.protocol import Protocol, moments
from tests.scenario import ORDERS, orders

COMPARED = Deletes(DeleteMode.DIFF, every=timedelta(), max_fraction=1.0)
MARKED = replace(COMPARED, then=Then.MARK)
SOFT = Deletes(DeleteMode.SOFT, column="customer", value="gone")

TERMS = {
    "upsert": orders(),
    "append": orders(Strategy.APPEND),
    "upsert by a sequence": orders(cursor="id"),
    "upsert with a history": orders(history=History.SCD2),
    "upsert by a sequence with a history": orders(cursor="id", history=History.SCD2),
    "upsert that follows deletes, with a history": orders(deletes=COMPARED, history=History.SCD2),
    "upsert that compares keys at times": orders(deletes=replace(COMPARED, every=timedelta(minutes=1))),
    "upsert that marks deletes, with a history": orders(deletes=MARKED, history=History.SCD2),
    "append that marks deletes": orders(Strategy.APPEND, deletes=MARKED),
    "upsert that takes out what the source has marked, with a history": orders(deletes=SOFT, history=History.SCD2),
}
TERMS |= {
    "upsert with a contract": replace(orders(), contract=Contract()),
    "append with a contract": replace(orders(Strategy.APPEND), contract=Contract()),
    "upsert with a contract that follows deletes, with a history": replace(
        orders(deletes=COMPARED, history=History.SCD2), contract=Contract()
    ),
}

NO_PLACE = (SelectionError, Refused, TargetChanged)
"""What a rollback is refused with where there is nothing to go back to."""


class Keeping(Protocol):
    """One table, all that can happen to it, and all that people do about it."""

    def __init__(self) -> None:
        super().__init__()
        self.unseen: set[object] = set()
        """Ids of rows that have changed where no cursor tells of it: of these alone a repair may have to correct the copy."""

    @initialize(terms=st.sampled_from(sorted(TERMS)))
    def choose(self, terms: str) -> None:
        self.spec = TERMS[terms]

    @property
    def grid(self) -> Grid:
        return TimeGrid(Every.DAY, date(2024, 1, 1)) if self.by_stamp else IntegerGrid(10)

    # --- the source --------------------------------------------------------------------------------

    @rule(row=st.integers(0, 20))
    def a_row_changes_behind_the_cursor(self, row: int) -> None:
        self._at_once(row, status=self.version())

    @rule(row=st.integers(0, 20))
    def a_row_goes_that_nobody_may_follow(self, row: int) -> None:
        rows = self.world.database.rows(ORDERS)
        with contextlib.suppress(Locked):
            if rows:
                number = rows[row % len(rows)]["id"]
                with self.world.database.transaction() as transaction:
                    transaction.delete(ORDERS, {"id": number})
                if not self.spec.deletes.compares:
                    self.unseen.add(number)

    @precondition(lambda self: self.spec.contract is not None)
    @rule(row=st.integers(0, 20), stamped=st.booleans())
    def a_row_breaks_its_contract(self, row: int, stamped: bool) -> None:
        stamp = {"updated_at": self.world.database.stamp()} if stamped else {}
        self._at_once(row, status=f"broken {self.version()}", **stamp)

    @precondition(lambda self: self.spec.deletes.drops_marked)
    @rule(row=st.integers(0, 20), gone=st.booleans())
    def a_row_is_marked_or_lives_again(self, row: int, gone: bool) -> None:
        stamp = self.world.database.stamp()
        self._at_once(row, status=self.version(), customer="gone" if gone else None, updated_at=stamp)

    def _at_once(self, row: int, **changes: object) -> None:
        rows = self.world.database.rows(ORDERS)
        if not rows:
            return
        number = rows[row % len(rows)]["id"]
        transaction = self.world.database.begin()
        self.drawn[transaction] = []
        try:
            transaction.update(ORDERS, {"id": number}, **changes)
        except Locked:
            transaction.abort()
        else:
            if "updated_at" not in changes:
                self.unseen.add(number)
            self.finish(transaction)

    def _put_forward(self) -> None:
        """Of a table that was reset no run looks at the clock before one has landed: it would leave no trace."""
        if self.state is not None and self.state.position.reading is not None:
            super()._put_forward()

    # --- what people do ----------------------------------------------------------------------------

    @precondition(lambda self: self.spec.strategy is Strategy.UPSERT and not self.spec.deletes.compares)
    @rule()
    def the_history_is_switched(self) -> None:
        kept = History.NONE if self.spec.history is History.SCD2 else History.SCD2
        self.spec = replace(self.spec, history=kept)

    @rule()
    def check(self) -> None:
        remember(self.spec, reconcile(self.spec, self.grid, self.world.ports()), self.world.checkpoints)

    @rule(moment=st.none() | moments)
    def repair(self, moment: int | str | None) -> None:
        self.check()
        process = self.world.process()
        if moment is not None:
            process.at[moment] = process.kill
        # Of too many rows that are gone a person decides.
        with contextlib.suppress(Killed, Refused):
            self.bear(lambda: repair_table(self.spec, self.grid, "repair", self.world.ports(process)))

    @precondition(lambda self: self.spec.contract is not None)
    @rule(moment=st.none() | moments)
    def replay(self, moment: int | str | None) -> None:
        process = self.world.process()
        if moment is not None:
            process.at[moment] = process.kill
        with contextlib.suppress(Killed):
            self.bear(lambda: list(replay_table(self.spec, "replay", self.world.ports(process))))

    @rule(moment=st.none() | moments, back=st.integers(0, 6))
    def rollback(self, moment: int | str | None, back: int) -> None:
        process = self.world.process()
        if moment is not None:
            process.at[moment] = process.kill
        with contextlib.suppress(Killed):
            self.bear(lambda: self.rolled_back(back, process))

    @precondition(lambda self: len(self.sleepers) < 2)
    @rule(moment=moments, back=st.integers(0, 6))
    def rollback_falls_asleep(self, moment: int | str, back: int) -> None:
        process = self.world.process()
        self.fell_asleep(Sleeper(process, moment, lambda: self.rolled_back(back, process)))

    def rolled_back(self, back: int, process: Process) -> None:
        landed = [event.run_id for event in self.world.memory.events if event.kind is EventKind.LANDED]
        if landed:
            with contextlib.suppress(*NO_PLACE):
                roll_back(self.spec, landed[-1 - back % len(landed)], "rollback", self.world.ports(process))

    # --- what must hold ----------------------------------------------------------------------------

    @invariant()
    def no_two_versions_of_a_key_overlap(self) -> None:
        assert self.world.lake.overlapping_versions(self.spec) in (None, FaultyKeys(0))

    @invariant()
    def nothing_is_held_twice(self) -> None:
        """A version that was marked may come again."""
        rows = self.world.lake.tables[ORDERS].rows if ORDERS in self.world.lake.tables else ()
        marked = [row["status"] for row in rows if not is_live(row)]
        live = [row["status"] for row in rows if is_live(row)]
        assert all(live.count(status) <= 1 + marked.count(status) for status in live), "a version landed twice"

    def judge(self) -> None:
        """A check finds what no cursor told of, and its repair leaves nothing to find."""
        if self.unseen:
            self.run(self.world.process(), self.world.request(Mode.SYNC, allow_shrink=True), quiet=True)
            # Before a repair, which would mend what the syncs have lost as well.
            self.equal(but=self.unseen)
            self.check()
            self.bear(lambda: repair_table(self.spec, self.grid, "repair", self.world.ports()), quiet=True)
        if self.spec.contract is not None:
            self.bear(lambda: list(replay_table(self.spec, "replay", self.world.ports())), quiet=True)
        found = reconcile(self.spec, self.grid, self.world.ports())
        assert found.rows == 0, found.detail
        self.equal()
        if self.spec.history is History.SCD2:
            assert self.world.lake.differing_versions(self.spec) == FaultyKeys(0)

    def equal(self, but: AbstractSet[object] = frozenset()) -> None:
        """Row by row, but for some ids; of an append the newest versions, which stay where a row became unfit, and of what nobody follows what is still there."""
        rows = [row for row in self.world.database.rows(ORDERS) if row["id"] not in but]
        broken = [row for row in rows if is_fit(row) and breaks(self.spec, row)]
        if self.spec.contract is not None:
            held = [row for row in self.world.lake.open_rows(self.spec) if row["id"] not in but]
            assert ordered(held) == ordered(broken), "what is held is what breaks the contract"
        here = [row for row in rows if is_fit(row) and not is_marked(self.spec, row) and row not in broken]
        there = [row for row in self.world.lake.living(self.spec) if row["id"] not in but]
        there = list({row["id"]: row for row in there}.values())
        stale = {row["id"] for row in broken}
        there = [row for row in there if row["id"] not in stale]
        known = {row["id"] for row in rows}
        if not self.spec.deletes.compares:
            there = [row for row in there if row["id"] in known]
        if self.spec.strategy is Strategy.APPEND:
            unfit = {row["id"] for row in rows if not is_fit(row)}
            there = [row for row in there if row["id"] not in unfit]
        assert ordered(there) == ordered(here)
