"""Spark jobs of a tick do not depend on how many tables have changed."""

from __future__ import annotations

import shutil
import time

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.maintenance.compact import compact_all
from incremental_assets.core.maintenance.replay import replay_table
from incremental_assets.core.model import compaction as maintenance
from incremental_assets.core.model.compaction import Compacted
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.stand import Stand
from tests.spark_jobs import jobs, sql_statements

pytestmark = pytest.mark.usefixtures("patient")

STRATEGIES = ("upsert", "append", "full_refresh")
FAILING = "- {table: public.failing, strategy: full_refresh, refresh_every: 0s}\n"


@pytest.mark.acceptance
@pytest.mark.parametrize("tables", [6, pytest.param(50, marks=pytest.mark.acceptance)])
def test_a_tick_of_all_tables_is_one_job_that_reads_and_one_that_writes_and_who_fails_in_one_is_alone(
    stand: OpenStand, tables: int
) -> None:
    lines, statements = FAILING, ["CREATE TABLE divisors (id int PRIMARY KEY, n int)"]
    for number in range(tables - 1):
        how = STRATEGIES[number % 3]
        cursor = "refresh_every: 0s" if how == "full_refresh" else "cursor: {column: at, type: timestamp}"
        lines += f"- {{table: public.t{number}, {cursor}, strategy: {how}}}\n"
        statements += [
            f"CREATE TABLE t{number} (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO t{number} SELECT generate_series(1, 20)",
        ]
    # Rows can be counted where they cannot be read.
    view = "CREATE VIEW failing AS SELECT id, 100 / n AS share FROM divisors"
    desk = stand(lines, *statements, "INSERT INTO divisors VALUES (1, 5)", view)
    desk.land()
    desk.execute(
        "INSERT INTO divisors VALUES (2, 0)", *(f"INSERT INTO t{each} VALUES (21)" for each in range(tables - 1))
    )
    before = jobs(desk.spark)
    reports = desk.sync()

    assert jobs(desk.spark) - before == 2
    failed = reports.pop("failing")
    assert (failed.status, "division by zero" in str(failed.error)) == (Status.FAILED, True)
    assert {report.status for report in reports.values()} == {Status.LANDED}
    for name in ("t0", "t1", "t2"):
        desk.assert_equal(name)
    assert len(desk.copy("failing")) == 1


