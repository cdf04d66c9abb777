"""A stamp that is taken and not shown yet, on a real PostgreSQL whose backends can be held at any moment at which they ask for the time."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters.databases.postgresql.settled import unshown
from incremental_assets.adapters.databases.postgresql.settled.unshown import PATIENCE
from incremental_assets.core.captures.database.bound import GUARD
from incremental_assets.core.captures.database.clock_steps import put_back
from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.model.guarantee import Guarantee
from tests.adapters.source import UPDATED, Source, synced
from tests.conformance.clock import ClockedPostgres, ClockMissing

ORDERS = "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())"
INSERT = "INSERT INTO orders DEFAULT VALUES"


@pytest.fixture(scope="module")
def clocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClockedPostgres]:
    try:
        found = ClockedPostgres(
            tmp_path_factory.mktemp("held"), settings={"fsync": "off", "shared_buffers": "32MB", "wal_level": "replica"}
        )
    except ClockMissing as reason:
        pytest.skip(f"no backend can be held: {reason}")
    found.start()
    yield found
    found.remove()


@pytest.fixture
def shop(clocked: ClockedPostgres, request: pytest.FixtureRequest) -> Iterator[Source]:
    name = f"shop_{abs(hash(request.node.name))}"
    clocked.create_database(name)
    source = Source(clocked, name, lambda: psycopg.connect(clocked.dsn(name)), [])
    source.execute(ORDERS)
    yield source
    for probe in source.opened:
        probe.close()


@contextmanager
def _waiting(shop: Source) -> Iterator[psycopg.Connection[Any]]:
    """A session that has just become idle."""
    with closing(shop.connect()) as writer:
        writer.autocommit = True
        writer.execute("SET application_name = 'shop floor'")
        _until(shop, "state = 'idle' AND wait_event = 'ClientRead'", writer.info.backend_pid)
        yield writer


@contextmanager
def _held(clocked: ClockedPostgres, shop: Source, writer: psycopg.Connection[Any], statement: str) -> Iterator[None]:
    """The writer's backend stands still with the statement's stamp, which nothing shows yet, and goes on at the end of the block."""
    thread = threading.Thread(target=lambda: writer.execute(statement.encode()))
    with clocked.clock.held(writer.info.backend_pid):
        thread.start()
        _until(shop, "state LIKE 'idle%' AND wait_event IS NULL", writer.info.backend_pid)
        yield
    thread.join()


def test_a_stamp_that_nothing_shows_yet_is_never_below_the_bound(clocked: ClockedPostgres, shop: Source) -> None:
    probe, spec = shop.open(), shop.spec("orders", UPDATED)
    with _waiting(shop) as writer, _held(clocked, shop, writer, INSERT):
        time.sleep(GUARD.total_seconds())  # until the stamp is older than what the guard allows for
        bound = probe.bound()
        settled = settle(spec, UPDATED, bound, None, None)
        assert bound.oldest is None, "nothing shows it"
    (stamp,) = shop.connect().execute("SELECT updated_at FROM orders").fetchone() or (None,)
    assert stamp < bound.clock - GUARD
    assert settled.value is not None
    assert settled.value.moment() <= stamp
    assert settled.guarantee is Guarantee.SETTLED
    assert "shop floor, which stands still" in settled.reason
    assert probe.bound().unshown is None


def test_a_failed_transaction_block_shows_no_start_and_may_be_followed_by_another(
    clocked: ClockedPostgres, shop: Source
) -> None:
    probe, spec = shop.open(), shop.spec("orders", UPDATED)
    with _waiting(shop) as writer:
        writer.execute("BEGIN")
        with pytest.raises(psycopg.errors.DivisionByZero):
            writer.execute("SELECT 1 / 0")
        with _held(clocked, shop, writer, f"ROLLBACK; {INSERT}"):
            time.sleep(GUARD.total_seconds())
            settled = settle(spec, UPDATED, probe.bound(), None, None)
    (stamp,) = shop.connect().execute("SELECT updated_at FROM orders").fetchone() or (None,)
    assert settled.value is not None
    assert settled.value.moment() <= stamp
    assert settled.guarantee is Guarantee.SETTLED


def test_it_is_not_taken_for_a_clock_that_was_put_back(clocked: ClockedPostgres, shop: Source) -> None:
    """The session had become idle before the last look, and the stamp came after it."""
    probe, spec = shop.open(), shop.spec("orders", UPDATED)
    with _waiting(shop) as writer:
        time.sleep(GUARD.total_seconds())
        first = synced(probe, spec)
        with _held(clocked, shop, writer, f"BEGIN; {INSERT}"):
            held = probe.bound()
        open_since = probe.bound()
        writer.execute("COMMIT")
    assert held.unshown is not None
    assert first.position.reading is not None
    assert held.unshown < first.position.reading.source - GUARD, "the session had become idle long before"
    assert (put_back(first, held), put_back(first, open_since)) == (None, None)


def test_a_session_that_moves_on_is_seen_open_and_holds_nothing_else(
    clocked: ClockedPostgres, shop: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on between two looks at it."""
    probe = shop.open()
    with _waiting(shop) as writer:

        def goes_on(_: float) -> None:
            clocked.clock.let_go()
            _until(shop, "state = 'idle in transaction'", writer.info.backend_pid)

        with clocked.clock.held(writer.info.backend_pid):
            thread = threading.Thread(target=lambda: writer.execute(f"BEGIN; {INSERT}".encode()))
            thread.start()
            _until(shop, "state = 'idle' AND wait_event IS NULL", writer.info.backend_pid)
            monkeypatch.setattr(unshown, "time", SimpleNamespace(sleep=goes_on))
            bound = probe.bound()
        thread.join()
        (began,) = writer.execute("SELECT now()").fetchone() or (None,)
        writer.execute("COMMIT")
    assert (bound.unshown, bound.oldest) == (None, began)


