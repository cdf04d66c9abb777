"""Three tables, one per strategy, that a fault is to find at work; and what must be true of them after it."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.meddling import assert_told
from tests.conformance.points import Hook, Point, at_points
from tests.conformance.stand import Stand
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = itertools.count(1)

QUICKLY = "options: {connect_timeout: 10s, socket_timeout: 10s, statement_timeout: 20s}"

TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.visits:at:timestamp!append"
- {table: public.prices, strategy: full_refresh, refresh_every: 0s}
"""
NAMES = ("orders", "visits", "prices")

MAKE = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
    *touching("orders"),
    "CREATE TABLE visits (who text, what text, at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE prices (sku text PRIMARY KEY, price numeric(8,2), info text)",
    # Wide enough that a connection can be cut in the middle of them.
    "INSERT INTO orders SELECT n, repeat(md5(n::text), 10), '2024-01-01Z'::timestamptz + n * interval '5 min' FROM generate_series(1, 4000) n",
    "INSERT INTO visits SELECT 'guest ' || n % 7, repeat(md5(n::text), 10), '2024-01-01Z'::timestamptz + n % 500 * interval '1 hour' FROM generate_series(1, 4000) n",
    "INSERT INTO prices SELECT 'sku' || n, n, repeat(md5(n::text), 10) FROM generate_series(1, 4000) n",
)

CHANGE = (
    "UPDATE orders SET note = 'changed ' || clock_timestamp(), updated_at = now() WHERE id % 10 = 0 AND id <= 4000",
    "INSERT INTO orders SELECT top + n, 'new', now() FROM (SELECT max(id) AS top FROM orders) t, generate_series(1, 50) n",
    "INSERT INTO visits SELECT 'new guest', repeat(md5(n::text), 10), now() FROM generate_series(1, 100) n",
    "UPDATE prices SET price = price + 1",
)

MODES = {
    "first load": Mode.SYNC,
    "incremental": Mode.SYNC,
    "backfill": Mode.BACKFILL,
    "full refresh": Mode.FULL_REFRESH,
}
"""What a run is doing when the fault comes."""
MAINTENANCE = "maintenance"
"""What it does when its syncs have landed."""
REPAIR = "repair"
"""What mends the drift that a check has found."""
FILL = "fill"
"""What reads the values of new columns for rows that have landed."""
ROLLBACK = "rollback"
"""What takes a copy back to the run that the file `to_run` names."""


@dataclass
class Marts:
    """Opens a mart for a run that is to be struck, and opens as few as possible: one that a fault left healed is at work again."""

    postgres: EmbeddedPostgres
    spark: SparkSession
    new_folder: Callable[[], Path]
    at_work: dict[str, Stand] = field(default_factory=dict)

    @contextmanager
    def running(self, kind: str) -> Iterator[Stand]:
        """One whose next run is of this kind, and finds rows to land. Kept only if all went well with it."""
        stand = self.at_work.pop(kind, None) or self.open()
        if kind != "first load":
            if not stand.told.reports:
                stand.land()
            stand.execute(*CHANGE)
        yield stand
        if kind != "first load":
            self.at_work[kind] = stand

    def open(self) -> Stand:
        """A new one: nothing has landed."""
        folder = self.new_folder()
        database = f"mart_{next(_NUMBERS)}"
        self.postgres.create_database(database)
        shop = Shop.open(self.postgres, database, folder, TABLES, options="unlisted: ignore\n" + QUICKLY)
        shop.execute(*MAKE)
        return Stand(shop, self.spark)


DECISIVE = (Point.READING, Point.RECORDED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT)
"""Where what is left differs: nothing, a batch, a batch on its way, a commit that nobody has recorded."""


def stamp(text: str) -> CursorValue:
    """A moment as a `timestamp` cursor has it."""
    return CursorValue.parse(CursorType.TIMESTAMP, text)


JANUARY = Window(stamp("2024-01-01T00:00:00Z"), stamp("2024-02-01T00:00:00Z"))


def window(running: str) -> Window | None:
    """What a backfill reads: January, in which most rows of `orders` and `visits` lie."""
    return JANUARY if running == "backfill" else None


def working(running: str) -> tuple[str, ...]:
    """The tables that such a run can be about: a table that is read whole has no windows."""
    return NAMES[:2] if running == "backfill" else NAMES


def takes_part(spec: TableSpec, running: str) -> bool:
    """The same, of a table as it is to be synced."""
    return spec.id.name in working(running)


def struck(desk: Stand, running: str, hook: Hook, *, expected_full_reads: bool = True) -> dict[str, SyncReport]:
    """One run with a fault in it. Whatever ended otherwise than landed said so in one sentence."""
    reports = desk.sync(
        *working(running), mode=MODES[running], window=window(running), through=lambda ports: at_points(ports, hook)
    )
    for report in reports.values():
        if report.status not in (Status.LANDED, Status.IDLE):
            assert_told(report, expected_full_reads=expected_full_reads)
    return reports


def expire(desk: Stand, table: str) -> None:
    """As if the owner of its lease had slept for longer than that lasts; its heartbeats, which go on in this process, are those of a sleeper."""
    with sqlite3.connect(desk.shop.folder / "checkpoints.db", timeout=30) as connection:
        (token,) = connection.execute("SELECT token FROM heartbeats WHERE table_name = ?", (table,)).fetchone()
        connection.execute(
            "UPDATE heartbeats SET expires_at = '2000-01-01 00:00:00.000' WHERE table_name = ?", (table,)
        )
        connection.execute(
            f"CREATE TRIGGER asleep_{token} BEFORE UPDATE OF expires_at ON heartbeats "
            f"WHEN OLD.token = '{token}' AND NEW.token = '{token}' BEGIN SELECT RAISE(IGNORE); END"
        )


def assert_healed(stand: Stand) -> None:
    """One sync without a hand on it, and all is as if nothing had happened. The next run of the same mart then shows that life goes on."""
    stand.land()
    for name in NAMES:
        stand.assert_equal(name)
    stand.assert_tidy(*NAMES)


def moments(of: Mapping[str, tuple[Point, ...]], otherwise: tuple[Point, ...]) -> list[tuple[str, Point, str]]:
    """The points at which each kind of run is struck; the table goes round, so that every strategy has its turn."""
    return [
        (running, point, working(running)[(number + turn) % len(working(running))])
        for turn, running in enumerate(MODES)
        for number, point in enumerate(of.get(running, otherwise))
    ]
