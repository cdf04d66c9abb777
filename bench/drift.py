"""What it costs to mend ten rows of a large table: `python -m bench.drift --rows 2000000`. Prints one line of JSON.

A table by number, spread over a year, is synced; ten rows change under their old stamp, in one month or all over the year; a check finds
them and a repair mends them. Counted are the seconds of each step and the lines that the source sends for the comparison.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg

from incremental_assets import load
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum
from incremental_assets.core.model.table import TableId, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.ports import PlacedRows
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.demo.postgres import EmbeddedPostgres
from resources.runtime import Runtime

_TABLE = TableId("shop", "public", "orders")
_MADE = """
CREATE TABLE orders (id bigint PRIMARY KEY, quantity int, price numeric(12,2), note text, day date, updated_at timestamptz NOT NULL);
INSERT INTO orders SELECT n, n % 100, n * 1.25, 'note number ' || n, date '2020-01-01' + (n % 1000)::int,
    date_trunc('day', now()) - interval '400 days' + n * (interval '365 days' / {rows}) FROM generate_series(1, {rows}) AS n;
CREATE INDEX ON orders (updated_at)
"""
_DRIFT = "UPDATE orders SET note = 'drifted' WHERE id % {step} = 1 AND id <= {last}"
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
      - {{table: public.orders, cursor: {{column: updated_at, type: timestamp}}, strategy: upsert, partitions: {{every: month, from: 2020-01-01}}}}
"""


def main() -> None:
    """Play both drifts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    rows = parser.parse_args().rows
    folder = Path(tempfile.mkdtemp(prefix="drift-"))
    server = EmbeddedPostgres(folder / "server", settings={"fsync": "off"})
    server.start()
    try:
        sys.stdout.write(json.dumps(_played(server, folder, rows)) + "\n")
    finally:
        server.stop()
        shutil.rmtree(folder)


def _played(server: EmbeddedPostgres, folder: Path, rows: int) -> dict[str, Any]:
    server.create_database("shop")
    with psycopg.connect(server.dsn("shop"), autocommit=True) as source:
        for statement in _MADE.format(rows=rows).split(";"):
            source.execute(statement.encode())
        source.execute("VACUUM ANALYZE orders")
        (folder / "password").write_text(server.password_of(server.user) or "")
        (folder / "sources.yaml").write_text(_CONFIG.format(port=server.port, user=server.user))
        runtime = Runtime(load(folder / "sources.yaml"))
        try:
            (spec,) = runtime.specs("shop").specs
            sync_table(spec, Request("first"), runtime.ports("shop"))
            found: dict[str, Any] = {"rows": rows}
            # Ten in the first month, then ten over the whole year.
            for name, last in (("one month", rows // 13), ("a year", rows)):
                source.execute(_DRIFT.format(step=last // 10, last=last - 10).encode())
                found[name] = _mended(runtime, spec)
        finally:
            runtime.close()
    return found


def _mended(runtime: Runtime, spec: TableSpec) -> dict[str, Any]:
    ports, grid = runtime.ports("shop"), terms_of(runtime.configuration.source("shop"), _TABLE).partitions
    begun = time.monotonic()
    drift = reconcile(spec, grid, ports)
    remember(spec, drift, runtime.checkpoints)
    checked, wire = time.monotonic(), Wire()
    done = repair_table(spec, grid, str(uuid.uuid4()), replace(ports, probe=_Probe(ports.probe, wire)))
    ended = time.monotonic()
    if done.left is None or done.left.rows or done.report.rows.updated != drift.rows:
        raise SystemExit(f"drift: {drift.rows} rows were found and {done.report.rows} mended")
    return {
        "drifted": drift.rows,
        "check_seconds": round(checked - begun, 1),
        "repair_seconds": round(ended - checked, 1),
        "of_which_sync_seconds": round(done.report.seconds, 1),
        "lines_from_source": wire.lines,
        "rows_read": done.report.rows.read,
    }


@dataclass
class Wire:
    """Lines that the source sends to be compared."""

    lines: int = field(default=0)


@dataclass(frozen=True)
class _Probe:
    inner: Any
    wire: Wire

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @contextmanager
    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> Iterator[PlacedRows | None]:
        with self.inner.placed_rows(spec, windows) as rows:
            yield rows and _Rows(rows, self.wire)


@dataclass(frozen=True)
class _Rows:
    inner: PlacedRows
    wire: Wire

    def spread(self) -> KeySpread:
        return self.inner.spread()

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        found = self.inner.sums(within, shift)
        self.wire.lines += len(found)
        return found

    def hashes(self, within: KeyParts) -> Sequence[tuple[int, int]]:
        found = self.inner.hashes(within)
        self.wire.lines += len(found)
        return found


if __name__ == "__main__":
    main()
