"""What a snapshot shows beside what the last sync's snapshot showed: asked of a real server, with subtransactions, frozen rows and long transactions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from psycopg import Connection

from incremental_assets.adapters.databases.postgresql.rows.read import read_query
from incremental_assets.adapters.databases.postgresql.settled.visible import first_unread
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from tests.adapters.source import UPDATED, Source, planned
from tests.snapshots import as_read

ORDERS = "CREATE TABLE orders (id bigint PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())"


@pytest.mark.parametrize(
    ("before", "now", "first"),
    [
        ("10:10:", "12:12:", 10),
        ("10:14:10,12", "15:15:", 10),
        ("10:14:10,12", "10:15:10", 12),
        ("10:14:10,12", "10:15:10,12,14", 14),
        ("10:14:", "12:12:", None),
        (f"{2**33}:{2**33}:", f"{2**33 + 2**31}:{2**33 + 2**31}:", None),
        (f"{2**33}:{2**33}:", f"{2**33 + 2**31 - 1}:{2**33 + 2**31 - 1}:", 2**33),
    ],
)
def test_the_first_transaction_that_was_not_shown(before: str, now: str, first: int | None) -> None:
    assert first_unread(before, now) == first


def read(source: Source, probe: SqlProbe, spec: TableSpec, state: State | None) -> tuple[list[int], State]:
    """The ids that a sync reads, by a reader of its own in the same snapshot, and the state that it leaves."""
    decision = planned(probe, spec, state)
    with probe.snapshot(decision) as snapshot:
        query = read_query(decision, 1, since=snapshot.handle.since)
        with source.connect() as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            reader.execute(f"SET TRANSACTION SNAPSHOT '{snapshot.handle.snapshot_id}'")  # type: ignore[arg-type]
            rows = sorted(int(row[0]) for row in reader.execute(query.sql).fetchall())  # type: ignore[arg-type]
        assert len(rows) == snapshot.rows, "the source counts what is read"
        return rows, landed_state(
            decision, as_read(snapshot.rows, snapshot.highest, snapshot.fingerprint, snapshot.due, snapshot.visible)
        )


@pytest.fixture
def spec(source: Source) -> TableSpec:
    source.execute(ORDERS, "INSERT INTO orders SELECT g FROM generate_series(1, 1000) AS g")
    return source.spec("orders", UPDATED, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)


def _subtransactions(connection: Connection) -> None:
    connection.execute("INSERT INTO orders VALUES (2000)")
    for number in range(2001, 2080):
        connection.execute("SAVEPOINT here")
        connection.execute("INSERT INTO orders VALUES (%s)", [number])


def _nothing(connection: Connection) -> None:
    connection.execute("SELECT 1")


@pytest.mark.parametrize(
    ("begin", "late"),
    [(_subtransactions, list(range(2000, 2080))), (_nothing, [3000])],
    ids=["with 79 subtransactions", "that has written nothing"],
)
def test_while_a_transaction_is_open_only_what_is_new_is_read_and_at_its_end_all_of_it(
    source: Source, spec: TableSpec, begin: Callable[[Connection], None], late: list[int]
) -> None:
    probe = source.open()
    with source.connect() as slow:
        slow.autocommit = False
        begin(slow)
        rows, state = read(source, probe, spec, None)
        assert rows == list(range(1, 1001))
        source.execute("INSERT INTO orders VALUES (1001)", "UPDATE orders SET id = 1002 WHERE id = 5")
        source.execute("DELETE FROM orders WHERE id = 7", "INSERT INTO orders VALUES (7)")
        rows, state = read(source, probe, spec, state)
        assert rows == [7, 1001, 1002]
        source.execute("VACUUM (FREEZE) orders", "INSERT INTO orders VALUES (1003)")
        rows, state = read(source, probe, spec, state)
        assert rows == [1003]
        if late == [3000]:
            slow.execute("INSERT INTO orders VALUES (3000)")
        slow.commit()
    source.execute("VACUUM (FREEZE) orders")
    rows, state = read(source, probe, spec, state)
    assert [row for row in rows if row >= 2000] == late
    assert rows == late or late != [3000], "it had no number, so that nothing before it is read again"


def test_a_prepared_transaction_is_under_way_until_it_is_committed(source: Source, spec: TableSpec) -> None:
    probe = source.open()
    with source.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO orders VALUES (2000)")
        connection.execute("PREPARE TRANSACTION 'later'")
    _, state = read(source, probe, spec, None)
    source.execute("INSERT INTO orders VALUES (1001)")
    rows, state = read(source, probe, spec, state)
    assert rows == [1001]
    source.execute("COMMIT PREPARED 'later'")
    rows, _ = read(source, probe, spec, state)
    assert 2000 in rows


def test_rows_that_were_copied_frozen_and_a_table_that_was_rewritten_are_read(source: Source, spec: TableSpec) -> None:
    probe = source.open()
    slow = source.connect()
    slow.execute("BEGIN")
    slow.execute("SELECT now()")
    _, state = read(source, probe, spec, None)
    with source.connect() as connection, connection.transaction():
        connection.execute("TRUNCATE orders")
        with connection.cursor().copy("COPY orders (id) FROM STDIN (FREEZE)") as copy:
            copy.write_row([5000])
    rows, state = read(source, probe, spec, state)
    assert rows == [5000]
    source.execute("INSERT INTO orders VALUES (5001)", "VACUUM FULL orders")
    rows, _ = read(source, probe, spec, state)
    assert 5001 in rows
    slow.close()
