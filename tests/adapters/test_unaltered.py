"""A table that is altered after its sync was planned: the snapshot is refused, whatever PostgreSQL would show of it."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cures import rows_hidden
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.preview.pending import look_over
from tests.adapters.source import READER, UPDATED, Source, planned

ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, price numeric(8,2) NOT NULL, placed timestamp, note text, updated_at timestamptz NOT NULL)",
    "INSERT INTO orders VALUES (1, 1.25, '2024-01-01T12:00:00', 'a', '2024-01-01'), (2, 2.5, NULL, 'b', '2024-01-02')",
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("ALTER TABLE orders ALTER COLUMN price TYPE numeric(12,4)", "columns price"),
        ("ALTER TABLE orders ALTER COLUMN placed TYPE timestamptz", "columns placed"),
        ("ALTER TABLE orders ALTER COLUMN price DROP NOT NULL", "columns price"),
        ("ALTER TABLE orders ADD COLUMN colour text", "columns colour"),
        ("ALTER TABLE orders RENAME COLUMN note TO remark", "columns note, remark"),
        ("ALTER TABLE orders DROP CONSTRAINT orders_pkey", "its keys"),
        ("ALTER TABLE orders DROP CONSTRAINT orders_pkey CASCADE, DROP COLUMN note", "columns note, its keys"),
        ("ALTER TABLE orders ENABLE ROW LEVEL SECURITY", "its row-level security"),
    ],
)  # fmt: skip
def test_an_altered_table_is_refused_by_what_changed(source: Source, change: str, told: str) -> None:
    source.execute(*ORDERS, f"GRANT SELECT ON orders TO {READER}")
    probe = source.open(READER)
    plan = planned(probe, source.spec("orders", UPDATED))
    source.execute(change)
    with pytest.raises(SourceRefused, match=rf"altered.*\({told}.*run the sync again"), probe.snapshot(plan):
        pass


@pytest.mark.parametrize(
    "change",
    ["VACUUM FULL orders", "CREATE INDEX ON orders (updated_at)", "REINDEX TABLE orders", "COMMENT ON TABLE orders IS 'ours'"],
)  # fmt: skip
def test_what_alters_no_row_and_no_column_goes_on(source: Source, change: str) -> None:
    source.execute(*ORDERS)
    probe = source.open()
    plan = planned(probe, source.spec("orders", UPDATED))
    source.execute(change)
    with probe.snapshot(plan) as snapshot:
        assert snapshot.rows == 2


@pytest.mark.parametrize(
    ("relation", "change"),
    [
        ("orders", "ALTER TABLE orders SET UNLOGGED"),
        ("shown", "ALTER TABLE orders SET UNLOGGED"),
        ("parent", "ALTER TABLE part SET UNLOGGED"),
        (
            "orders",
            "ALTER TABLE orders RENAME TO old; CREATE TABLE orders (LIKE old INCLUDING ALL); INSERT INTO orders SELECT * FROM old",
        ),
    ],
)
def test_a_table_that_is_rewritten_while_the_snapshot_waits_for_it_is_refused(
    source: Source, relation: str, change: str
) -> None:
    """PostgreSQL shows it as empty to a snapshot taken before the change was committed."""
    source.execute(
        *ORDERS,
        "CREATE VIEW shown AS SELECT * FROM orders",
        "CREATE TABLE parent (LIKE orders) PARTITION BY LIST (id)",
        "CREATE TABLE part PARTITION OF parent FOR VALUES IN (1, 2)",
        "INSERT INTO parent SELECT * FROM orders",
    )
    probe = source.open()
    plan = planned(probe, source.spec(relation, UPDATED))
    altering = source.connect()
    altering.execute(change.encode())

    def commit_when_waited_for() -> None:
        looking = source.connect()
        looking.autocommit = True
        deadline = time.monotonic() + 30
        while looking.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is None:
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
        altering.commit()

    waiting = threading.Thread(target=commit_when_waited_for)
    waiting.start()
    try:
        with pytest.raises(SourceRefused, match=r"rewritten or recreated.*run the sync again"), probe.snapshot(plan):
            pass
    finally:
        waiting.join()
    with probe.snapshot(replace(plan, spec=source.spec(relation, UPDATED))) as snapshot:
        assert snapshot.rows == 2


@pytest.mark.parametrize(
    ("policies", "hides"),
    [
        ((), True),
        (("CREATE POLICY few ON orders USING (id > 1)",), True),
        (("CREATE POLICY everything ON orders USING (true)",), False),
        (("CREATE POLICY everything ON orders FOR SELECT TO plain_reader USING (true)",), False),
        (("CREATE POLICY everything ON orders FOR UPDATE USING (true)",), True),
        (("CREATE POLICY everything ON orders TO pg_monitor USING (true)",), True),
        # Without USING a permissive policy shows no row, and a restrictive one takes none away.
        (("CREATE POLICY nobody ON orders FOR SELECT",), True),
        (("CREATE POLICY writers ON orders FOR ALL WITH CHECK (true)",), True),
        (
            (
                "CREATE POLICY everything ON orders USING (true)",
                "CREATE POLICY careful ON orders AS RESTRICTIVE FOR ALL WITH CHECK (id > 1)",
            ),
            False,
        ),
        (
            (
                "CREATE POLICY everything ON orders USING (true)",
                "CREATE POLICY fewer ON orders AS RESTRICTIVE USING (id > 1)",
            ),
            True,
        ),
    ],
)
def test_row_level_security_hides_rows_unless_a_policy_shows_every_one(
    source: Source, policies: tuple[str, ...], *, hides: bool
) -> None:
    source.execute(*ORDERS, f"GRANT SELECT ON orders TO {READER}", "ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    source.execute(*policies)
    (shape,) = source.open(READER).catalogue()
    assert shape.filtered is hides
    assert not source.shape("orders").filtered
    assert source.spec("orders", strategy=Strategy.FULL_REFRESH).id.name == "orders"


def test_a_column_may_be_null_where_it_may_be_in_one_of_the_children(source: Source) -> None:
    source.execute(
        "CREATE TABLE orders (id int, at timestamptz NOT NULL DEFAULT now())",
        "CREATE TABLE archive () INHERITS (orders)",
        "CREATE TABLE others () INHERITS (orders)",
    )
    assert [column.nullable for column in source.shape("orders").columns] == [True, False]
    source.execute(
        "ALTER TABLE orders ALTER at DROP NOT NULL",
        "ALTER TABLE ONLY orders ADD CONSTRAINT ours NOT NULL at NO INHERIT",
    )
    source.execute("INSERT INTO archive VALUES (2, NULL)")
    assert [column.nullable for column in source.shape("orders").columns] == [True, True]


def test_rows_that_are_hidden_since_the_catalogue_was_read_stop_the_table_and_no_other(source: Source) -> None:
    """What nobody is shown looks as if nothing had moved: the look asks once more, after all else."""
    grants = [f"GRANT SELECT ON {name} TO {READER}" for name in ("orders", "others")]
    others = "CREATE TABLE others (id int PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())"
    source.execute(*ORDERS, others, *grants)
    probe = source.open(READER)
    specs = [source.spec("orders", UPDATED), source.spec("others", UPDATED)]
    assert [seen.hides for seen in probe.observe([ObserveRequest(spec, None) for spec in specs])] == [False, False]
    source.execute("ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    seen = probe.observe([ObserveRequest(spec, None) for spec in specs])
    assert [each.hides for each in seen] == [True, False]
    _, stopped, _ = look_over(specs, {}, seen)
    assert [each.sentence for each in stopped] == [rows_hidden(specs[0].id)]
    source.execute("CREATE POLICY everything ON orders USING (true)")
    assert [each.hides for each in probe.observe([ObserveRequest(spec, None) for spec in specs])] == [False, False]