@pytest.mark.acceptance
def test_many_short_sessions_neither_hold_the_bound_nor_slow_the_look(
    shop: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe, over = shop.open(), threading.Event()
    # Each of them moves, when a busy machine lets it.
    monkeypatch.setattr(unshown, "PATIENCE", (*PATIENCE, *(0.5,) * 100))
    monkeypatch.setattr(
        unshown, "time", SimpleNamespace(sleep=lambda seconds: slept.append(seconds) or time.sleep(seconds))
    )

    def write(writer: psycopg.Connection[Any]) -> None:
        writer.autocommit = True
        while not over.is_set():
            writer.execute(INSERT)

    def look() -> int:
        slept.clear()
        bounds.append(probe.bound())
        return len(slept)

    bounds: list[Any] = []
    slept: list[float] = []
    writers = [threading.Thread(target=write, args=(shop.connect(),)) for _ in range(8)]
    for each in writers:
        each.start()
    try:
        pauses = [look() for _ in range(60)]
    finally:
        over.set()
        for each in writers:
            each.join()
    assert {bound.unshown for bound in bounds} == {None}
    assert statistics.median(pauses) < len(PATIENCE), pauses


@pytest.mark.acceptance
def test_a_start_from_before_a_session_became_idle_is_no_transaction_of_a_writer(shop: Source) -> None:
    """It processes a notification; or, which lasts longer, it ends and waits for the lock of a temporary table that it has to remove."""
    probe, spec = shop.open(), shop.spec("orders", UPDATED)
    shop.execute(INSERT)
    with _waiting(shop) as leaving, closing(shop.connect()) as other:
        leaving.execute("CREATE TEMPORARY TABLE basket ()")
        (schema,) = leaving.execute("SELECT pg_my_temp_schema()::regnamespace::text").fetchone() or (None,)
        time.sleep(GUARD.total_seconds())
        first = synced(probe, spec)
        other.execute(f"LOCK TABLE {schema}.basket".encode())
        pid = leaving.info.backend_pid
        leaving.close()
        _until(shop, "state = 'idle' AND wait_event = 'relation' AND xact_start < state_change", pid)
        bound = probe.bound()
        other.rollback()
    assert bound.unshown is not None
    assert bound.unshown < bound.clock - GUARD
    assert f"pid {pid}" in bound.holder
    assert bound.oldest is not None, "the one that holds the lock"
    assert put_back(first, bound) is None


def _until(shop: Source, condition: str, pid: int) -> None:
    """Wait until the view of sessions says that of one."""
    until = time.monotonic() + 30
    with closing(shop.connect()) as asked:
        asked.autocommit = True
        while asked.execute(f"SELECT {condition} FROM pg_stat_activity WHERE pid = {pid}".encode()).fetchone() != (
            True,
        ):
            assert time.monotonic() < until, f"the session never came to {condition}"
            time.sleep(0.01)
