"""A run that Dagster is told to end (its page's Terminate, a signal to its worker) cancels what is at work and leaves nothing held."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.ports import Ports
from tests.defs.studio import Studio
from tests.fakes import Process
from tests.scenario import ORDERS, monday


@pytest.fixture(autouse=True)
def _no_server() -> Iterator[None]:
    """Definitions that another test has loaded made this process a code server, which ends all its children from a SIGTERM on: those of later tests, too."""
    ear = signal.set_wakeup_fd(-1)
    yield
    assert signal.set_wakeup_fd(ear) == -1, "the definitions are loaded within the test"


def waiting(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Ports of a run that reads from a source which says nothing: set once it does, and once it is cancelled."""
    reading, cut = threading.Event(), threading.Event()
    process: Process = studio.world.process()

    def wait() -> None:
        with this_process.cancelling(cut.set):
            reading.set()
            assert cut.wait(60), "nobody has cancelled it"
        raise OSError("the line was cut")

    process.at["after snapshot"] = wait
    ports: Ports = replace(studio.world.ports(process))
    monkeypatch.setattr(type(studio.runtime), "ports", lambda _, __: ports)
    return reading, cut


@pytest.mark.parametrize("mode", ["sync", ""], ids=["sync", "backfill"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_run_that_is_ended_lets_its_tables_go(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, number: int, mode: str
) -> None:
    monday(studio.world.database)
    reading, cut = waiting(studio, monkeypatch)

    def end() -> None:
        assert reading.wait(60)
        os.kill(os.getpid(), number)

    threading.Thread(target=end, daemon=True).start()
    result: Any = studio.run("2024-01-01", mode=mode)

    assert cut.is_set(), "it is cancelled, and not waited for"
    assert not result.success
    failed = [event for event in studio.world.memory.events if event.kind == "failed"]
    assert ["interrupted before it landed" in event.detail for event in failed] == [True]
    assert studio.world.memory.leases == {}
    assert not this_process.asked
    monkeypatch.undo()
    assert studio.run("2024-01-01", mode="sync").success
    assert studio.world.checkpoints.position(ORDERS).open is None
