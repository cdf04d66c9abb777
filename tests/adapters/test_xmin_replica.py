"""A replica's own snapshot says which transactions are over: asked of a real one that streams from its primary."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.demo.home import Home
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.source import Source, planned
from tests.adapters.test_xmin import ORDERS, numbered, read

pytestmark = pytest.mark.acceptance


class _Replica(EmbeddedPostgres):
    """The same passwords and databases, on another port."""

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__(folder)
        self._replica_port = port

    @property
    def port(self) -> int:
        return self._replica_port


@pytest.fixture
def streamed(tmp_path: Path) -> Iterator[tuple[EmbeddedPostgres, EmbeddedPostgres]]:
    """A primary and its replica."""
    primary = EmbeddedPostgres(tmp_path / "server").start()
    primary.create_database("shop")
    home = Home(primary.folder / json.loads((primary.folder / "server.json").read_text())["home"])
    copy = home.folder / "replica"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    copy.mkdir(mode=0o700)
    home.give(copy)
    done = home.run("pg_basebackup", "-d", primary.dsn(), "-D", copy, "-R", "-X", "stream", "-c", "fast")
    assert done.returncode == 0, done.stderr
    started = home.run("pg_ctl", "-D", copy, "-o", f"-p {port}", "-l", copy / "own.log", "-w", "start")
    assert started.returncode == 0, home.read(copy / "own.log")
    try:
        yield primary, _Replica(primary.folder, port)
    finally:
        home.run("pg_ctl", "-D", copy, "-m", "immediate", "-w", "stop")
        primary.remove()


def test_what_is_open_on_the_primary_holds_the_watermark_of_a_replica(
    streamed: tuple[EmbeddedPostgres, EmbeddedPostgres],
) -> None:
    primary, replica = streamed
    opened: list[SqlProbe] = []
    there = Source(primary, "shop", lambda: psycopg.connect(primary.dsn("shop")), opened)
    here = Source(replica, "shop", lambda: psycopg.connect(replica.dsn("shop")), opened)

    def replayed() -> None:
        with there.connect() as asked:
            (end,) = asked.execute("SELECT CAST(pg_current_wal_insert_lsn() AS text)").fetchone() or ("",)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with here.connect() as asked:
                row = asked.execute("SELECT pg_last_wal_replay_lsn() >= CAST(%s AS pg_lsn)", [end]).fetchone()
            if row == (True,):
                return
            time.sleep(0.1)
        raise AssertionError("the replica does not follow")

    there.execute(ORDERS, "INSERT INTO orders SELECT g, 'old' FROM generate_series(1, 100) AS g")
    replayed()
    spec, probe = numbered(here), here.open()
    with there.connect() as slow:
        slow.execute("SAVEPOINT here")
        slow.execute("INSERT INTO orders VALUES (1000, 'late')")
        there.execute("INSERT INTO orders VALUES (1001, 'quick')")
        replayed()
        assert planned(probe, spec).reading.settled.guarantee is Guarantee.SETTLED
        first, state = read(here, probe, spec, None)
        assert (len(first), 1000 in first) == (101, False)
        there.execute("INSERT INTO orders VALUES (1002, 'quick')")
        replayed()
        second, state = read(here, probe, spec, state)
        assert 1002 in second
        slow.commit()
    replayed()
    third, state = read(here, probe, spec, state)
    assert 1000 in third
    for each in opened:
        each.close()
