"""A snapshot and the log joined by transaction: pure, and with eight writers on a real server."""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.adapters.logs.batch import latest
from incremental_assets.adapters.logs.following import Followed, Following, Record
from incremental_assets.adapters.logs.joining import Snapshot, not_shown, whole_numbers
from incremental_assets.adapters.logs.postgresql.source_log import TAKEN
from incremental_assets.adapters.spark.own_names import OPERATION
from tests.adapters.logs.stand import LogStand

WRAP = 1 << 32


@given(
    st.integers(3, 2**40),
    st.integers(0, 40),
    st.sets(st.integers(0, 40)),
    st.lists(st.integers(-(2**30), 2**30), max_size=20),
)
def test_a_transaction_is_shown_if_it_was_over_when_the_snapshot_was_taken(
    xmin: int, width: int, listed: set[int], asked: list[int]
) -> None:
    snapshot = Snapshot(xmin, xmin + width, frozenset(xmin + each for each in listed if each < width), 0)
    full = [xmin + each for each in asked if xmin + each > 2]
    expected = [each < xmin or (each < xmin + width and each not in snapshot.open) for each in full]
    assert snapshot.shows(np.array([each % WRAP for each in full], np.int64)).tolist() == expected


def test_a_snapshot_is_read_as_the_server_writes_it() -> None:
    assert Snapshot.of("10:20:10,14,15", "0/10") == Snapshot(10, 20, frozenset((10, 14, 15)), 16)
    assert Snapshot.of("10:10:", "1/0") == Snapshot(10, 10, frozenset(), 1 << 32)


def test_numbers_get_the_epoch_that_is_nearest() -> None:
    asked = np.array([WRAP - 1, 3, 10], np.int64)
    assert whole_numbers(asked, WRAP + 10).tolist() == [WRAP - 1, WRAP + 3, WRAP + 10]


def test_tables_of_a_source_that_was_put_back_are_followed_since_now() -> None:
    before = Record({7: Following(7, ("id",), (), "p", 950, landed=3)}, "last")
    assert before.from_now(820) == Record({7: Following(7, ("id",), (), "p", 820, landed=3)}, "last")


def test_numbers_of_transactions_begin_anew_after_32_bits() -> None:
    snapshot = Snapshot.of(f"{WRAP + 5}:{WRAP + 8}:{WRAP + 6}", "0/0")
    asked = np.array([WRAP - 1, 3, 5, 6, 7, 8, 100], np.int64)
    assert snapshot.shows(asked).tolist() == [True, True, True, False, True, False, False]


def test_a_snapshot_that_does_not_show_what_was_passed_is_refused() -> None:
    snapshot = Snapshot.of("10:20:12", "0/0")
    assert snapshot.hides(np.array([9, 11, 12, 19, 20])) == [12, 20]
    assert snapshot.hides(np.array([9, 11])) == []


def test_the_other_rules_of_a_snapshot() -> None:
    snapshot = Snapshot.of("10:20:12", "0/100")
    assert (snapshot.is_after(10), snapshot.is_after(11)) == (True, False)
    assert (snapshot.is_durable(0x100), snapshot.is_durable(0xFF)) == (True, False)
    assert (snapshot.is_passed(0x100), snapshot.is_passed(0xFF)) == (True, False)


