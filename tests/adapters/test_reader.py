"""From a real PostgreSQL into Delta: one snapshot, whole and exact, and both sides count and hash the same."""

from __future__ import annotations

import socket
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from incremental_assets.adapters.databases.jdbc import PART_BYTES, parts_for
from incremental_assets.adapters.databases.postgresql.rows.reader import JdbcReader
from incremental_assets.adapters.databases.spark_source import SparkSnapshot, SparkSource
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.delta.staging.stage import ParquetStage
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.contract import ColumnRules, Contract
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Comparison, Duplicates
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, NullPolicy, Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.target import Commit
from incremental_assets.core.syncing.reading import read
from tests.adapters.reading import loaded
from tests.adapters.source import READER, Source, planned
from tests.snapshots import as_read
from tests.spark_jobs import jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AWKWARD = 'we"ird; drop table x--.Tbl'
NUMBER = Cursor("n", CursorType.INTEGER, nulls=NullPolicy.ALWAYS)


class Copy:
    """Source, stage and lake of one test, as a sync uses them. `by`: who reads the rows, a task or Spark itself."""

    def __init__(self, source: Source, spark: SparkSession, folder: Path, by: str = "task") -> None:
        self.by = by
        # One session looks, one holds the snapshot, three read.
        self.source, self.probe = source, source.open(connections=5)
        self.lake = DeltaLake(str(folder), lambda: spark, JdbcReader(source.address()))
        self.stage = ParquetStage(str(folder), lambda: spark)
        self.reader = SparkSource(self.probe, source.address(connections=5), lambda: spark)
        self.seq = 0
        self.previous: State | None = None

    def plan(self, spec: TableSpec) -> SyncPlan:
        self.seq += 1
        # Everything is read each time, whatever landed before.
        found = planned(self.probe, spec)
        commit_ids = replace(found.commit_ids, seq=self.seq, batch_id=f"batch{self.seq}")
        return replace(found, commit_ids=commit_ids, previous=self.previous)

    def sync(self, spec: TableSpec) -> Commit:
        plan = self.plan(spec)
        with self.reader.snapshot(plan) as snapshot:
            batch = self.stage.write(plan, snapshot if self.by == "task" else replace(snapshot, parts=None))
            self.previous = landed_state(plan, as_read(snapshot.rows, snapshot.highest, snapshot.fingerprint))
        return self.lake.apply(plan, batch, self.previous)


@pytest.fixture(params=["task", pytest.param("Spark", marks=pytest.mark.acceptance)])
def copy(request: pytest.FixtureRequest, source: Source, spark: SparkSession, tmp_path: Path) -> Copy:
    return Copy(source, spark, tmp_path / "lake", request.param)


def test_a_database_that_takes_no_connection_of_sparks_is_one_sentence(source: Source, spark: SparkSession) -> None:
    source.execute("CREATE TABLE orders (id int PRIMARY KEY, n int)")
    probe, spec = source.open(), source.spec("orders", NUMBER)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        elsewhere = source.address(port=nobody.getsockname()[1])
        reader = SparkSource(probe, elsewhere, lambda: spark)

        def read() -> None:
            with reader.snapshot(planned(probe, spec)) as snapshot:
                snapshot.frame.count()

        with pytest.raises(SourceUnreachable, match=r"orders: the connection to .* was lost while .*next sync goes on"):
            read()


BY = pytest.mark.parametrize("by", ["task", "Spark"])


def rows_read(snapshot: SparkSnapshot, by: str) -> list[tuple[object, ...]]:
    """All columns of all rows, by whoever reads them."""
    if by == "Spark":
        return [tuple(row) for row in snapshot.frame.collect()]
    read = [rows.to_pylist() for part in snapshot.parts or () for rows in part.batches()]
    return [tuple(row.values()) for rows in read for row in rows]


@pytest.mark.acceptance
@BY
def test_a_source_that_takes_too_long_to_find_its_rows_is_told_with_the_cure(
    source: Source, spark: SparkSession, by: str
) -> None:
    source.execute(
        "CREATE VIEW slow AS SELECT n AS id FROM generate_series(1, 3) AS n WHERE pg_sleep(1) IS NOT NULL",
        f"GRANT SELECT ON slow TO {READER}",
    )
    probe = source.open(READER)
    reader = SparkSource(probe, source.address(READER, socket_timeout=timedelta(seconds=1)), lambda: spark)
    plan = planned(probe, source.spec("slow", strategy=Strategy.FULL_REFRESH))

    def read() -> None:
        with reader.snapshot(plan) as snapshot:
            rows_read(snapshot, by)

    with pytest.raises(
        SourceUnreachable, match=r"slow: .* sent nothing for 1s while .* raise `options: \{socket_timeout"
    ):
        read()


