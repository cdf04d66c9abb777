"""The tables of the scenarios of a lake in a store, and a day of changes in them."""

from __future__ import annotations

from tests.adapters.lake_store.shop_in_store import StoreStand

TABLES = """
- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, deletes: {mode: diff, every: 0s, max_fraction: 0.9}, history: scd2}
- "public.events:id:integer"
- {table: public.prices, strategy: full_refresh, refresh_every: 1s}
"""

CHANGES = (
    "UPDATE orders SET note = 'second' WHERE id % 7 = 0",
    "DELETE FROM orders WHERE id % 50 = 0",
    "INSERT INTO orders (id, note) VALUES (1001, 'new')",
    "INSERT INTO events (what) SELECT 'then ' || n FROM generate_series(1, 40) n",
    "UPDATE prices SET price = price + 1",
)
VERSIONS = 500 + 71 + 1 + 10 - 1
"""Of the orders, after the changes: of each row that was changed, that came and that is gone one more; one that was changed and is gone has that one."""


def assert_landed(stored: StoreStand) -> None:
    """Each table is what the source has, and the history has each version once; nothing is left of a batch."""
    stored.settled("events")
    stored.land()
    for name in ("orders", "events", "prices"):
        stored.assert_equal(name)
        assert stored.staged(name) == [], f"{name}: batches are left"
    assert len(stored.history("orders")) == VERSIONS
    stored.assert_tidy("orders", "events", "prices")
