"""What is sent in the background arrives in order, and nobody waits for it."""

from __future__ import annotations

import logging
import os
import threading

import pytest

from incremental_assets.adapters.telemetry import sending
from incremental_assets.adapters.telemetry.sending import Sending


def test_all_of_it_arrives_in_order_by_the_end() -> None:
    arrived: list[int] = []
    sent = Sending(arrived.append, "numbers")
    for number in range(100):
        sent.put(number)
    sent.close()
    assert arrived == list(range(100))


def test_nothing_is_begun_where_nothing_is_sent() -> None:
    before = threading.active_count()
    Sending(print, "nothing").close()
    assert threading.active_count() == before


def test_more_than_may_wait_is_lost_with_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sending, "_MOST", 2)
    holds, goes_on, arrived = threading.Event(), threading.Event(), list[int]()

    def send(number: int) -> None:
        holds.set()
        goes_on.wait(60)
        arrived.append(number)

    sent = Sending(send, "numbers")
    with caplog.at_level(logging.WARNING):
        sent.put(0)
        assert holds.wait(60)
        for number in range(1, 50):
            sent.put(number)
    goes_on.set()
    sent.close()
    assert arrived == [0, 1, 2]
    assert [record.getMessage() for record in caplog.records] == [
        "numbers could not be sent (too many wait); syncs go on without it"
    ]


def test_a_fork_sends_for_itself() -> None:
    """As a run of Dagster's server is one, whose threads it has not."""
    reads, writes = os.pipe()
    sent = Sending(lambda text: os.write(writes, str(text).encode()), "texts")
    sent.put("parent ")
    sent.close()
    child = os.fork()
    if child == 0:
        sent.put("child")
        sent.close()
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writes)
    assert os.read(reads, 100) == b"parent child"
    os.close(reads)
