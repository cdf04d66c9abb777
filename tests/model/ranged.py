"""First loads that go range by range of the key: the same world, in which a run reads one range and anything happens before the next."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from incremental_assets.core.captures.database.loading import RANGE_BYTES, WORTH_IT
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing import loading
from incremental_assets.core.syncing.loading import load_and_sync
from tests.model import keeping
from tests.model.keeping import Keeping
from tests.model.protocol import Process
from tests.scenario import ORDERS, orders


def large(spec: TableSpec) -> TableSpec:
    """Of so many bytes that a single row is a range."""
    return replace(spec, shape=replace(spec.shape, rows=WORTH_IT // RANGE_BYTES, bytes=WORTH_IT))


TERMS = {name: large(spec) for name, spec in keeping.TERMS.items() if spec.key_enforced}
TERMS |= {
    "upsert by an application's stamps, held back": large(orders(holdback=timedelta(minutes=5))),
    "append by a sequence": large(orders(Strategy.APPEND, cursor="id")),
}


class Ranged(Keeping):
    """One large table."""

    @initialize(terms=st.sampled_from(sorted(TERMS)))
    def choose(self, terms: str) -> None:
        self.spec = TERMS[terms]
        self.define()
        for number in range(6):
            # Some are written in transactions that stay open, and have numbers among the first.
            if number in (1, 2):
                self.begin(shown=True, named=True)
                self.insert(number - 1, early=True)
            else:
                self.write_at_once()

    @precondition(lambda self: not self.is_loaded)
    @rule(which=st.integers(0, 3), writes=st.booleans())
    def a_range_lands_and_a_transaction_ends(self, which: int, writes: bool) -> None:
        self.run(self.world.process())
        if writes:
            self.write_at_once()
        if self.open:
            self.commit(which)

    @precondition(lambda self: not self.is_loaded)
    @rule()
    def a_range_lands(self) -> None:
        self.run(self.world.process())

    @precondition(lambda self: self.is_loaded)
    @rule()
    def full_refresh(self) -> None:
        """It would end the load."""
        self.run(self.world.process(), self.world.request(Mode.FULL_REFRESH, allow_shrink=True))

    def synced(self, request: Request, ports: Ports) -> None:
        with mock.patch.object(loading, "PATIENCE", timedelta(seconds=-1)):
            load_and_sync(self.spec, request, ports)

    def run(self, process: Process, request: Request | None = None, *, quiet: bool = False) -> None:
        super().run(process, request, quiet=quiet)
        while quiet and not self.is_loaded:
            super().run(self.world.process(), quiet=True)

    @property
    def is_loaded(self) -> bool:
        state = self.world.checkpoints.position(ORDERS).state
        return state is not None and state.is_synced
