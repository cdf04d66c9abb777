"""A first load that goes range by range of the key: whatever kills it, it goes on behind the last range that landed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from incremental_assets.core.captures.database import loading as ranges
from incremental_assets.core.captures.database.loading import loading_of
from incremental_assets.core.model.table_id import TableId
from tests.conformance.killing import killed
from tests.conformance.mart import QUICKLY, Marts
from tests.conformance.points import Point
from tests.conformance.process import RANGE_BYTES, RANGED
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop, touching

TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.visits:at:timestamp!append"
"""
MAKE = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
    *touching("orders"),
    "CREATE TABLE visits (guest int, id bigint, what text, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (guest, id))",
    "INSERT INTO orders SELECT n, repeat(md5(n::text), 10), '2024-01-01Z'::timestamptz + n * interval '5 min' FROM generate_series(1, 4000) n",
    "INSERT INTO visits SELECT n / 900, n, repeat(md5(n::text), 10), '2024-01-01Z'::timestamptz + n % 500 * interval '1 hour' FROM generate_series(1, 4000) n",
    "ANALYZE orders, visits",
)
MEANWHILE = (
    "UPDATE orders SET note = 'changed', updated_at = now() WHERE id % 500 = 0",
    "UPDATE orders SET id = 3999999 WHERE id = 3990",
    "INSERT INTO orders SELECT -n, 'new below', now() FROM generate_series(1, 20) n",
    "INSERT INTO visits SELECT -1, n, 'new below', now() FROM generate_series(1, 20) n",
    "INSERT INTO visits SELECT 9, n, 'new above', now() FROM generate_series(1, 20) n",
)
"""Rows change and come on both sides of where a load stands."""
POINTS = (Point.READING, Point.STAGED, Point.RECORDED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Point.LANDED)
CASES = [(point, ("orders", "visits")[number % 2]) for number, point in enumerate(POINTS)]
_NUMBERS = itertools.count(1)


@contextmanager
def opened(marts: Marts) -> Iterator[Stand]:
    """A new mart, with an open transaction that has written a row among the first keys of each table."""
    database = f"ranged_{next(_NUMBERS)}"
    marts.postgres.create_database(database)
    shop = Shop.open(marts.postgres, database, marts.new_folder(), TABLES, options="unlisted: ignore\n" + QUICKLY)
    shop.execute(*MAKE)
    yield Stand(shop, marts.spark)


@scenario(
    "T10",
    "kill -9 of the whole process in the third range of a first load that goes range by range of the key (one number, and two), at each of six points; "
    "a transaction that had stamped rows among the first keys before the load commits; rows change and come below and above where the load stood, and the key of a row changes that has not been read",
    holds="the next run goes on behind the last range that landed and reads no range again; every table equals the source, nothing twice",
    long=True,
)
@pytest.mark.parametrize(("point", "table"), CASES, ids=str)
def test_a_killed_load_goes_on_where_it_was(
    marts: Marts, point: Point, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "WORTH_IT", 1)
    monkeypatch.setattr(ranges, "RANGE_BYTES", RANGE_BYTES)
    with opened(marts) as desk, desk.shop.connect() as late:
        late.execute("INSERT INTO orders VALUES (0, 'late', now())")
        late.execute("INSERT INTO visits VALUES (0, 0, 'late', now())")
        killed(desk, point, table, RANGED)
        late.commit()
        with desk.runtime() as runtime:
            found = loading_of(runtime.checkpoints.position(TableId("shop", "public", table)).state)
        assert found is not None
        assert 0 < found.rows < 4000
        desk.execute(*MEANWHILE)

        report = desk.land(table)[table]

        # Those of the ranges that are left, and what came or changed since the first look.
        assert report.rows.read <= 4000 - found.rows + 2 * (8 + 1 + 40 + 1)
        desk.land()
        for name in ("orders", "visits"):
            desk.assert_equal(name)
        desk.assert_tidy("orders", "visits")
