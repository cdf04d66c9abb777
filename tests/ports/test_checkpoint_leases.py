"""Leases between real processes, threads and clocks."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, select, update

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.store import Pace, SqlCheckpoints
from incremental_assets.adapters.checkpoints.tables import heartbeats
from incremental_assets.core.errors import Busy, LeaseLost
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.planning.events import Event
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.ports.stories import ORDERS, TWIN, intent, landed, report, staged, sync

WRITER = textwrap.dedent("""
    import sys
    from incremental_assets.core.errors import Busy
    from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
    from tests.ports.stories import ORDERS, intent

    checkpoints = SqlCheckpoints(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        with checkpoints.lease(ORDERS, "theirs") as lease:
            lease.record(intent(0))
            print("won", flush=True)
            sys.stdin.readline()
    except Busy as error:
        print(error, flush=True)
""")


class Writer:
    """A process that waits to be told to take the lease, and then to let it go."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def writer(url: str) -> Iterator[Writer]:
    """One that holds the lease."""
    made = Writer(url)
    assert made.hear() == "ready"
    made.tell()
    assert made.hear() == "won"
    yield made
    made.end()


@pytest.fixture
def racers(url: str) -> Iterator[list[Writer]]:
    """Three of them, ready, on a database that is still empty."""
    made = [Writer(url) for _ in range(3)]
    for racer in made:
        assert racer.hear() == "ready"
    yield made
    for racer in made:
        racer.end()


def test_of_three_processes_that_race_on_an_empty_database_exactly_one_wins(racers: list[Writer]) -> None:
    for racer in racers:
        racer.tell()
    answers = {racer.pid: racer.hear() for racer in racers}
    winners = [pid for pid, answer in answers.items() if answer == "won"]
    assert len(winners) == 1, answers
    losers = [answer for answer in answers.values() if answer != "won"]
    assert all(re.search(rf"pid {winners[0]} on \S+, run theirs, since \d{{4}}-", answer) for answer in losers), answers


def test_the_lease_of_a_killed_process_has_expired_at_once(writer: Writer, checkpoints: SqlCheckpoints) -> None:
    with pytest.raises(Busy, match=f"pid {writer.pid}"):
        checkpoints.lease(ORDERS, "ours").__enter__()
    # It stays a zombie until its parent, this test, asks for it: it has ended all the same.
    os.kill(writer.pid, signal.SIGKILL)
    os.waitid(os.P_PID, writer.pid, os.WEXITED | os.WNOWAIT)
    with checkpoints.lease(ORDERS, "ours") as lease:
        lease.record(intent(1))
    assert checkpoints.position(ORDERS).last_seq == 1


def test_a_process_that_was_stopped_is_alive_and_keeps_its_lease(writer: Writer, checkpoints: SqlCheckpoints) -> None:
    os.kill(writer.pid, signal.SIGSTOP)
    with pytest.raises(Busy):
        checkpoints.lease(ORDERS, "ours").__enter__()


def test_a_sleeper_past_its_expiry_loses_the_table_and_learns_it_when_it_records(url: str) -> None:
    sleeper = SqlCheckpoints(url, pace=Pace(heartbeat=timedelta(hours=1), expiry=timedelta(hours=1)))
    other = SqlCheckpoints(url)
    with sleeper.lease(ORDERS, "sleeper") as slept:
        slept.record(intent(0))
        with pytest.raises(Busy):
            other.lease(ORDERS, "other").__enter__()
        _expire(url)
        with other.lease(ORDERS, "other") as lease:
            lease.record(intent(1))
            with pytest.raises(LeaseLost):
                slept.record(intent(2))
            lease.record(intent(3))
        with pytest.raises(LeaseLost):
            slept.record(intent(4))
    assert [kept.event.seq for kept in other.history(ORDERS)] == [0, 1, 3]
    sleeper.close()
    other.close()


def test_the_sleeper_lets_go_of_nothing_that_is_not_its_own(url: str) -> None:
    sleeper = SqlCheckpoints(url, pace=Pace(heartbeat=timedelta(hours=1), expiry=timedelta(hours=1)))
    other, third = SqlCheckpoints(url), SqlCheckpoints(url)
    with ExitStack() as held:
        with sleeper.lease(ORDERS, "sleeper"):
            _expire(url)
            lease = held.enter_context(other.lease(ORDERS, "other"))
        with pytest.raises(Busy):
            third.lease(ORDERS, "third").__enter__()
        lease.record(intent(0))
    for door in (sleeper, other, third):
        door.close()


def test_what_has_landed_is_not_failed_by_the_lease_that_cannot_be_given_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "checkpoints.db"
    checkpoints = SqlCheckpoints(f"sqlite:///{file}")
    with caplog.at_level(logging.WARNING), checkpoints.lease(ORDERS, "ours") as lease:
        lease.record(intent(0))
        other = tmp_path / "other"
        other.write_text("notes of a person\n" * 300)
        other.rename(file)
        file.with_name(f"{file.name}-wal").unlink()
    assert [record.getMessage().partition(", ")[0].partition(" (")[0] for record in caplog.records] == [
        f"{ORDERS}: the lease could not be given back and will expire: {file} is not a checkpoint database that can be read"
    ]
    checkpoints.close()


def test_recording_late_but_before_anybody_took_over_is_in_time(url: str) -> None:
    sleeper = SqlCheckpoints(url, pace=Pace(heartbeat=timedelta(hours=1), expiry=timedelta(hours=1)))
    with sleeper.lease(ORDERS, "sleeper") as lease:
        _expire(url)
        lease.record(intent(0))
        with pytest.raises(Busy):
            SqlCheckpoints(url).lease(ORDERS, "other").__enter__()
    sleeper.close()


def test_one_thread_keeps_every_lease_of_a_process_alive(url: str) -> None:
    # Nothing expires while a busy machine lets the thread wait: what is seen is that each lease is renewed.
    owner = SqlCheckpoints(url, pace=Pace(heartbeat=timedelta(seconds=0.05), expiry=timedelta(hours=1)))
    before = _heartbeat_threads()
    with owner.lease(ORDERS, "owner"), owner.lease(TWIN, "owner"):
        (thread,) = _heartbeat_threads() - before
        taken = _expiries(url)
        deadline = time.monotonic() + 60
        while not all(later > taken[table] for table, later in _expiries(url).items()):
            assert time.monotonic() < deadline, "a lease is not renewed"
            time.sleep(0.02)
        assert _heartbeat_threads() - before == {thread}
    thread.join(timeout=60)
    assert not thread.is_alive()
    owner.close()


def test_all_leases_of_a_process_are_renewed_in_one_transaction_and_a_lost_one_is_told(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begin, all_held = Database.transaction, threading.Event()
    beats, free = threading.Semaphore(0), threading.Semaphore(1)

    @contextmanager
    def held_up(self: Database, *, writes: bool = False) -> Iterator[Connection]:
        with begin(self, writes=writes) as connection:
            yield connection
        if threading.current_thread().name == "checkpoint-heartbeats" and all_held.is_set():
            beats.release()
            # The first one may have begun before all leases were taken.
            free.acquire(timeout=60)

    monkeypatch.setattr(Database, "transaction", held_up)
    owner = SqlCheckpoints(url, pace=Pace(heartbeat=timedelta(seconds=0.05), expiry=timedelta(hours=1)))
    names = [f"orders_{number:02}" for number in range(20)]
    lost, *kept = names
    with caplog.at_level(logging.WARNING), ExitStack() as held:
        for name in names:
            held.enter_context(owner.lease(TableId("shop", "public", name), "owner"))
        with Database(url).transaction(writes=True) as connection:
            connection.execute(update(heartbeats).where(heartbeats.c.table_name == lost).values(token="another's"))
        taken = _expiries(url)
        all_held.set()
        assert beats.acquire(timeout=60)
        assert beats.acquire(timeout=60)
        later = _expiries(url)
        free.release(1000)
        assert beats.acquire(timeout=60)  # what the one before has met is told
    assert [name for name in names if later[name] > taken[name]] == kept
    assert {record.getMessage().partition(":")[0] for record in caplog.records} == {f"shop.public.{lost}"}
    owner.close()


def test_a_landing_waits_for_what_a_check_is_about_to_record(url: str) -> None:
    checking, syncing, judges = SqlCheckpoints(url), SqlCheckpoints(url), threading.Event()
    back = replace(landed(1), report=replace(report(Status.LANDED, 1, 0), mode=Mode.ROLLBACK))

    def judge(_known: Verified | None, _since: Sequence[Event]) -> Verified:
        judges.set()
        time.sleep(0.3)
        return Verified("12")

    with syncing.lease(ORDERS, "the-rollback") as lease, ThreadPoolExecutor(1) as pool:
        lease.record(intent(1))
        lease.record(staged(1))
        record = pool.submit(checking.remember_verified, ORDERS, checking.last_event(ORDERS), judge)
        assert judges.wait(60)
        lease.record(back)
        record.result()
    assert checking.verified() == {ORDERS: Verified(None)}
    checking.close()
    syncing.close()


def test_threads_of_one_process_exclude_each_other(checkpoints: SqlCheckpoints) -> None:
    start, won, lost = threading.Barrier(6), [], []
    done = threading.Event()

    def race(number: int) -> None:
        start.wait()
        try:
            with checkpoints.lease(ORDERS, f"thread {number}"):
                won.append(number)
                done.wait(60)
        except Busy:
            lost.append(number)
            if len(lost) == 5:
                done.set()

    threads = [threading.Thread(target=race, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)


def test_on_postgresql_the_second_waits_for_the_row_and_then_sees_the_first(
    postgres: EmbeddedPostgres, database: str
) -> None:
    url = f"postgresql://{postgres.user}:{postgres.password}@{postgres.host}:{postgres.port}/{database}"
    checkpoints = SqlCheckpoints(url)
    with checkpoints.lease(ORDERS, "first"):
        pass
    with psycopg.connect(postgres.dsn(database)) as connection:
        # Widens the moment between looking at the row and taking it.
        connection.execute(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END'"
        )
        connection.execute("CREATE TRIGGER dawdle BEFORE UPDATE ON heartbeats FOR EACH ROW EXECUTE FUNCTION dawdle()")
    start, done = threading.Barrier(2), threading.Barrier(2)

    def race(number: int) -> bool:
        start.wait()
        try:
            with checkpoints.lease(ORDERS, f"thread {number}"):
                done.wait(60)
                return True
        except Busy:
            done.wait(60)
            return False

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(race, range(2))) == [False, True]
    checkpoints.close()


def test_who_writes_is_shown_without_being_in_the_way(checkpoints: SqlCheckpoints) -> None:
    with checkpoints.lease(ORDERS, "ours") as lease:
        for event in sync(0):
            lease.record(event)
        beat = checkpoints.heartbeats()[ORDERS]
        assert beat.owner is not None
        assert beat.owner.startswith(f"pid {os.getpid()} on ")
        assert beat.run_id == "ours"
    free = checkpoints.heartbeats()
    assert (free[ORDERS].owner, free[ORDERS].run_id) == (None, None)
    assert set(checkpoints.positions()) == {ORDERS}


def _expiries(url: str) -> dict[str, datetime]:
    """Until when each lease is in force."""
    database = Database(url)
    with database.transaction() as connection:
        rows = connection.execute(select(heartbeats.c.table_name, heartbeats.c.expires_at)).all()
    database.close()
    return {row.table_name: row.expires_at for row in rows}


def _expire(url: str) -> None:
    """As time does, however busy the machine is."""
    database = Database(url)
    with database.transaction(writes=True) as connection:
        connection.execute(update(heartbeats).values(expires_at=heartbeats.c.taken_at))
    database.close()


def _heartbeat_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "checkpoint-heartbeats"}