@BY
def test_the_server_sees_who_reads_and_that_it_only_reads(source: Source, spark: SparkSession, by: str) -> None:
    source.execute(
        "CREATE VIEW seen AS SELECT current_setting('application_name') AS name, current_setting('transaction_read_only') AS reads"
    )
    plan = planned(source.open(), source.spec("seen", strategy=Strategy.FULL_REFRESH))
    with SparkSource(source.open(), source.address(), lambda: spark).snapshot(plan) as snapshot:
        assert [row[:2] for row in rows_read(snapshot, by)] == [("incremental-assets", "on")]


@BY
@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        ("REVOKE SELECT ON orders FROM plain_reader", SourceRefused, "may not read .*GRANT SELECT ON"),
        (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plain_reader' AND datname = current_database()",
            SourceUnreachable,
            "the session that holds the snapshot ended before all readers had seen it",
        ),
    ],
)
def test_a_fault_of_the_source_in_the_middle_of_a_read_is_one_sentence(
    source: Source, spark: SparkSession, fault: str, kind: type[Exception], told: str, by: str
) -> None:
    source.execute(
        "CREATE TABLE orders AS SELECT n AS id FROM generate_series(1, 10) AS n", f"GRANT SELECT ON orders TO {READER}"
    )
    probe = source.open(READER)
    reader = SparkSource(probe, source.address(READER), lambda: spark)
    plan = planned(probe, source.spec("orders", strategy=Strategy.FULL_REFRESH))

    def read() -> None:
        with reader.snapshot(plan) as snapshot:
            source.execute(fault)
            rows_read(snapshot, by)

    with pytest.raises(kind, match=rf"shop\.public\.orders: .*{told}") as caught:
        read()
    assert "\n" not in str(caught.value)


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


