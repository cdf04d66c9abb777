"""What it costs to repair ten rows of a large table, and to find a hundred that were deleted: `make bench ARGS="--only drift"`.

A table by number, spread over a year, is synced. Ten rows change under their old stamp, in one month or all over the year; a check finds
them and a repair repairs them. Then a hundred rows are deleted, and a sync that follows deletes finds them. Counted are seconds on the clock and
of a processor, of our processes and the source's, and the lines that the source sends to be compared.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from bench.big_table import TABLE, BigTable, Played, big_table, step
from bench.measuring import Failed
from bench.wire import Wire
from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync import sync_table

NAME = "drift"
GONE = 100
_MADE = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, quantity int, price numeric(12,2), note text, day date, updated_at timestamptz NOT NULL)",
    """INSERT INTO orders SELECT n, n % 100, n * 1.25, 'note number ' || n, date '2020-01-01' + (n % 1000)::int,
    date_trunc('day', now()) - interval '400 days' + n * (interval '365 days' / {rows}) FROM generate_series(1, {rows}) AS n""",
    "CREATE INDEX ON orders (updated_at)",
)
_DRIFT = "UPDATE orders SET note = note || ', drifted' WHERE id % {step} = 1 AND id <= {last}"
_DELETE = "DELETE FROM orders WHERE id % {step} = 2 AND id <= {last}"
_SCANS = """
SELECT sum(i.idx_scan) FILTER (WHERE i.indexrelname = 'orders_pkey')::bigint, max(t.seq_scan)
FROM pg_stat_user_tables AS t JOIN pg_stat_user_indexes AS i USING (relid) WHERE t.relname = 'orders'
"""
_TERMS = "cursor: {column: updated_at, type: timestamp}, strategy: upsert, partitions: {every: month, from: 2020-01-01}"
_FOLLOWS = f"{_TERMS}, deletes: {{mode: diff, every: 0s}}"


def play(rows: int) -> Mapping[str, Any]:
    """All of it, on a server and in folders of its own. Raises Failed where the copy does not become what the source is."""
    played = Played(rows)
    with big_table(NAME, rows, [each.format(rows=rows) for each in _MADE]) as table:
        return played.document([*_drifts(table), _deletes(table)])


def _drifts(table: BigTable) -> Iterator[dict[str, Any]]:
    """Ten rows in the first month, then ten over the whole year: a check, and a repair."""
    with table.runtime(_TERMS) as runtime:
        (spec,) = runtime.specs("shop").specs
        ports, grid = runtime.ports("shop"), terms_of(runtime.configuration.source("shop"), TABLE).partitions
        sync_table(spec, Request("first"), ports)
        for where, last in (("one month", table.rows // 13), ("the year", table.rows)):
            table.source.execute(_DRIFT.format(step=last // 10, last=last - 10).encode())
            with table.watched() as watch:
                drift: Drift = reconcile(spec, grid, ports)
                remember(spec, drift, runtime.checkpoints)
            yield step(f"`check`: ten rows of {where} have drifted", watch.cost())
            wire = Wire()
            with table.watched() as watch:
                done = repair_table(spec, grid, str(uuid.uuid4()), wire.on(ports))
            if done.left is None or done.left.rows or done.report.rows.updated != drift.rows:
                raise Failed(f"{drift.rows} rows had drifted, and {done.report.rows} were repaired")
            yield step("`repair` of them", watch.cost(), wire, done.report)


def _deletes(table: BigTable) -> dict[str, Any]:
    """A sync that finds a hundred rows gone, after one that found none. What was scanned is told once its sessions have ended."""
    with table.runtime(_FOLLOWS) as runtime:
        (spec,) = runtime.specs("shop").specs
        sync_table(spec, Request("none is gone"), runtime.ports("shop"))
    before = _scans(table)
    with table.runtime(_FOLLOWS) as runtime:
        (spec,) = runtime.specs("shop").specs
        table.source.execute(_DELETE.format(step=table.rows // GONE, last=table.rows).encode())
        wire = Wire()
        with table.watched() as watch:
            report = sync_table(spec, Request("some are gone"), wire.on(runtime.ports("shop")))
    if report.rows.deleted != GONE:
        raise Failed(f"{GONE} rows were deleted, and {report.rows.deleted} found")
    by_index, whole = (after - then for after, then in zip(_scans(table), before, strict=True))
    found = step(f"`sync`: {GONE} rows are gone, nothing else moved", watch.cost(), wire, report)
    return {**found, "key_index_scans": by_index, "table_scans": whole}


def _scans(table: BigTable) -> tuple[int, int]:
    """Of the key's index, and of the whole table."""
    table.source.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    row = table.source.execute(_SCANS).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)