@pytest.mark.acceptance
def test_copies_and_histories_that_are_due_are_compacted_in_a_job_each_and_begin_no_sql(
    stand: OpenStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it cost next to nothing, so that two small files are worth it.
    monkeypatch.setattr(maintenance, "START", 0.001)
    lines, statements = "", []
    names = [f"t{number}" for number in range(5)]
    for name in names:
        history = "" if name == "t4" else ", history: scd2"
        lines += f"- {{table: public.{name}, cursor: {{column: at, type: timestamp}}, strategy: upsert{history}}}\n"
        statements += [
            f"CREATE TABLE {name} (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO {name} SELECT generate_series(1, 20)",
        ]
    desk = stand(lines, *statements)
    desk.land()
    for number in (21, 22):
        desk.execute(*(f"INSERT INTO {name} VALUES ({number})" for name in names))
        desk.land()
    before, sql = jobs(desk.spark), sql_statements(desk.spark)
    with desk.runtime() as runtime:
        done = list(compact_all([desk.spec(name) for name in names], "care", runtime.ports("shop"), seconds=60))

    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (2, 0)
    histories = [f"{name}__history" for name in names[:4]]
    assert sorted(each.table.name for each in done) == sorted([*names, *histories])
    assert [len(each.after.sizes) for each in done if isinstance(each, Compacted)] == [1] * 9
    desk.execute(*(f"UPDATE {name} SET at = now() WHERE id = 3" for name in names))
    desk.land()
    for name in names:
        desk.assert_equal(name)


@pytest.mark.acceptance
def test_a_tick_that_holds_rows_is_a_job_more_and_begins_no_sql_whatever_was_held_before(stand: OpenStand) -> None:
    tables, lines, statements = ("orders", "items", "events"), "", []
    for name in tables:
        how = "append" if name == "events" else "upsert"
        lines += f"- {{table: public.{name}, cursor: {{column: at, type: timestamp}}, strategy: {how}, contract: {{note: {{nullable: false}}}}}}\n"
        statements += [
            f"CREATE TABLE {name} (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO {name} SELECT n, 'fine' FROM generate_series(1, 20) n",
        ]
    desk = stand(lines, *statements)
    desk.land()
    desk.execute(*(f"INSERT INTO {name} VALUES (21, NULL), (22, NULL), (23, 'fine')" for name in tables))
    before, sql = jobs(desk.spark), sql_statements(desk.spark)
    reports = desk.sync()
    # One that reads, one that keeps, one that lands.
    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (3, 0)
    assert {report.rows.quarantined for report in reports.values()} == {2}

    desk.execute(
        *(f"UPDATE {name} SET note = 'mended', at = now() WHERE id = 21" for name in tables),
        *(f"INSERT INTO {name} VALUES (24, NULL)" for name in tables),
    )
    before, sql = jobs(desk.spark), sql_statements(desk.spark)
    desk.sync()
    # And one that says what became of those that were held.
    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (4, 0)
    for name in ("orders", "items"):
        kept = {row["id"]: row["_sync_resolution"] for row in desk.quarantined(name)}
        assert kept == {"21": "superseded", "22": None, "24": None}


@pytest.mark.acceptance
def test_a_replay_begins_no_sql(stand: OpenStand) -> None:
    desk = stand(
        "- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, contract: {note: {nullable: false}}}",
        "CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO orders SELECT n, 'fine' FROM generate_series(1, 20) n",
        "INSERT INTO orders VALUES (21, NULL), (22, NULL), (23, NULL)",
    )
    desk.land()
    desk.execute("UPDATE orders SET note = 'mended' WHERE id = 21", "DELETE FROM orders WHERE id = 22")
    before, sql = jobs(desk.spark), sql_statements(desk.spark)
    with desk.runtime() as runtime:
        (report,) = replay_table(desk.spec("orders"), "replay", runtime.ports("shop"))
    assert (report.status, report.rows.quarantined) == (Status.LANDED, 1)
    # Keys twice, what is gone, cursors; one that reads, one that keeps, one that lands and one that says what became of each.
    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (8, 0)
    kept = {row["id"]: row["_sync_resolution"] for row in desk.quarantined("orders")}
    assert kept == {"21": "replayed", "22": "gone", "23": None}


@pytest.mark.acceptance
def test_histories_that_begin_with_a_first_load_or_later_are_one_job_more_and_begin_no_sql(stand: OpenStand) -> None:
    tables, lines, statements = ("orders", "items"), "", []
    for name, history in zip(tables, ("scd2", "append"), strict=True):
        lines += f"- {{table: public.{name}, cursor: {{column: at, type: timestamp}}, strategy: upsert, history: {history}}}\n"
        statements += [
            f"CREATE TABLE {name} (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now())",
            f"INSERT INTO {name} SELECT n, 'fine' FROM generate_series(1, 20) n",
        ]
    desk = stand(lines, *statements)
    before, sql = jobs(desk.spark), sql_statements(desk.spark)
    desk.land()
    # One that reads, one that lands, one for the histories.
    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (3, 0)
    for name in tables:
        assert len(desk.copy(f"{name}__history")) == 20
        shutil.rmtree(desk.shop.lake(f"{name}__history"))
    desk.execute(*(f"INSERT INTO {name} VALUES (21, 'fine')" for name in tables))
    before, sql = jobs(desk.spark), sql_statements(desk.spark)
    desk.land()
    # One for the histories that are not there, and one for those that follow.
    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (4, 0)
    assert {name: len(desk.copy(f"{name}__history")) for name in tables} == {"orders": 21, "items": 21}


@pytest.mark.acceptance
def test_of_drift_all_over_a_large_table_a_check_and_a_repair_look_at_each_row_once_and_begin_no_sql(
    stand: OpenStand,
) -> None:
    desk = stand(
        "- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, partitions: {every: month, from: 2023-01-01}}\n",
        "CREATE TABLE orders (id int PRIMARY KEY, note text, price numeric(9,2), at timestamptz NOT NULL)",
        "INSERT INTO orders SELECT n, 'first', n, '2024-01-01Z'::timestamptz + n * interval '20 min' FROM generate_series(1, 20000) n",
        "CREATE INDEX ON orders (at)",
        "ANALYZE orders",
    )
    desk.land()
    desk.execute("UPDATE orders SET note = 'drifted' WHERE id % 2000 = 7")
    before, sql, read = jobs(desk.spark), sql_statements(desk.spark), rows_read(desk)
    assert desk.check("orders") == 10
    # One that counts the copy by its keys, one that reads the hashes of the few that lie where it differs.
    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (2, 0)
    assert 20_000 <= rows_read(desk) - read < 22_000
    assert [piece.rows for piece in desk.verified("orders").drifted] == [2, 1, 1, 1, 1, 1, 1, 1, 1]

    before, read = jobs(desk.spark), rows_read(desk)
    assert desk.repair("orders").report.rows.updated == 10
    # The same, one that reads the source, one that lands, and one that looks at what was mended.
    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (5, 0)
    assert rows_read(desk) - read < 22_000
    assert desk.verified("orders").drift == 0
    desk.assert_equal("orders")


@pytest.mark.acceptance
def test_a_repair_that_follows_a_check_at_once_looks_for_nothing_again(stand: OpenStand) -> None:
    desk = stand(
        "- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert}\n",
        "CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz NOT NULL)",
        "INSERT INTO orders SELECT n, 'first', '2024-01-01Z'::timestamptz + n * interval '20 min' FROM generate_series(1, 20000) n",
        "CREATE INDEX ON orders (at)",
    )
    desk.land()
    desk.execute("UPDATE orders SET note = 'drifted' WHERE id % 2000 = 7")
    spec, read = desk.spec("orders"), rows_read(desk)
    with desk.runtime() as runtime:
        ports = runtime.ports("shop")
        drift = reconcile(spec, None, ports)
        remember(spec, drift, runtime.checkpoints)
        done = repair_table(spec, None, "the repair", ports, drift.seen)
    assert (drift.rows, done.report.rows.updated, done.left and done.left.rows) == (10, 10, 0)
    assert done.left is not None
    assert done.left.detail == "20,000 rows in 1 window are equal"
    assert rows_read(desk) - read < 22_000
    assert desk.verified("orders").drift == 0
    desk.assert_equal("orders")


def rows_read(desk: Stand) -> int:
    """Of the table in the source, ever, by sessions that have ended."""
    others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    until = time.monotonic() + 30
    while desk.source(others):
        assert time.monotonic() < until, "a session stays"
        time.sleep(0.05)
    ((found,),) = desk.source("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'orders'")
    return int(found)


def test_a_sync_that_compares_keys_begins_no_sql(stand: OpenStand) -> None:
    desk = stand(
        "- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, deletes: {mode: diff, every: 0s}}\n",
        "CREATE TABLE orders (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO orders SELECT generate_series(1, 20)",
    )
    desk.land()
    desk.execute("DELETE FROM orders WHERE id IN (3, 7)", "INSERT INTO orders VALUES (21)")
    before, sql = jobs(desk.spark), sql_statements(desk.spark)
    reports = desk.sync()
    # One that counts the copy's keys, one that reads them, one that reads the source, one that lands.
    assert (jobs(desk.spark) - before, sql_statements(desk.spark) - sql) == (4, 0)
    assert reports["orders"].rows.deleted == 2
    desk.assert_equal("orders")
