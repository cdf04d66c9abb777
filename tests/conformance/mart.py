"""Three tables, one per strategy, that a fault is to find at work; and what must be true of them after it."""

from __future__ import annotations

from incremental_assets.core.cursor import CursorType, CursorValue
from incremental_assets.core.plan import Mode
from incremental_assets.core.table import TableSpec
from incremental_assets.core.window import Window
from tests.conformance.stand import Stand

TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.visits:at:timestamp!append"
- {table: public.prices, strategy: full_refresh, refresh_every: 1s}
"""
NAMES = ("orders", "visits", "prices")

MAKE = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE visits (who text, what text, at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE prices (sku text PRIMARY KEY, price numeric(8,2), info text)",
    # Wide enough that a connection can be cut in the middle of them.
    "INSERT INTO orders SELECT n, repeat(md5(n::text), 10), '2024-01-01Z'::timestamptz + n * interval '5 min' FROM generate_series(1, 4000) n",
    "INSERT INTO visits SELECT 'guest ' || n % 7, repeat(md5(n::text), 10), '2024-01-01Z'::timestamptz + n % 500 * interval '1 hour' FROM generate_series(1, 4000) n",
    "INSERT INTO prices SELECT 'sku' || n, n, repeat(md5(n::text), 10) FROM generate_series(1, 4000) n",
)

CHANGE = (
    "UPDATE orders SET note = 'changed ' || clock_timestamp(), updated_at = now() WHERE id % 10 = 0",
    "INSERT INTO orders SELECT top + n, 'new', now() FROM (SELECT max(id) AS top FROM orders) t, generate_series(1, 500) n",
    "INSERT INTO visits SELECT 'new guest', repeat(md5(n::text), 10), now() FROM generate_series(1, 1000) n",
    "UPDATE prices SET price = price + 1",
)

MODES = {
    "first load": Mode.SYNC,
    "incremental": Mode.SYNC,
    "backfill": Mode.BACKFILL,
    "full refresh": Mode.FULL_REFRESH,
}
"""What a run is doing when the fault comes."""


def prepare(stand: Stand, running: str) -> None:
    """The rows that the run is to find: a first load finds everything new, the others have synced before."""
    if running != "first load":
        stand.land()
        stand.execute(*CHANGE)


def window(running: str) -> Window | None:
    """What a backfill reads: January, in which most rows of `orders` and `visits` lie."""
    return january() if running == "backfill" else None


def january() -> Window:
    """Half-open, in UTC."""
    first, last = (
        CursorValue.parse(CursorType.TIMESTAMP, text) for text in ("2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z")
    )
    return Window(first, last)


def working(running: str) -> tuple[str, ...]:
    """The tables that such a run can be about: a table that is read whole has no windows."""
    return NAMES[:2] if running == "backfill" else NAMES


def takes_part(spec: TableSpec, running: str) -> bool:
    """The same, of a table as it is to be synced."""
    return spec.id.name in working(running)


def assert_healed(stand: Stand) -> None:
    """Life goes on, one sync without a hand on it, and all is as if nothing had happened."""
    stand.execute(*CHANGE)
    stand.land()
    for name in NAMES:
        stand.assert_equal(name)
    stand.assert_tidy(*NAMES)
