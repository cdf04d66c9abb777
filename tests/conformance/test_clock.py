"""The clock that scenarios set: a server reads it, in open transactions as well, and it only shifts the time of day."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from tests.conformance.clock import Clock, ClockedPostgres

SOON = timedelta(seconds=5)


def _read(connection: psycopg.Connection[Any], expression: str) -> datetime:
    row = connection.execute(f"SELECT {expression}".encode()).fetchone()
    assert row is not None
    return row[0]


def test_a_running_server_follows_every_step(clocked: ClockedPostgres) -> None:
    with psycopg.connect(clocked.dsn()) as inside, psycopg.connect(clocked.dsn(), autocommit=True) as beside:
        begun = _read(inside, "now()")
        clocked.clock.step(-60.5)
        assert abs(_read(inside, "clock_timestamp()") - begun + timedelta(seconds=60.5)) < SOON
        assert abs(_read(beside, "now()") - begun + timedelta(seconds=60.5)) < SOON
        assert _read(inside, "now()") == begun, "what a transaction has taken stays"
        clocked.clock.step(3660.5)
        assert abs(_read(beside, "now()") - begun - timedelta(hours=1)) < SOON
        assert clocked.clock.offset == 3600


def test_a_server_that_is_started_again_keeps_its_clock(clocked: ClockedPostgres) -> None:
    clocked.clock.set(-3600)
    clocked.restart("immediate")
    with psycopg.connect(clocked.dsn()) as connection:
        assert abs(_read(connection, "now()") - datetime.now().astimezone() + timedelta(hours=1)) < SOON


def test_two_clocks_know_nothing_of_each_other(tmp_path: Path) -> None:
    first, second = Clock(), Clock()
    first.step(5)
    assert (first.offset, second.offset) == (5, 0)
    first.remove()
    second.remove()
