"""The thread that keeps leases alive, and what it says of those that it cannot."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import pytest

from incremental_assets.adapters.checkpoints.heartbeat import Heartbeats, Held
from incremental_assets.core.errors import LeaseLost, sentence
from incremental_assets.core.model.table_id import TableId

ORDERS = TableId("shop", "public", "orders")


@pytest.mark.parametrize("released", [True, False])
def test_a_lease_that_was_let_go_while_its_beat_was_on_its_way_is_not_called_lost(
    caplog: pytest.LogCaptureFixture, *, released: bool
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def beat(held: Sequence[Held]) -> Sequence[Held]:
        asked.set()
        assert answer.wait(60)
        return held

    beats, before = Heartbeats(beat, seconds=0.01), set(threading.enumerate())
    with caplog.at_level(logging.WARNING):
        beats.add((ORDERS, "token"))
        assert asked.wait(60)
        (thread,) = set(threading.enumerate()) - before
        if released:
            beats.remove((ORDERS, "token"))
        answer.set()
        while not released and not caplog.records:
            thread.join(0.01)
            assert thread.is_alive()
        beats.remove((ORDERS, "token"))
        thread.join(60)
    told = {record.getMessage() for record in caplog.records}
    assert told == (set() if released else {f"{ORDERS}: the heartbeat failed: {LeaseLost(ORDERS)}"})


@pytest.mark.parametrize("met", [RuntimeError("a fault of the program"), KeyboardInterrupt(), SystemExit(1)])
def test_whatever_one_beat_meets_the_next_one_follows(caplog: pytest.LogCaptureFixture, met: BaseException) -> None:
    met_once, again = threading.Event(), threading.Event()

    def beat(_: Sequence[Held]) -> Sequence[Held]:
        if met_once.is_set():
            again.set()
            return []
        met_once.set()
        raise met

    beats = Heartbeats(beat, seconds=0.01)
    with caplog.at_level(logging.WARNING):
        beats.add((ORDERS, "token"))
        assert again.wait(60)
        beats.remove((ORDERS, "token"))
    assert [record.getMessage() for record in caplog.records] == [f"{ORDERS}: the heartbeat failed: {sentence(met)}"]
