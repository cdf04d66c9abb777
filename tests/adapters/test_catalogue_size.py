"""What PostgreSQL's catalogue says of the sizes of tables, and what it costs a source with many."""

from __future__ import annotations

from incremental_assets.adapters.databases.postgresql.catalogue import read_catalogue
from tests.adapters.source import Source


def test_a_partitioned_table_is_as_large_as_its_leaves_and_any_other_as_itself(source: Source) -> None:
    source.execute(
        "CREATE TABLE events (id int, at date) PARTITION BY RANGE (at)",
        "CREATE TABLE events_2024 PARTITION OF events FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY RANGE (at)",
        "CREATE TABLE events_2024_1 PARTITION OF events_2024 FOR VALUES FROM ('2024-01-01') TO ('2024-07-01')",
        "CREATE TABLE events_2025 PARTITION OF events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
        "INSERT INTO events SELECT n, '2024-02-01' FROM generate_series(1, 3) AS n",
        "INSERT INTO events SELECT n, '2025-02-01' FROM generate_series(1, 4) AS n",
        "CREATE TABLE parent (id int)",
        "CREATE TABLE child () INHERITS (parent)",
        "INSERT INTO parent SELECT n FROM generate_series(1, 5) AS n",
        "INSERT INTO child SELECT n FROM generate_series(1, 9) AS n",
        "CREATE TABLE empty (at date) PARTITION BY RANGE (at)",
        "CREATE VIEW shown AS SELECT * FROM parent",
        "ANALYZE",
    )
    block = 8192
    assert {shape.id.name: (shape.rows, shape.bytes) for shape in source.open().catalogue()} == {
        "events": (3 + 4, 2 * block),
        "parent": (5, block),
        "child": (9, block),
        "empty": (0, 0),
        "shown": (0, 0),
    }


def test_the_catalogue_is_not_read_anew_for_each_of_its_tables(source: Source) -> None:
    source.execute(
        "DO $$ BEGIN FOR i IN 1..200 LOOP EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY)', i); END LOOP; END $$"
    )
    with source.asked() as asked:
        asked.begin("SELECT 1")
        assert len(read_catalogue(asked, "shop", ["public"])) == 200
        read = asked.execute("SELECT seq_tup_read FROM pg_stat_xact_sys_tables WHERE relname = 'pg_class'").fetchone()
        there = asked.execute("SELECT count(*) FROM pg_class").fetchone()
    assert read is not None
    assert there is not None
    assert read[0] < 10 * there[0], "each row of pg_class is seen a few times, and not two hundred times"
