"""A process that is asked to end does not wait for a log: not for another reader, not for a statement, not for the stream."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from incremental_assets.adapters.logs.alone import alone
from incremental_assets.adapters.logs.postgresql.session import opened
from incremental_assets.adapters.logs.postgresql.walsender import _wait
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import IncrementalAssetsError, Interrupted
from tests.adapters.logs.stand import LogStand


@pytest.fixture(autouse=True)
def _goes_on() -> Iterator[None]:
    yield
    this_process.reset()


def test_nobody_waits_for_another_reader_any_more(tmp_path: Path) -> None:
    with alone(tmp_path / "shop", 1):
        this_process.ask()
        with pytest.raises(Interrupted, match="shop: interrupted before it landed"), alone(tmp_path / "shop", 1):
            pass


def test_the_stream_is_not_waited_for_any_more() -> None:
    this_process.ask()
    with pytest.raises(Interrupted):
        _wait(cast(Any, None), 60)


def test_a_statement_is_cancelled_in_the_source(stand: LogStand) -> None:
    def sleep() -> None:
        with suppress(IncrementalAssetsError), opened(stand.address()) as asked:
            asked.execute("SELECT pg_sleep(60)")

    asks = threading.Thread(target=sleep, daemon=True)
    asks.start()
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'"
    until = time.monotonic() + 60
    while stand.value(sleeping) == 0:
        assert time.monotonic() < until
    this_process.ask()
    asks.join(30)
    assert not asks.is_alive()
