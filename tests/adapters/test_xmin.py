"""Rows by the transaction that wrote them, asked of a real server: late commits, savepoints, frozen rows, the end of the circle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.adapters.databases.postgresql import snapshot_counts
from incremental_assets.adapters.databases.postgresql.advice.estimates import estimates
from incremental_assets.adapters.databases.postgresql.rows.read import read_query
from incremental_assets.adapters.databases.postgresql.transaction_number import wide
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request, SyncPlan
from tests.adapters.source import Source, observe, planned
from tests.snapshots import as_read

ORDERS = "CREATE TABLE orders (id bigint PRIMARY KEY, note text)"
XMIN = Cursor("xmin", CursorType.INTEGER, by_transaction=True)
CIRCLE = 2**32


def numbered(source: Source, name: str = "orders") -> TableSpec:
    spec = source.spec(name, XMIN, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)
    return replace(spec, shape=spec.shape.numbered())


@pytest.fixture
def spec(source: Source) -> TableSpec:
    source.execute(ORDERS, "INSERT INTO orders SELECT g, 'old' FROM generate_series(1, 100) AS g")
    return numbered(source)


def rows_of(source: Source, decision: SyncPlan, handle: Any) -> list[tuple[Any, ...]]:
    query = read_query(decision, 1, since=handle.since)
    with source.connect() as reader:
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute(f"SET TRANSACTION SNAPSHOT '{handle.snapshot_id}'")  # type: ignore[arg-type]
        return sorted(reader.execute(query.sql).fetchall())  # type: ignore[arg-type]


def read(source: Source, probe: SqlProbe, spec: TableSpec, state: State | None) -> tuple[list[int], State]:
    """The keys that a sync reads, and the state that it leaves; a sync that finds nothing leaves what it was given."""
    decision = plan(spec, Request("run"), state, CommitIds("app", 0, "batch"), observe(probe, spec, state))
    if isinstance(decision, NothingToDo):
        assert state is not None
        return [], decision.state or state
    with probe.snapshot(decision) as snapshot:
        found = rows_of(source, decision, snapshot.handle)
        assert len(found) == snapshot.rows, "the source counts what is read"
        shown = as_read(snapshot.rows, snapshot.highest, snapshot.fingerprint, snapshot.due, snapshot.visible)
        return [int(row[0]) for row in found], landed_state(decision, shown)


@pytest.mark.parametrize(
    ("bound", "finds"),
    [
        (snapshot_counts.OVER, True),
        ("SELECT CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text)", False),
        ("SELECT CAST(max(CAST(CAST(xmin AS text) AS bigint)) AS text) FROM public.orders", False),
    ],
    ids=["below which all are over", "known-bad: the snapshot's end", "known-bad: the highest that was seen"],
)
def test_what_commits_after_two_syncs_is_read_and_only_the_oldest_open_transaction_tells_how_far_a_sync_has_come(
    source: Source, spec: TableSpec, monkeypatch: pytest.MonkeyPatch, bound: str, *, finds: bool
) -> None:
    monkeypatch.setattr(snapshot_counts, "OVER", bound)
    probe = source.open()
    with source.connect() as slow:
        slow.execute("INSERT INTO orders VALUES (1000, 'late')")
        source.execute("INSERT INTO orders VALUES (1001, 'quick')")
        if not finds:
            # The snapshot itself is compared with the bound: a wrong one is refused before it can lose anything.
            monkeypatch.setattr(snapshot_counts, "_check_as_late", lambda *_: None)
        first, state = read(source, probe, spec, None)
        assert (len(first), 1001 in first, 1000 in first) == (101, True, False)
        source.execute("INSERT INTO orders VALUES (1002, 'quick')")
        second, state = read(source, probe, spec, state)
        assert second == [1002], "what the first has read, and was not written since, is not read again"
        slow.commit()
    third, state = read(source, probe, spec, state)
    assert third == ([1000, 1001, 1002] if finds else []), "at its end all of what came since it began"
    assert read(source, probe, spec, state)[0] == []


def test_a_bound_that_the_snapshot_does_not_reach_is_refused(
    source: Source, spec: TableSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_counts, "OVER", f"SELECT '{2**40}'")
    probe = source.open()
    decision = planned(probe, spec)
    # As with a bound that one replica gave, and a snapshot of another that is behind.
    decision = replace(
        decision,
        reading=replace(
            decision.reading,
            settled=replace(decision.reading.settled, value=CursorValue(CursorType.INTEGER, str(2**40))),
        ),
    )
    with pytest.raises(SourceRefused, match="several replicas"), probe.snapshot(decision):
        pass


def test_rows_of_savepoints_of_prepared_and_of_aborted_transactions(source: Source, spec: TableSpec) -> None:
    probe = source.open()
    nested, prepared, aborted = source.connect(), source.connect(), source.connect()
    for number in range(80):
        nested.execute("SAVEPOINT here")
        nested.execute("INSERT INTO orders VALUES (%s, 'nested')", [2000 + number])
    prepared.execute("INSERT INTO orders VALUES (3000, 'prepared')")
    prepared.execute("PREPARE TRANSACTION 'later'")
    aborted.execute("UPDATE orders SET note = 'never'")
    _, state = read(source, probe, spec, None)
    aborted.rollback()
    nested.commit()
    source.execute("INSERT INTO orders VALUES (1001, 'quick')")
    second, state = read(source, probe, spec, state)
    assert second == [1001, *range(2000, 2080)]
    for each in (nested, prepared, aborted):
        each.close()
    source.execute("COMMIT PREPARED 'later'")
    third, state = read(source, probe, spec, state)
    assert 3000 in third
    assert read(source, probe, spec, state)[0] == []


def test_an_update_by_an_older_transaction_than_the_one_that_wrote_the_row_is_read(
    source: Source, spec: TableSpec
) -> None:
    probe = source.open()
    with source.connect() as older:
        older.execute("INSERT INTO orders VALUES (1000, 'takes a number')")
        source.execute("UPDATE orders SET note = 'by the younger' WHERE id = 7")
        _, state = read(source, probe, spec, None)
        older.execute("UPDATE orders SET note = 'by the older' WHERE id = 7")
        older.commit()
    assert read(source, probe, spec, state)[0] == [7, 1000]


def test_locked_frozen_and_rewritten_rows_are_no_changes_and_rows_that_were_copied_frozen_are(
    source: Source, spec: TableSpec
) -> None:
    probe = source.open()
    _, state = read(source, probe, spec, None)
    with source.connect() as locker:
        locker.execute("SELECT FROM orders FOR UPDATE")
        locker.commit()
    source.execute("VACUUM (FREEZE) orders", "VACUUM FULL orders")
    rows, state = read(source, probe, spec, state)
    assert rows == []
    with source.connect() as connection, connection.transaction():
        connection.execute("TRUNCATE orders")
        with connection.cursor().copy("COPY orders (id) FROM STDIN (FREEZE)") as copy:
            copy.write_row([5000])
    rows, state = read(source, probe, spec, state)
    assert rows == [5000]


def test_a_partition_that_is_attached_brings_rows_of_old_transactions(source: Source) -> None:
    source.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, note text) PARTITION BY RANGE (id)",
        "CREATE TABLE orders_0 PARTITION OF orders FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE orders_1 (id bigint PRIMARY KEY, note text)",
        "INSERT INTO orders_1 VALUES (100, 'older than all')",
        "INSERT INTO orders VALUES (1, 'first')",
    )
    spec, probe = numbered(source), source.open()
    first, state = read(source, probe, spec, None)
    source.execute("ALTER TABLE orders ATTACH PARTITION orders_1 FOR VALUES FROM (100) TO (200)")
    second, state = read(source, probe, numbered(source), state)
    source.execute("UPDATE orders SET id = 150 WHERE id = 1")
    third, _ = read(source, probe, numbered(source), state)
    assert (first, 100 in second, third) == ([1], True, [150])


@pytest.mark.parametrize(
    ("low", "last", "number"),
    [
        (700, 1000, 700),
        (1000, 1000, 1000),
        (2, 1000, 2),
        (2, 5 * CIRCLE, 2),
        (CIRCLE - 1, CIRCLE + 5, CIRCLE - 1),
        (3, CIRCLE + 5, CIRCLE + 3),
        (5, CIRCLE + 5, CIRCLE + 5),
        (6, CIRCLE + 5, 6),
        (CIRCLE - 1, 2 * CIRCLE - 1, 2 * CIRCLE - 1),
        (2**31, 7 * CIRCLE + 2**31 - 1, 6 * CIRCLE + 2**31),
        (4_000_000_000, 1000, 4_000_000_000 - CIRCLE),
    ],
)
def test_the_lower_half_of_a_number_becomes_the_largest_that_the_snapshot_may_show(
    source: Source, low: int, last: int, number: int
) -> None:
    with source.connect() as connection:
        row = connection.execute(f"SELECT {wide(f'{low}::bigint', f'{last}::bigint')}").fetchone()  # type: ignore[arg-type]
    assert row == (number,)
    assert number <= last


def test_the_number_lands_and_both_sides_may_tell_windows_by_it(source: Source, spec: TableSpec) -> None:
    probe = source.open()
    decision = planned(probe, spec)
    with probe.snapshot(decision) as snapshot, source.connect() as connection:
        (row, *_) = rows_of(source, decision, snapshot.handle)
        found = connection.execute("SELECT CAST(CAST(xmin AS text) AS bigint) FROM orders LIMIT 1").fetchone()
    assert found is not None
    assert row[:3] == (1, "old", found[0])
    (whole,) = probe.measure(spec, [Window(None, None)])
    upper = CursorValue(CursorType.INTEGER, str(found[0]))
    below, above = probe.measure(spec, [Window(None, upper), Window(upper, None)])
    assert (whole.rows, below.rows, above.rows, above.digest) == (100, 0, 100, whole.digest)
    assert probe.lowest([spec]) == (upper,)


def test_a_table_is_not_looked_through_while_nothing_is_written_in_the_whole_server(
    source: Source, spec: TableSpec
) -> None:
    probe = source.open()
    _, state = read(source, probe, spec, None)
    decision = planned(probe, spec)
    decision = replace(decision, reading=replace(decision.reading, window=Window(state.position.watermark, None)))
    text = read_query(decision, 1).sql
    with source.connect() as connection:
        explain = f"EXPLAIN (ANALYZE, FORMAT TEXT) {text}"
        before = "\n".join(str(line) for (line,) in connection.execute(explain).fetchall())  # type: ignore[arg-type]
    assert "One-Time Filter" in before
    assert "Scan" in before
    assert "never executed" in before
    (estimate,) = _estimate(source, decision)
    assert (estimate.scans, estimate.indexes) == (True, ())


def _estimate(source: Source, decision: SyncPlan) -> Any:
    with source.asked() as asked:
        return estimates(asked, [decision])


def test_the_run_is_settled_whoever_cannot_be_seen_and_a_view_has_no_numbers(source: Source, spec: TableSpec) -> None:
    source.execute("CREATE VIEW recent AS SELECT xmin, id FROM orders")
    probe = source.open()
    with source.connect() as hidden:
        hidden.execute("SET track_activities = off")
        hidden.execute("INSERT INTO orders VALUES (1000, 'unseen')")
        decision = planned(probe, spec)
        assert decision.reading.settled.guarantee is Guarantee.SETTLED
        assert probe.observe((ObserveRequest(spec, None),))[0].bound.blind
    assert source.shape("recent").numbering is None
    assert source.shape("recent").numbered().names == ("xmin", "id")
