"""A table of twenty orders in a real database, that has landed in a real lake; what becomes of its columns is told by the tests."""

from __future__ import annotations

from collections.abc import Callable

from tests.conformance.stand import Stand

Open = Callable[[str], Stand]
BY_TIME = "{table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert}"
ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, rate numeric(5,1), at timestamptz NOT NULL DEFAULT clock_timestamp())",
    "INSERT INTO orders SELECT n, 'old', 1, timestamptz '2024-01-01Z' + n * interval '1 day' FROM generate_series(1, 18) n",
    "INSERT INTO orders SELECT n, 'new', 1 FROM generate_series(19, 20) n",
)
