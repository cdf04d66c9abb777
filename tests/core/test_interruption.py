"""What is told to end is cancelled, nothing else begins, and nobody waits for long for what does not listen."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from incremental_assets.core.concurrency import interruption
from incremental_assets.core.concurrency.interruption import Interruption, this_process
from incremental_assets.core.errors import Interrupted
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status
from incremental_assets.core.syncing.sync_many import attempt, sync_many
from tests.core.test_sync_many import request, tables, world
from tests.fakes import World, ordered
from tests.scenario import ORDERS, monday, orders, shop
from tests.waiting import until


def test_what_is_at_work_is_cancelled_and_what_has_ended_is_not() -> None:
    this, told = Interruption(), threading.Event()
    ended: list[str] = []
    with this.cancelling(lambda: ended.append("over before")):
        pass
    with this.cancelling(told.set):
        this.ask()
        assert told.wait(60)
    assert (this.asked, ended) == (True, [])


def test_a_cancel_that_fails_keeps_no_other_from_being_called() -> None:
    this, told = Interruption(), threading.Event()

    def fails() -> None:
        raise OSError("it has just ended")

    with this.cancelling(fails), this.cancelling(told.set):
        this.ask()
        assert told.wait(60)


def test_what_does_not_listen_is_waited_for_as_long_as_the_grace_and_cancelled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = itertools.count()
    # A second is over each time that somebody asks, and at no other time.
    monkeypatch.setattr(interruption, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(interruption, "GRACE", 4)
    monkeypatch.setattr(interruption, "_AGAIN", 0.001)
    this, cancelled = Interruption(), list[str]()
    deaf: Future[Any] = Future()
    with this.cancelling(lambda: cancelled.append("again")):
        this.ask()
        this.see_out([deaf], GeneratorExit())
    assert not deaf.done()
    # When it was asked, and in each second before the fourth.
    until(lambda: len(cancelled) == 1 + 3)


def test_what_was_not_cancelled_is_waited_for() -> None:
    this, slow = Interruption(), Future[Any]()
    threading.Timer(0.5, lambda: slow.set_result(None)).start()
    this.see_out([slow], GeneratorExit())
    assert slow.done()


def test_a_process_goes_on_after_a_run_that_was_ended_unless_it_is_to_end_itself() -> None:
    this = Interruption()
    this.ask()
    this.go_on()
    assert not this.asked
    this.ask_for_good()
    this.go_on()
    assert this.asked


def test_a_run_that_is_ended_cancels_its_tables_records_that_and_lets_their_leases_go() -> None:
    """The listener is struck while a table waits for its source."""
    specs = tables(1, 2)
    made = world(specs)
    reading, ended = threading.Event(), threading.Event()
    process = made.process()

    def wait() -> None:
        with this_process.cancelling(ended.set):
            reading.set()
            assert ended.wait(60)
        raise OSError("the line was cut")

    process.at["after snapshot"] = wait
    # As a signal strikes the main thread: in the middle of its wait.
    threading.Thread(target=lambda: reading.wait(60) and os.kill(os.getpid(), signal.SIGINT), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        sync_many(specs, request, made.ports(process), 1)
    failed = [event for event in made.memory.events if event.kind == "failed"]
    assert [event.detail.partition(": ")[2] for event in failed] == [
        "interrupted before it landed; the next sync goes on from what has landed"
    ]
    assert made.memory.leases == {}
    assert not this_process.asked


def test_nothing_begins_in_a_process_that_ends() -> None:
    made = World(shop())
    monday(made.database).commit()
    this_process.ask_for_good()
    try:
        report = attempt(orders(Strategy.UPSERT), Request("late"), made.ports())
    finally:
        this_process.reset()
    assert (report.status, report.error) == (Status.FAILED, str(Interrupted(ORDERS)))
    assert made.memory.events == []
    made.sync(orders(Strategy.UPSERT))
    assert ordered(made.rows(ORDERS)) == ordered(made.database.rows(ORDERS))
