"""The probe on a real PostgreSQL: has anything moved, how far behind is the copy, and what does the snapshot itself count."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Cursor, FuturePolicy, NullPolicy, Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request
from tests.adapters.source import UPDATED, Source, observe, planned, synced
from tests.waiting import until

ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, updated_at timestamptz, created_at timestamptz, note text)",
    "INSERT INTO orders SELECT g, now() - g * interval '1 hour', now() - g * interval '2 hours', 'n' FROM generate_series(0, 9) AS g",
)


def test_nothing_moved_when_nothing_was_written(source: Source) -> None:
    source.execute(*ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    state = synced(probe, spec)
    assert isinstance(plan(spec, Request("r"), state, CommitIds("a", 1, "b"), observe(probe, spec, state)), NothingToDo)
    assert probe.lag((ObserveRequest(spec, state),)) == (0.0,)


@pytest.mark.parametrize(
    ("what", "statement"),
    [
        ("a row changed under the same cursor value", "UPDATE orders SET note = 'm' WHERE id = 0"),
        ("a row deleted", "DELETE FROM orders WHERE id = 0"),
        (
            "a row added at a stamp that was read",
            "INSERT INTO orders SELECT 10, updated_at, created_at, 'n' FROM orders WHERE id = 0",
        ),
        ("a row without a cursor", "INSERT INTO orders VALUES (10, NULL, NULL, 'n')"),
        ("a row of the future", "INSERT INTO orders VALUES (10, 'infinity', NULL, 'n')"),
    ],
)
def test_it_moved(source: Source, what: str, statement: str) -> None:
    source.execute(*ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED, lookback=timedelta(hours=1))
    state = synced(probe, spec)
    source.execute(statement)
    assert observe(probe, spec, state).fingerprint != state.position.fingerprint, what


def test_a_row_without_a_cursor_is_nothing_new_where_such_rows_are_skipped(source: Source) -> None:
    source.execute(*ORDERS)
    probe, spec = source.open(), source.spec("orders", Cursor("updated_at", CursorType.TIMESTAMP, NullPolicy.SKIP))
    state = synced(probe, spec)
    source.execute("INSERT INTO orders VALUES (10, NULL, NULL, 'n')")
    assert observe(probe, spec, state).fingerprint == state.position.fingerprint


def test_a_view_shows_its_changes_by_content(source: Source) -> None:
    source.execute(*ORDERS, "CREATE VIEW shown AS SELECT id, updated_at, note FROM orders")
    probe, spec = source.open(), source.spec("shown", UPDATED)
    assert not spec.shape.row_versions
    state = synced(probe, spec)
    assert observe(probe, spec, state).fingerprint == state.position.fingerprint
    source.execute("UPDATE orders SET note = 'm', updated_at = now() WHERE id = 3")
    assert observe(probe, spec, state).fingerprint != state.position.fingerprint


def test_a_partitioned_table_is_one_table_with_row_versions(source: Source) -> None:
    source.execute(
        "CREATE TABLE events (id int, at timestamptz NOT NULL) PARTITION BY RANGE (at)",
        "CREATE TABLE events_old PARTITION OF events FOR VALUES FROM (MINVALUE) TO ('2024-01-01')",
        "CREATE TABLE events_new PARTITION OF events FOR VALUES FROM ('2024-01-01') TO (MAXVALUE)",
        "INSERT INTO events VALUES (1, '2023-12-31'), (2, '2024-01-01')",
    )
    probe, spec = source.open(), source.spec("events", Cursor("at", CursorType.TIMESTAMP))
    assert [shape.id.name for shape in probe.catalogue()] == ["events"]
    assert (spec.shape.row_versions, spec.shape.splits) == (True, False)
    state = synced(probe, spec)
    source.execute("INSERT INTO events VALUES (3, now())")
    assert observe(probe, spec, state).fingerprint != state.position.fingerprint


def test_the_snapshot_counts_what_the_plan_reads(source: Source) -> None:
    source.execute(
        *ORDERS,
        "INSERT INTO orders VALUES (10, NULL, '2020-01-01', 'fallback'), (11, NULL, NULL, 'none'), (12, 'infinity', NULL, 'far'), (13, '2999-01-01', NULL, 'soon')",
    )
    probe = source.open()
    spec = source.spec(
        "orders",
        Cursor("updated_at", CursorType.TIMESTAMP, NullPolicy.ALWAYS, "created_at"),
        future=FuturePolicy.QUARANTINE,
    )
    with probe.snapshot(planned(probe, spec)) as snapshot:
        assert (snapshot.rows, snapshot.nulls, snapshot.rejected) == (14, 1, 2)
        assert str(snapshot.highest) == "infinity"
    window = Window(
        CursorValue.parse(CursorType.TIMESTAMP, "2019-01-01T00:00:00Z"),
        CursorValue.parse(CursorType.TIMESTAMP, "2021-01-01T00:00:00Z"),
    )
    with probe.snapshot(planned(probe, spec, request=Request("r", Mode.BACKFILL, window))) as snapshot:
        assert (snapshot.rows, snapshot.nulls, snapshot.fingerprint) == (1, 1, None), (
            "a backfill's window holds no row without a cursor"
        )


def test_a_snapshot_stays_as_it_was(source: Source) -> None:
    source.execute(*ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    with probe.snapshot(planned(probe, spec)) as snapshot:
        source.execute("DELETE FROM orders")
        reader = source.connect()
        reader.execute(
            f"BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '{snapshot.handle.snapshot_id}'".encode()
        )
        assert reader.execute("SELECT count(*) FROM orders").fetchone() == (10,)
    assert snapshot.rows == 10


def test_numeric_cursors_know_their_highest_and_leave_nan_out(source: Source) -> None:
    source.execute(
        "CREATE TABLE wide (n numeric(30,0))", "INSERT INTO wide VALUES (99999999999999999999), (5), ('NaN'), (NULL)"
    )
    probe, spec = source.open(), source.spec("wide", Cursor("n", CursorType.INTEGER, NullPolicy.ALWAYS))
    assert str(observe(probe, spec).highest) == "99999999999999999999"
    with probe.snapshot(planned(probe, spec)) as snapshot:
        assert (snapshot.rows, snapshot.rejected, str(snapshot.highest)) == (4, 1, "99999999999999999999")


def test_lag_is_the_age_of_the_oldest_row_that_has_not_landed(source: Source) -> None:
    source.execute(*ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    (before,) = probe.lag((ObserveRequest(spec, None),))
    assert 9 * 3600 <= before < 9 * 3600 + 60
    state = synced(probe, spec)
    source.execute("INSERT INTO orders VALUES (10, clock_timestamp(), NULL, 'n')")
    (after,) = probe.lag((ObserveRequest(spec, state),))
    assert 0 < after < 60


def test_lag_of_stamps_without_a_zone_is_read_in_the_zone_that_stamps_them(source: Source) -> None:
    source.execute(
        "CREATE TABLE local (at timestamp)",
        "INSERT INTO local VALUES (now() AT TIME ZONE 'Asia/Tokyo' - interval '1 minute')",
    )
    probe, spec = source.open(), source.spec("local", Cursor("at", CursorType.DATETIME, zone="Asia/Tokyo"))
    (seconds,) = probe.lag((ObserveRequest(spec, None),))
    assert 60 <= seconds < 90


def test_of_many_tables_one_that_is_gone_does_not_stop_the_others(source: Source) -> None:
    source.execute(*ORDERS, "CREATE TABLE gone AS SELECT * FROM orders")
    probe = source.open()
    orders, gone = source.spec("orders", UPDATED), source.spec("gone", UPDATED)
    looks = [ObserveRequest(spec, synced(probe, spec)) for spec in (orders, gone)]
    source.execute("DROP TABLE gone")
    first, second = probe.observe(looks)
    assert looks[0].state is not None
    assert first.fingerprint == looks[0].state.position.fingerprint
    assert second.fingerprint is None, "so that a sync is asked for, which says what is wrong"
    assert probe.lag(looks)[0] == 0.0


def test_a_thousand_idle_tables_are_looked_at_in_two_seconds(source: Source) -> None:
    source.execute(
        "DO $$ BEGIN FOR i IN 1..1000 LOOP EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())', i);"
        " END LOOP; END $$"
    )
    probe = source.open()
    shapes = probe.catalogue()
    assert len(shapes) == 1000
    template = source.spec("t1", UPDATED)
    state = synced(probe, template)
    looks = [ObserveRequest(replace(template, shape=shape), state) for shape in shapes]

    def seconds() -> float:
        begun = time.monotonic()
        observations = probe.observe(looks)
        took = time.monotonic() - begun
        assert {seen.fingerprint for seen in observations} == {state.position.fingerprint}
        return took

    # The machine may be busy with something else.
    until(lambda: seconds() < 2)


def test_windows_are_measured_in_one_scan_and_add_up(source: Source) -> None:
    source.execute(*ORDERS, "INSERT INTO orders VALUES (10, NULL, NULL, 'none')")
    probe = source.open()
    spec = source.spec(
        "orders", Cursor("updated_at", CursorType.TIMESTAMP, NullPolicy.ALWAYS), strategy=Strategy.UPSERT
    )
    (whole,) = probe.measure(spec, (Window(None, None),))
    assert whole.rows == 11
    cuts = [
        CursorValue.of(CursorType.TIMESTAMP, probe.bound().clock - timedelta(hours=hours, minutes=30))
        for hours in (7, 4, 2)
    ]
    windows = [Window(None, cuts[0]), Window(cuts[0], cuts[1]), Window(cuts[1], cuts[2]), Window(cuts[2], None)]
    found = probe.measure(spec, windows)
    assert [measure.rows for measure in found] == [2, 3, 2, 3]
    unordered = probe.measure(spec, [windows[2], windows[0], Window(None, cuts[2])])
    assert [measure.rows for measure in unordered] == [2, 2, 7]
    assert (unordered[0], unordered[1]) == (found[2], found[0])
    assert int(unordered[2].digest) == sum(int(measure.digest) for measure in found[:3])
    assert [measure.rows for measure in probe.measure(spec, windows[1:3])] == [3, 2]


def test_a_key_says_nothing_of_rows_that_other_tables_inherit(source: Source) -> None:
    source.execute(
        "CREATE TABLE cities (id int PRIMARY KEY, name text)",
        "CREATE TABLE capitals (since int) INHERITS (cities)",
        "INSERT INTO cities VALUES (1, 'Lyon')",
        "INSERT INTO capitals VALUES (1, 'Paris', 1792)",
        "CREATE TABLE sales (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE sales_1 PARTITION OF sales FOR VALUES FROM (0) TO (10)",
    )
    assert source.shape("cities").primary_key == ()
    assert source.shape("sales").primary_key == ("id",)


def test_rows_are_put_into_many_windows_without_sorting_them(source: Source) -> None:
    source.execute(
        "CREATE TABLE orders AS SELECT n AS id, repeat('x', 100) AS note, timestamptz '2024-01-01Z' + n * interval '1 min' AS at FROM generate_series(1, 30000) AS n",
        "ANALYZE orders",
        f"ALTER DATABASE {source.database} SET work_mem = '64kB'",
    )
    spec, before = source.spec("orders", Cursor("at", CursorType.TIMESTAMP)), spilled(source)
    cut = CursorValue(CursorType.TIMESTAMP, "2024-01-10T00:00:00Z")
    measures = source.open().measure(spec, [Window(None, cut), Window(cut, None)])
    assert [found.rows for found in measures] == [12959, 17041]
    with source.connect() as connection:
        (table,) = connection.execute("SELECT pg_relation_size('orders')").fetchone() or (0,)
    # Where work_mem is this small even a look at the catalogue spills something.
    assert spilled(source) - before < table / 10


def spilled(source: Source) -> int:
    """Bytes of all sessions of this database, which tell them when they end."""

    def told(sql: str) -> int:
        with source.connect() as connection:
            row = connection.execute(sql.encode()).fetchone()
        return int(row[0]) if row else 0

    while source.opened:
        source.opened.pop().close()
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    deadline = time.monotonic() + 30
    while told(others):
        assert time.monotonic() < deadline, "sessions of this test have not ended"
        time.sleep(0.05)
    return told("SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()")
