"""The read itself: which rows, which flags, and parts that PostgreSQL answers by ranges of blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.databases.postgresql.rows.read import read_query
from incremental_assets.adapters.spark.own_names import LATE, RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Cursor, FuturePolicy, NullPolicy
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from tests.adapters.source import UPDATED, Source, planned, synced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, updated_at timestamptz, created_at timestamptz)",
    "INSERT INTO orders VALUES (1, '2024-01-01', NULL), (2, '2024-01-02', NULL), (3, NULL, '2024-01-01'), (4, NULL, NULL), (5, '2999-01-01', NULL), (6, 'infinity', NULL)",
)
JANUARY = Window(
    CursorValue.parse(CursorType.TIMESTAMP, "2024-01-01T00:00:00Z"),
    CursorValue.parse(CursorType.TIMESTAMP, "2024-01-02T00:00:00Z"),
)


def ids(source: Source, sql: str, condition: str = "TRUE") -> list[int]:
    rows = source.connect().execute(f"SELECT c0 FROM ({sql}) AS s WHERE {condition} ORDER BY c0".encode()).fetchall()
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("nulls", "fallback", "mode", "expected"),
    [
        (NullPolicy.SKIP, None, Mode.SYNC, [1, 2, 5, 6]),
        (NullPolicy.ALWAYS, None, Mode.SYNC, [1, 2, 3, 4, 5, 6]),
        (NullPolicy.SKIP, "created_at", Mode.SYNC, [1, 2, 3, 5, 6]),
        (NullPolicy.ALWAYS, "created_at", Mode.BACKFILL, [1, 3]),
        (NullPolicy.SKIP, None, Mode.BACKFILL, [1]),
    ],
)
def test_the_rows_of_a_read(
    source: Source, nulls: NullPolicy, fallback: str | None, mode: Mode, expected: list[int]
) -> None:
    source.execute(*ORDERS)
    spec = source.spec("orders", Cursor("updated_at", CursorType.TIMESTAMP, nulls, fallback))
    probe = source.open()
    plan = planned(probe, spec, request=Request("r", mode, JANUARY if mode is Mode.BACKFILL else None))
    found = ids(source, read_query(plan, 1).sql)
    assert found == expected
    with probe.snapshot(plan) as snapshot:
        assert snapshot.rows == len(found)


@pytest.mark.parametrize(
    ("policy", "rejected"), [(FuturePolicy.LAND, [6]), (FuturePolicy.QUARANTINE, [5, 6]), (FuturePolicy.WAIT, [])]
)
def test_rows_past_the_sources_clock(source: Source, policy: FuturePolicy, rejected: list[int]) -> None:
    source.execute(*ORDERS)
    spec = source.spec("orders", Cursor("updated_at", CursorType.TIMESTAMP, NullPolicy.SKIP), future=policy)
    query = read_query(planned(source.open(), spec), 1)
    assert ids(source, query.sql, f"{REJECT_REASON} IS NOT NULL") == rejected
    assert ids(source, query.sql) == ([1, 2] if policy is FuturePolicy.WAIT else [1, 2, 5, 6])
    if policy is FuturePolicy.QUARANTINE:
        row = (
            source.connect()
            .execute(f"SELECT {REJECT_COLUMN}, {REJECT_REASON}, {RAW} FROM ({query.sql}) AS s WHERE c0 = 5".encode())
            .fetchone()
        )
        assert row is not None
        assert row[:2] == ("updated_at", "stamped past the source's clock")
        assert json.loads(row[2])["id"] == "5"


def test_a_row_below_what_an_earlier_sync_had_read_is_late(source: Source) -> None:
    source.execute(*ORDERS, "DELETE FROM orders WHERE id > 2")
    from datetime import timedelta

    spec = source.spec("orders", UPDATED, lookback=timedelta(days=36500))
    probe = source.open()
    state = synced(probe, spec)
    source.execute("INSERT INTO orders VALUES (7, '2023-12-31', NULL), (8, now(), NULL)")
    query = read_query(planned(probe, spec, state), 1)
    assert ids(source, query.sql, LATE) == [1, 2, 7]


def test_parts_are_disjoint_cover_every_row_and_are_ranges_of_blocks(source: Source) -> None:
    source.execute(
        "CREATE TABLE big AS SELECT g AS id, repeat('x', 400) AS filler FROM generate_series(1, 20000) AS g",
        "VACUUM ANALYZE big",
    )
    spec = source.spec("big")
    query = read_query(planned(source.open(), spec), 4)
    assert len(query.parts) == 4
    source.execute("INSERT INTO big SELECT g, repeat('x', 400) FROM generate_series(20001, 21000) AS g")
    found = [ids(source, query.sql, part) for part in query.parts]
    assert sorted(number for part in found for number in part) == list(range(1, 21001))
    assert all(len(part) > 2000 for part in found)
    steps = (
        source.connect()
        .execute(f"EXPLAIN SELECT c0 FROM ({query.sql}) AS s WHERE {query.parts[1]}".encode())
        .fetchall()
    )
    assert any("Tid Range Scan" in step for (step,) in steps), steps


def test_a_small_table_a_view_and_a_partitioned_table_are_not_split(source: Source) -> None:
    source.execute(
        *ORDERS, "CREATE VIEW shown AS SELECT * FROM orders", "CREATE TABLE parts (id int) PARTITION BY HASH (id)"
    )
    for name in ("orders", "shown", "parts"):
        assert read_query(planned(source.open(), source.spec(name)), 4).parts == ()


def test_a_table_of_a_thousand_columns_is_read(source: Source) -> None:
    columns = ", ".join(f"c{number} date" for number in range(1000))
    source.execute(f"CREATE TABLE wide ({columns})", "INSERT INTO wide (c0, c999) VALUES ('2024-01-01', 'infinity')")
    spec = source.spec("wide")
    query = read_query(planned(source.open(), spec), 1)
    row = source.connect().execute(f"SELECT {REJECT_COLUMN}, {RAW} FROM ({query.sql}) AS s".encode()).fetchone()
    assert row is not None
    assert row[0] == "c999"
    assert len(json.loads(row[1])) == 1000
    assert source.open().measure(spec, (Window(None, None),))[0].rows == 0


def test_parts_read_by_spark_share_one_snapshot(source: Source, spark: SparkSession) -> None:
    from tests.adapters.reading import loaded

    source.execute(
        "CREATE TABLE big AS SELECT g AS id, repeat('x', 400) AS filler FROM generate_series(1, 20000) AS g",
        "VACUUM ANALYZE big",
    )
    probe, spec = source.open(), source.spec("big")
    plan = planned(probe, spec)
    with probe.snapshot(plan) as snapshot:
        query = read_query(plan, 2, clean=snapshot.rejected == 0)
        frame = loaded(spark, source, query.sql, query.parts, snapshot.handle.snapshot_id)
        source.execute(
            "DELETE FROM big WHERE id % 2 = 0",
            "INSERT INTO big SELECT g, 'late' FROM generate_series(20001, 30000) AS g",
        )
        assert frame.rdd.getNumPartitions() == 2
        assert frame.selectExpr("count(c0)", "sum(c0)").collect()[0][:] == (20000, 200010000)