def test_every_type_and_name_arrives_as_it_is_and_hashes_the_same_on_both_sides(copy: Copy, source: Source) -> None:
    source.execute(
        'CREATE TABLE "we""ird; drop table x--.Tbl" ("a b" bigint PRIMARY KEY, "select" text, "ünïcode" varchar(9), "x.y" char(5), "q`t" numeric(20,6), '
        "loose numeric, n int, b boolean, r real, d double precision, day date, at timestamptz, clock timestamp, span interval, raw bytea, doc jsonb, many int[])",
        'INSERT INTO "we""ird; drop table x--.Tbl" VALUES '
        "(1, 'a', 'ü', 'x', 12345678901234.567890, 1.5, 10, true, 1.5, 'NaN', '2024-02-29', '2024-02-29 12:00:00.123456+05', '0001-01-01', '1 day', '\\x00ff', '{\"k\": 1}', '{1,2}'),"
        "(2, '', NULL, NULL, -0.000001, 'NaN', 20, false, '-0', '-Infinity', '1582-10-10', '1883-11-18 12:00:00Z', '9999-12-31 23:59:59.999999', NULL, '', NULL, NULL),"
        "(3, NULL, '日本', 'y', NULL, NULL, NULL, NULL, NULL, 5e-324, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
        "(4, 'lost', NULL, NULL, 'NaN', NULL, 40, NULL, NULL, NULL, 'infinity', NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    spec = source.spec(AWKWARD, NUMBER, strategy=Strategy.UPSERT, key=("a b",), key_enforced=True)
    commit = copy.sync(spec)
    assert (commit.rows.read, commit.rows.inserted, commit.rows.quarantined) == (4, 3, 1)
    windows = (
        Window(None, None),
        Window(number(10), number(20)),
        Window(number(20), None),
        Window(number(5), number(9)),
    )
    assert copy.lake.measure(spec, windows)() == copy.probe.measure(spec, windows)
    assert [measure.rows for measure in copy.lake.measure(spec, windows)()] == [3, 1, 1, 0]
    apart = (Window(None, number(15)), Window(number(15), number(20)), Window(number(20), None))
    assert copy.lake.measure(spec, apart)() == copy.probe.measure(spec, apart)
    assert [measure.rows for measure in copy.lake.measure(spec, apart)()] == [1, 0, 1], (
        "the row without a cursor is in none of them"
    )
    assert copy.sync(spec).rows.unchanged == 3


def parts(frame: DataFrame) -> int:
    """As many connections as have read it."""
    from pyspark.sql import functions as sf

    return frame.select(sf.spark_partition_id()).distinct().count()


def test_all_parts_of_a_read_share_one_snapshot(copy: Copy, source: Source) -> None:
    source.execute(
        "CREATE TABLE events (id bigint PRIMARY KEY, n int, filler text)",
        "INSERT INTO events SELECT g, g, repeat('x', 400) FROM generate_series(1, 12000) AS g",
        "VACUUM ANALYZE events",
    )
    spec = source.spec("events", NUMBER, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)
    spec = replace(spec, shape=replace(spec.shape, bytes=3 * PART_BYTES))
    plan = copy.plan(spec)
    gentle = replace(plan, request=replace(plan.request, connections=2))
    with copy.reader.snapshot(gentle) as snapshot:
        assert parts(snapshot.frame) == 2
    greedy = replace(plan, request=replace(plan.request, connections=9))
    with copy.reader.snapshot(greedy) as snapshot:
        # Asked again it is the same one: its sessions are held until the snapshot ends.
        assert [parts(snapshot.frame), parts(snapshot.frame)] == [3, 3]

    with copy.reader.snapshot(plan) as snapshot:
        # After the snapshot and before the read: none of it may be seen.
        source.execute(
            "UPDATE events SET n = n + 1", "DELETE FROM events WHERE id < 100", "INSERT INTO events VALUES (0, 0, '')"
        )
        batch = copy.stage.write(plan, snapshot if copy.by == "task" else replace(snapshot, parts=None))
    assert batch.rows == 12000
    assert batch.lower == number(1)


@pytest.mark.acceptance
def test_rows_that_differ_are_named_row_by_row(copy: Copy, source: Source) -> None:
    source.execute(
        "CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t SELECT g, g FROM generate_series(1, 20) AS g"
    )
    spec = source.spec("t", NUMBER, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)
    copy.sync(spec)
    source.execute("INSERT INTO t VALUES (21, 21)", "UPDATE t SET n = 6 WHERE id = 5", "DELETE FROM t WHERE id = 9")
    assert copy.lake.compare(spec, [Window(None, None)]) == Comparison(2, 2, ("21", "5"), ("5", "9"))
    assert copy.lake.compare(spec, [Window(number(8), number(10))]) == Comparison(0, 1, (), ("9",))
    some = KeyParts(1, 21, 0, frozenset({1, 5}))
    assert copy.lake.compare(spec, [Window(None, None)], some) == Comparison(1, 1, ("5",), ("5",))
    assert copy.lake.duplicates(spec) == Duplicates(0, 0)
    source.execute("DROP TABLE t")
    with pytest.raises(
        SourceRefused, match=r"^shop\.public\.t: the source refused the read: .*\"public\.t\" does not exist[^\n]*$"
    ):
        copy.lake.compare(spec, [Window(None, None)])


@pytest.mark.acceptance
def test_each_row_counts_in_the_one_window_that_it_lies_in_and_in_no_gap_between_them(
    copy: Copy, source: Source
) -> None:
    source.execute(
        "CREATE TABLE t (id int PRIMARY KEY, n int)",
        "INSERT INTO t SELECT g, g FROM generate_series(1, 20) AS g",
        "INSERT INTO t VALUES (21, NULL)",
    )
    spec = source.spec("t", NUMBER, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)
    copy.sync(spec)
    ends = [(1, 3), (3, 4), (6, 6), (6, 9), (12, 13), (19, 21), (21, 30)]
    windows = [Window(number(lower), number(upper)) for lower, upper in ends]
    assert copy.lake.measure(spec, windows)() == copy.probe.measure(spec, windows)
    assert [measure.rows for measure in copy.lake.measure(spec, windows)()] == [2, 1, 0, 3, 1, 2, 0]
    nowhere = [Window(number(3), number(3)), Window(number(4), number(4))]
    assert [measure.rows for measure in copy.lake.measure(spec, nowhere)()] == [0, 0]
    assert copy.lake.count(spec, windows) == (2, 1, 0, 3, 1, 2, 0)


@pytest.mark.acceptance
def test_an_append_is_measured_by_the_last_version_of_each_row_and_compared_by_all(copy: Copy, source: Source) -> None:
    source.execute("CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 10), (2, 20)")
    spec = source.spec("t", NUMBER, strategy=Strategy.APPEND, key=("id",), key_enforced=True)
    copy.sync(spec)
    source.execute("UPDATE t SET n = 30 WHERE id = 1")
    copy.sync(spec)
    windows = (Window(None, None), Window(number(0), number(15)), Window(number(15), None))
    assert copy.lake.measure(spec, windows)() == copy.probe.measure(spec, windows)
    assert copy.lake.measure(spec, windows[1:])() == copy.probe.measure(spec, windows[1:])
    assert copy.lake.compare(spec, [Window(None, None)]) == Comparison(0, 1, (), ("1",))
    assert copy.lake.duplicates(spec) == Duplicates(1, 1, ("1",))


def test_a_measure_is_of_the_version_that_was_there_when_it_was_asked_for(copy: Copy, source: Source) -> None:
    source.execute("CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 10), (2, 20)")
    spec = source.spec("t", NUMBER, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)
    copy.sync(spec)
    windows = (Window(None, number(15)), Window(number(15), number(25)), Window(number(25), None))
    was, counted = copy.probe.measure(spec, windows), copy.lake.measure(spec, windows)
    source.execute("UPDATE t SET n = 30 WHERE id = 1", "INSERT INTO t VALUES (3, 30)")
    copy.sync(spec)
    assert counted() == was
    assert copy.lake.measure(spec, windows)() == copy.probe.measure(spec, windows)


@pytest.mark.parametrize(
    ("rows", "parts"),
    [(6_000_000, 4), (2_000_000, 4), (1_300_000, 4), (1_000_000, 1), (10, 1)],
    ids=["first load", "a third", "a bit more than a fifth", "a sixth: by the index", "a tick"],
)
def test_a_table_is_read_in_parts_when_much_of_it_is_asked_for(rows: int, parts: int) -> None:
    shape = TableShape(TableId("s", "p", "t"), (), rows=6_000_000, bytes=1_000_000_000, splits=True)
    assert parts_for(shape, rows, 4) == parts
    assert parts_for(replace(shape, splits=False), rows, 4) == 1


def test_a_table_that_was_never_counted_is_read_by_what_its_rows_may_weigh() -> None:
    shape = TableShape(TableId("s", "p", "t"), (), rows=0, bytes=100_000_000, splits=True)
    assert (parts_for(shape, 10, 4), parts_for(shape, 500_000, 4)) == (1, 4)


def test_parallel_readers_have_their_settings_in_the_shared_snapshot_without_plpgsql(
    source: Source, spark: SparkSession
) -> None:
    source.execute("DROP EXTENSION plpgsql", "CREATE TABLE orders (id int PRIMARY KEY, n int)")
    sql = "SELECT current_setting('client_connection_check_interval') AS looks, (SELECT count(*) FROM public.orders) AS rows"
    with source.open().snapshot(planned(source.open(), source.spec("orders", NUMBER))) as snapshot:
        source.execute("INSERT INTO orders VALUES (1, 1)")
        (row,) = loaded(spark, source, sql, snapshot_id=snapshot.handle.snapshot_id).collect()
        assert tuple(row) == ("5s", 0)


def test_a_first_load_goes_straight_into_files_of_the_target_in_parts_of_one_snapshot(
    copy: Copy, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, n int, price numeric(12,2), at timestamptz, note text)",
        "INSERT INTO orders SELECT g, g, g * 1.25, '2026-01-01+00'::timestamptz + g * interval '1 second', repeat('x', 400) FROM generate_series(1, 30000) g",
        "ANALYZE orders",
    )
    # Three parts of a table of some twelve megabytes.
    monkeypatch.setattr("incremental_assets.adapters.databases.jdbc.PART_BYTES", 4 * 2**20)
    spec = source.spec("orders", NUMBER, key=("id",), strategy=Strategy.UPSERT, key_enforced=True)
    plan = copy.plan(spec)
    plan = replace(plan, commit_ids=replace(plan.commit_ids, seq=2, load_seq=1))
    with copy.reader.snapshot(plan) as snapshot:
        source.execute("INSERT INTO orders VALUES (0, 0)")
        shown = snapshot if copy.by == "task" else replace(snapshot, parts=None)
        batch = copy.lake.load(plan, shown)
        state = landed_state(plan, as_read(snapshot.rows, snapshot.highest, snapshot.fingerprint))
    assert (batch.rows, batch.in_target) == (30_000, True)
    assert copy.lake.apply(plan, batch, state).rows.inserted == 30_000
    whole = (Window(None, None),)
    source.execute("DELETE FROM orders WHERE id = 0")
    assert copy.lake.measure(spec, whole)() == copy.probe.measure(spec, whole)
    files = list(Path(copy.lake._lake, "shop", "public", "orders").glob("*.parquet"))
    assert len(files) == 3