def test_a_commit_that_waits_for_a_standby_is_in_the_log_and_hidden_by_the_snapshot(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY")
    stand.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
    try:
        waits = threading.Thread(target=insert_and_wait, args=(stand,))
        waits.start()
        until = time.monotonic() + 60
        while stand.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 0:
            assert time.monotonic() < until
            time.sleep(0.01)
        (changes,) = stand.changes(Followed(oid, ("id",)))
        with stand.connect() as asked:
            taken = asked.execute(TAKEN.encode()).fetchone() or ()
            seen = asked.execute("SELECT count(*) FROM orders").fetchone()
        passed = np.array(changes.rows.column("_sync_xid"))
        assert (changes.rows.column("id").to_pylist(), seen) == ([1], (0,))
        assert Snapshot.of(*taken).hides(passed) == passed.tolist()
    finally:
        stand.execute("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
    waits.join(60)
    with stand.connect() as asked:
        taken = asked.execute(TAKEN.encode()).fetchone() or ()
    assert Snapshot.of(*taken).hides(passed) == []


def insert_and_wait(stand: LogStand) -> None:
    stand.execute("INSERT INTO orders VALUES (1)")


WRITERS, KEYS, SECONDS = 8, 300, 3.0


@pytest.mark.acceptance
@pytest.mark.parametrize("seed", [1])
def test_any_snapshot_joined_with_the_log_is_the_source_under_eight_writers(stand: LogStand, seed: int) -> None:
    oid = stand.publish("t", "id int PRIMARY KEY, v int NOT NULL, w text")
    stand.execute(f"INSERT INTO t SELECT g, 0, 'x' FROM generate_series(1, {KEYS}) AS g")
    stop, chance = threading.Event(), random.Random(seed)
    writers = [threading.Thread(target=write, args=(stand, stop, seed * 100 + number)) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    taken = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        taken.append(read(stand, pause=chance.choice((0.0, 0.1))))
    stop.set()
    for writer in writers:
        writer.join()
    changes = stand.changes(Followed(oid, ("id",)))
    _, final = read(stand)
    left_out = 0
    for snapshot, copy in taken:
        after = dict(copy)
        for each in changes:
            rows = not_shown(each.rows, snapshot)
            left_out += len(each.rows) - len(rows)
            for row in latest(rows, ("id",)).rows.to_pylist():
                if row[OPERATION] == "gone":
                    after.pop(row["id"], None)
                else:
                    after[row["id"]] = (row["v"], row["w"])
        assert after == final
    assert len(taken) > 3
    assert left_out > 0


def read(stand: LogStand, *, pause: float = 0.0) -> tuple[Snapshot, dict[int, tuple[int, str]]]:
    with stand.connect(autocommit=False) as session:
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        snapshot = Snapshot.of(*(session.execute(TAKEN.encode()).fetchone() or ()))
        # The read is slow, and the log goes on.
        time.sleep(pause)
        rows: list[Any] = session.execute("SELECT id, v, w FROM t").fetchall()
    return snapshot, {key: (v, w) for key, v, w in rows}


def write(stand: LogStand, stop: threading.Event, seed: int) -> None:
    """Transactions with savepoints, of which some are rolled back; keys that change; some that stay open for a while."""
    chance = random.Random(seed)
    with psycopg.connect(stand.postgres.dsn(stand.database), autocommit=True) as session:
        while not stop.is_set():
            with (
                suppress(psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation, _Undone),
                session.transaction(),
            ):
                for _ in range(chance.randint(1, 5)):
                    with suppress(psycopg.errors.UniqueViolation, _Undone), session.transaction():
                        change(session, chance)
                if chance.random() < 0.05:
                    time.sleep(0.2)
                if chance.random() < 0.05:
                    raise _Undone


class _Undone(Exception):
    """Rolls back."""


def change(session: psycopg.Connection[Any], chance: random.Random) -> None:
    key, what = chance.randint(1, KEYS), chance.random()
    if what < 0.5:
        session.execute("UPDATE t SET v = v + 1 WHERE id = %s", [key])
    elif what < 0.65:
        session.execute("DELETE FROM t WHERE id = %s", [key])
    elif what < 0.85:
        session.execute("INSERT INTO t VALUES (%s, 0, 'n') ON CONFLICT (id) DO UPDATE SET v = t.v + 1", [key])
    elif what < 0.95:
        session.execute("UPDATE t SET id = %s WHERE id = %s", [KEYS + chance.randint(1, KEYS), key])
    else:
        raise _Undone
