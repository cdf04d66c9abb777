"""T1, T24: stamps that are older than every open transaction, transactions whose start is not shown, and those that concern nobody here."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from incremental_assets.core.model.guarantee import Guarantee
from tests.conformance.clock import ClockedPostgres
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.soak.line import slow_line
from tests.conformance.stand import Stand
from tests.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = "CREATE TABLE orders (what text, at timestamptz NOT NULL DEFAULT statement_timestamp())"
EVENTS = "CREATE TABLE events (id bigserial PRIMARY KEY, what text)"
TABLES = """
- "public.orders:at:timestamp!append"
- "public.events:id:integer!append"
"""
OLDER = 3
"""Seconds by which a stamp is older than the transaction: more than the guard."""
FILLERS = 100_000
"""Empty COMMITs whose answers a slow line takes half a minute to carry."""


@scenario(
    "T1",
    "A procedure keeps the time of its CALL, a variable's stamp or a number that it drew, and writes it after several COMMITs; syncs run beside it",
    holds="the runs are `settled`, the watermark waits for the procedure, and the next sync lands its row",
    long=True,
)
@pytest.mark.parametrize("commit", ["COMMIT", "COMMIT AND CHAIN"])
@pytest.mark.parametrize(
    ("name", "kept", "insert"),
    [
        ("orders", "clock_timestamp()", "orders (what) VALUES ('late')"),
        ("orders", "clock_timestamp()", "orders VALUES ('late', kept::timestamptz)"),
        ("events", "nextval('events_id_seq')", "events VALUES (kept::bigint, 'late')"),
    ],
    ids=["statement", "variable", "number"],
)
def test_a_procedure_that_commits_and_goes_on(stand: OpenStand, name: str, kept: str, insert: str, commit: str) -> None:
    procedure = (
        f"CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$ DECLARE kept text := {kept}; BEGIN {commit}; "
        f"PERFORM pg_advisory_lock(1); {commit}; PERFORM pg_sleep({OLDER}); {commit}; "
        f"PERFORM pg_advisory_lock(2); INSERT INTO {insert}; END $$"
    )
    desk = stand(TABLES, ORDERS, EVENTS, procedure)
    gate, writer = desk.shop.connect(), desk.shop.connect()
    gate.autocommit = writer.autocommit = True
    gate.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(2)")
    with _running(writer, "CALL fill()"):
        _until(desk, writer.info.backend_pid, "wait_event = 'advisory'")
        desk.execute(f"INSERT INTO {name} (what) VALUES ('quick')")
        reports = [desk.land(name)[name]]
        gate.execute("SELECT pg_advisory_unlock(1)")
        _until(desk, writer.info.backend_pid, f"wait_event = 'advisory' AND xact_start > query_start + '{OLDER} s'")
        reports.append(desk.land(name)[name])
        gate.execute("SELECT pg_advisory_unlock(2)")
    last = desk.land(name)[name]

    assert [report.guarantee for report in (*reports, last)] == [Guarantee.SETTLED] * 3
    assert last.rows.late == 1
    desk.assert_equal(name)


@scenario(
    "T1",
    "A client sends several transactions in one message and reads the answers slowly: a sync runs while none of them is open",
    holds="the run is `settled` and names the session; the rows of the later transactions, stamped as of the message, land with the next",
    long=True,
)
def test_many_transactions_in_one_message(stand: OpenStand) -> None:
    desk = stand(TABLES, ORDERS.replace("statement_timestamp", "now"), EVENTS)
    one = "BEGIN; INSERT INTO orders VALUES ('{}'); COMMIT; "
    with slow_line(desk.shop.postgres.port) as port:
        writer = psycopg.connect(
            desk.shop.postgres.dsn(desk.shop.database), host="127.0.0.1", port=port, autocommit=True
        )
        writer.execute("SET client_min_messages = 'error'")
        pid = writer.info.backend_pid
        with _running(writer, one.format("early") + "COMMIT; " * FILLERS + one.format("late")):
            between = "wait_event = 'ClientWrite' AND state = 'active' AND xact_start IS NULL"
            _until(desk, pid, f"{between} AND query_start < clock_timestamp() - interval '{OLDER} s'")
            beside = desk.land("orders")["orders"]
            written = desk.source("SELECT what FROM orders")
    last = desk.land("orders")["orders"]

    assert written == [("early",)], "the line was not slow enough"
    assert (beside.guarantee, last.guarantee) == (Guarantee.SETTLED, Guarantee.SETTLED)
    assert f"pid {pid}" in beside.guarantee_reason
    assert (last.rows.inserted, last.rows.updated) == (1, 0)
    desk.assert_equal("orders")


@scenario(
    "T1",
    "A backend stands still between taking a statement's stamp and showing it, for longer than the guard, while syncs run",
    holds="the runs are `settled` and name the session, the watermark waits for it, and the next sync lands its row",
    long=True,
)
def test_a_backend_stands_still_before_it_shows_its_stamp(
    clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession
) -> None:
    clocked.create_database("shop")
    desk = Stand(Shop.open(clocked, "shop", tmp_path, TABLES, options="unlisted: ignore\n"), spark)
    desk.execute(ORDERS, EVENTS)
    writer = desk.shop.connect()
    writer.autocommit = True
    pid = writer.info.backend_pid
    with clocked.clock.held(pid), _running(writer, "INSERT INTO orders VALUES ('late')"):
        _until(
            desk,
            pid,
            f"state = 'idle' AND wait_event IS NULL AND state_change < clock_timestamp() - interval '{OLDER} s'",
        )
        desk.execute("INSERT INTO orders VALUES ('quick')")
        beside = [desk.land("orders")["orders"] for _ in range(2)]
        clocked.clock.let_go()
    last = desk.land("orders")["orders"]

    assert [report.guarantee for report in (*beside, last)] == [Guarantee.SETTLED] * 3
    assert all(f"pid {pid}" in report.guarantee_reason for report in beside)
    assert (last.rows.inserted, last.rows.late) == (1, 1)
    desk.assert_equal("orders")


@scenario(
    "T24",
    "track_activities is switched on in a session that has a transaction open, whose start is never shown",
    holds="the run says `best_effort` and names the session; a table with a `holdback` says so and stays below the row",
)
def test_a_transaction_that_began_before_it_was_tracked(stand: OpenStand) -> None:
    held = "- {table: public.held, cursor: {column: at, type: timestamp}, strategy: append, holdback: 1m}"
    desk = stand(f"{TABLES}{held}\n", ORDERS, EVENTS, ORDERS.replace("orders", "held"))
    hiding = desk.shop.connect()
    hiding.execute("SET track_activities = off")
    hiding.commit()
    (stamp,) = hiding.execute("INSERT INTO held VALUES ('hidden') RETURNING at").fetchone() or (None,)
    hiding.execute("SET track_activities = on")
    hiding.execute(f"SELECT pg_sleep({OLDER})")
    desk.execute("INSERT INTO held VALUES ('quick')", "INSERT INTO orders VALUES ('quick')")
    beside = desk.land()
    hiding.commit()
    after = desk.land()

    assert {name: report.guarantee for name, report in beside.items()} == {
        "orders": Guarantee.BEST_EFFORT, "events": Guarantee.BEST_EFFORT, "held": Guarantee.HOLDBACK
    }  # fmt: skip
    assert f"pid {hiding.info.backend_pid} began before its session was tracked" in beside["orders"].guarantee_reason
    assert {report.guarantee for report in after.values()} == {Guarantee.SETTLED}
    hiding.close()
    marks = [report["held"].new_watermark for report in (beside, after)]
    assert stamp is not None
    assert all(mark is not None and mark.moment() < stamp for mark in marks)


@scenario(
    "T24",
    "A transaction is left open in another database of the same server",
    holds="the run is `settled`, and the watermark goes on: it cannot write the tables of this one",
)
def test_a_transaction_in_another_database(stand: OpenStand) -> None:
    desk = stand(TABLES, ORDERS, EVENTS)
    with psycopg.connect(desk.shop.postgres.dsn("postgres")) as elsewhere:
        elsewhere.execute(f"SELECT pg_sleep({OLDER})")
        (began,) = elsewhere.execute("SELECT now()").fetchone() or (None,)
        assert began is not None
        desk.execute("INSERT INTO orders VALUES ('a')")
        report = desk.land()["orders"]

    assert report.guarantee is Guarantee.SETTLED
    assert report.new_watermark is not None
    assert report.new_watermark.moment() > began
    desk.assert_equal("orders")


@scenario(
    "T24",
    "The extension plpgsql is dropped from the source",
    holds="its tables are synced like any others, `settled`",
)
def test_a_database_without_plpgsql(stand: OpenStand) -> None:
    desk = stand(TABLES, "DROP EXTENSION plpgsql", ORDERS, EVENTS, "INSERT INTO orders VALUES ('a')")
    first = desk.land()
    desk.execute("INSERT INTO orders VALUES ('b')", "INSERT INTO events (what) VALUES ('c')")
    second = desk.land()

    assert {report.guarantee for report in (*first.values(), *second.values())} == {Guarantee.SETTLED}
    desk.assert_equal("orders")
    desk.assert_equal("events")


@contextmanager
def _running(writer: psycopg.Connection, message: str) -> Iterator[None]:
    """A message that runs beside the block, which ends when it does."""
    thread = threading.Thread(target=lambda: writer.execute(message.encode()))
    thread.start()
    try:
        yield
    finally:
        thread.join()
        writer.close()


def _until(desk: Stand, pid: int, condition: str) -> None:
    """Wait until the view of sessions says that of the session."""
    deadline = time.monotonic() + 30
    while desk.source(f"SELECT {condition} FROM pg_stat_activity WHERE pid = {pid}") != [(True,)]:
        assert time.monotonic() < deadline, f"the session never came to {condition}"
        time.sleep(0.01)