SOUND = Contract(rules=(ColumnRules("n", ge=0), ColumnRules("note", isin=("new",))))


@pytest.mark.parametrize(
    ("strategy", "contract"),
    [(Strategy.UPSERT, None), (Strategy.APPEND, None), (Strategy.FULL_REFRESH, None), (Strategy.UPSERT, SOUND)],
)
def test_a_tick_of_a_table_that_has_landed_is_two_jobs(
    source: Source, spark: SparkSession, tmp_path: Path, strategy: Strategy, contract: Contract | None
) -> None:
    copy = Copy(source, spark, tmp_path / "lake")
    source.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, n int, note text)",
        "INSERT INTO orders SELECT g, g FROM generate_series(1, 100) g",
    )
    cursor = None if strategy is Strategy.FULL_REFRESH else NUMBER
    spec = source.spec("orders", cursor, key=("id",), strategy=strategy, key_enforced=True)
    spec = replace(spec, contract=contract)
    copy.sync(spec)
    source.execute("UPDATE orders SET note = 'new', n = n + 100 WHERE id <= 10")
    before = jobs(spark)
    copy.sync(spec)
    assert jobs(spark) - before == 2


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("kind", "mark", "value"),
    [("boolean", "true", "true"), ("timestamptz", "now()", None), ("char(6)", "'gone'", "gone  ")],
)
def test_rows_that_the_source_marks_leave_the_copy(
    copy: Copy, source: Source, kind: str, mark: str, value: str | None
) -> None:
    source.execute(
        f"CREATE TABLE orders (id int PRIMARY KEY, n int, gone {kind})",
        "INSERT INTO orders SELECT g, g FROM generate_series(1, 100) g",
        f"UPDATE orders SET gone = {mark} WHERE id = 100",
    )
    marked = Deletes(DeleteMode.SOFT, Then.REMOVE, column="gone", value=value)
    spec = source.spec("orders", NUMBER, strategy=Strategy.UPSERT, key=("id",), key_enforced=True, deletes=marked)
    first = copy.sync(spec).rows
    assert (first.read, first.inserted, first.deleted) == (100, 99, 0)

    source.execute(
        f"UPDATE orders SET gone = {mark} WHERE id IN (5, 6)",
        "UPDATE orders SET n = 1000 WHERE id = 7",
        f"INSERT INTO orders VALUES (101, 101, {mark})",
        "UPDATE orders SET gone = NULL WHERE id = 100",
    )
    rows = copy.sync(spec).rows
    assert (rows.read, rows.inserted, rows.updated, rows.deleted, rows.quarantined) == (101, 1, 1, 2, 0)
    whole = (Window(None, None),)
    assert copy.lake.measure(spec, whole)() == copy.probe.measure(spec, whole)
    assert copy.lake.compare(spec, whole) == Comparison(0, 0, (), ())

    source.execute("UPDATE orders SET gone = NULL WHERE id = 5")
    rows = copy.sync(spec).rows
    assert (rows.inserted, rows.deleted) == (1, 0)
    assert copy.lake.measure(spec, whole)() == copy.probe.measure(spec, whole)


