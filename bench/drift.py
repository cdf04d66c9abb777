"""What it costs to mend ten rows of a large table, and to find a hundred that were deleted: `make bench ARGS="--only drift"`.

A table by number, spread over a year, is synced. Ten rows change under their old stamp, in one month or all over the year; a check finds
them and a repair mends them. Then a hundred rows are deleted, and a sync that follows deletes finds them. Counted are seconds on the clock and
of a processor, of our processes and the source's, and the lines that the source sends to be compared.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from bench.measuring import Cost, Failed, Watch
from bench.playing import commit, say
from bench.source import SETTINGS
from bench.wire import Wire
from incremental_assets import load
from incremental_assets.core.checks.reconcile import Drift, reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.table import TableId
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.demo.postgres import EmbeddedPostgres
from resources.runtime import Runtime

NAME = "drift"
GONE = 100
_TABLE = TableId("shop", "public", "orders")
_MADE = """
CREATE TABLE orders (id bigint PRIMARY KEY, quantity int, price numeric(12,2), note text, day date, updated_at timestamptz NOT NULL);
INSERT INTO orders SELECT n, n % 100, n * 1.25, 'note number ' || n, date '2020-01-01' + (n % 1000)::int,
    date_trunc('day', now()) - interval '400 days' + n * (interval '365 days' / {rows}) FROM generate_series(1, {rows}) AS n;
CREATE INDEX ON orders (updated_at)
"""
_DRIFT = "UPDATE orders SET note = note || ', drifted' WHERE id % {step} = 1 AND id <= {last}"
_DELETE = "DELETE FROM orders WHERE id % {step} = 2 AND id <= {last}"
_SCANS = """
SELECT sum(i.idx_scan) FILTER (WHERE i.indexrelname = 'orders_pkey')::bigint, max(t.seq_scan)
FROM pg_stat_user_tables AS t JOIN pg_stat_user_indexes AS i USING (relid) WHERE t.relname = 'orders'
"""
_CONFIG = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: postgresql
    host: 127.0.0.1
    port: {port}
    database: shop
    user: {user}
    password: {{file: password}}
    unlisted: ignore
    tables:
      - {{table: public.orders, cursor: {{column: updated_at, type: timestamp}}, strategy: upsert, partitions: {{every: month, from: 2020-01-01}}{more}}}
"""
_FOLLOWS = ", deletes: {mode: diff, every: 0s}"


def play(rows: int) -> Mapping[str, Any]:
    """All of it, on a server and in folders of its own. Raises Failed where the copy does not become what the source is."""
    folder, load_before = Path(tempfile.mkdtemp(prefix="drift-")), os.getloadavg()[0]
    server = EmbeddedPostgres(folder / "server", settings=SETTINGS)
    server.start()
    at = datetime.now(UTC)
    try:
        with psycopg.connect(_made(server, rows), autocommit=True) as source:
            stand = _Stand(server, folder, source, rows)
            steps = [*stand.drifts(), stand.deletes()]
    finally:
        server.stop()
        shutil.rmtree(folder)
    return {
        "rows": rows,
        "commit": commit(),
        "at": f"{at:%Y-%m-%d %H:%M} UTC",
        "load": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "steps": steps,
    }


def _made(server: EmbeddedPostgres, rows: int) -> str:
    """The address of a database with the table."""
    say(f"{NAME}: a table of {rows:,} rows")
    server.create_database("shop")
    with psycopg.connect(server.dsn("shop"), autocommit=True) as source:
        for statement in (*_MADE.format(rows=rows).split(";"), "VACUUM ANALYZE orders"):
            source.execute(statement.encode())
    return server.dsn("shop")


@dataclass(frozen=True)
class _Stand:
    server: EmbeddedPostgres
    folder: Path
    source: psycopg.Connection
    rows: int

    def drifts(self) -> Iterator[dict[str, Any]]:
        """Ten rows in the first month, then ten over the whole year: a check, and a repair."""
        with self._runtime("") as runtime:
            (spec,) = runtime.specs("shop").specs
            ports, grid = runtime.ports("shop"), terms_of(runtime.configuration.source("shop"), _TABLE).partitions
            sync_table(spec, Request("first"), ports)
            for where, last in (("one month", self.rows // 13), ("the year", self.rows)):
                self.source.execute(_DRIFT.format(step=last // 10, last=last - 10).encode())
                with self._watched() as watch:
                    drift: Drift = reconcile(spec, grid, ports)
                    remember(spec, drift, runtime.checkpoints)
                yield _step(f"`check`: ten rows of {where} have drifted", watch.cost())
                wire = Wire()
                with self._watched() as watch:
                    done = repair_table(spec, grid, str(uuid.uuid4()), wire.on(ports))
                if done.left is None or done.left.rows or done.report.rows.updated != drift.rows:
                    raise Failed(f"{drift.rows} rows had drifted, and {done.report.rows} were mended")
                yield _step("`repair` of them", watch.cost(), wire, done.report)

    def deletes(self) -> dict[str, Any]:
        """A sync that finds a hundred rows gone, after one that found none. What was scanned is told once its sessions have ended."""
        with self._runtime(_FOLLOWS) as runtime:
            (spec,) = runtime.specs("shop").specs
            sync_table(spec, Request("none is gone"), runtime.ports("shop"))
        before = self._scans()
        with self._runtime(_FOLLOWS) as runtime:
            (spec,) = runtime.specs("shop").specs
            self.source.execute(_DELETE.format(step=self.rows // GONE, last=self.rows).encode())
            wire = Wire()
            with self._watched() as watch:
                report = sync_table(spec, Request("some are gone"), wire.on(runtime.ports("shop")))
        if report.rows.deleted != GONE:
            raise Failed(f"{GONE} rows were deleted, and {report.rows.deleted} found")
        by_index, whole = (after - then for after, then in zip(self._scans(), before, strict=True))
        step = _step(f"`sync`: {GONE} rows are gone, nothing else moved", watch.cost(), wire, report)
        return {**step, "key_index_scans": by_index, "table_scans": whole}

    @contextmanager
    def _runtime(self, more: str) -> Iterator[Runtime]:
        (self.folder / "password").write_text(self.server.password_of(self.server.user) or "")
        text = _CONFIG.format(port=self.server.port, user=self.server.user, more=more)
        (self.folder / "sources.yaml").write_text(text)
        runtime = Runtime(load(self.folder / "sources.yaml"))
        try:
            yield runtime
        finally:
            runtime.close()

    def _watched(self) -> Watch:
        pid = int((Path(self._setting("data_directory")) / "postmaster.pid").read_text().partition("\n")[0])
        return Watch(resident=(os.getpid(), pid))

    def _setting(self, name: str) -> str:
        row = self.source.execute("SELECT current_setting(%s)", [name]).fetchone()
        return str(row[0]) if row else ""

    def _scans(self) -> tuple[int, int]:
        """Of the key's index, and of the whole table."""
        self.source.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
        row = self.source.execute(_SCANS).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)


def _step(told: str, cost: Cost, wire: Wire | None = None, report: SyncReport | None = None) -> dict[str, Any]:
    say(f"  {told}: {cost.wall:.1f} s")
    return {
        "told": told,
        "seconds": round(cost.wall, 1),
        "cpu": round(cost.cpu, 1),
        "lines": wire.lines if wire else None,
        "read": report.rows.read if report else None,
    }