def test_rows_that_leave_by_a_mark_are_two_jobs(source: Source, spark: SparkSession, tmp_path: Path) -> None:
    copy = Copy(source, spark, tmp_path / "lake")
    source.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, n int, gone timestamptz)",
        "INSERT INTO orders SELECT g, g FROM generate_series(1, 100) g",
    )
    marked = Deletes(DeleteMode.SOFT, Then.REMOVE, column="gone")
    spec = source.spec("orders", NUMBER, strategy=Strategy.UPSERT, key=("id",), key_enforced=True, deletes=marked)
    copy.sync(spec)
    source.execute("UPDATE orders SET gone = now() WHERE id = 5")
    before = jobs(spark)
    assert copy.sync(spec).rows.deleted == 1
    assert jobs(spark) - before == 2


def test_only_what_is_stamped_past_the_clock_of_the_snapshot_is_warned_of(copy: Copy) -> None:
    """Beside a busy writer every snapshot shows rows that were stamped after the clock was asked for."""
    copy.source.execute("CREATE TABLE busy (id int PRIMARY KEY, at timestamptz)")
    spec = copy.source.spec("busy", Cursor("at", CursorType.TIMESTAMP))
    ports = cast("Any", SimpleNamespace(source=copy.reader, stage=copy.stage, by_key=None))
    plan = copy.plan(spec)
    copy.source.execute("INSERT INTO busy VALUES (1, clock_timestamp())")
    batch, state = read(plan, None, ports)
    assert (batch.rows, batch.warnings) == (1, ())
    assert state.position.watermark == plan.reading.new_watermark
    plan = copy.plan(spec)
    copy.source.execute("INSERT INTO busy VALUES (2, clock_timestamp()), (3, clock_timestamp() + interval '1 hour')")
    batch, _ = read(plan, None, ports)
    assert batch.rows == 3
    assert [each.partition(" (")[0] for each in batch.warnings] == ["1 row is stamped past the source's clock"]
