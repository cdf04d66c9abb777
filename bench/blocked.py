"""Ticks by PostgreSQL's log while a transaction stays open there: `make bench ARGS="--only blocked"`.

A small table is read from the log in a session that is open. Ticks of a thousand changes are measured, first without such a transaction, then beside one that has been open
while gigabytes of log were written: half of them by small transactions, half by a huge one in a table that nobody reads, which is still open, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import psycopg

from bench.backlog import SETTINGS as LOGGED
from bench.big_table import TABLE, BigTable, Played, big_table, step
from bench.measuring import Failed
from bench.verifying import prove_sums
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.resources.runtime import Runtime

NAME = "blocked"
SETTINGS = {**LOGGED, "max_wal_senders": "4"}
WAYS = CALM, FIRST, BLOCKED = "with nothing open", "beside it, the first one", "beside it"
TICKS = 10
_ROWS = 10_000
_CHANGED = 1_000
_MIB = 2**20
_NOTE_BYTES = 1_000
_MADE = (
    f"CREATE TABLE orders AS SELECT n AS id, 0 AS quantity FROM generate_series(1, {_ROWS}) AS n",
    "ALTER TABLE orders ADD PRIMARY KEY (id)",
    "CREATE TABLE elsewhere (n bigint, note text)",
    "CREATE PUBLICATION incremental_assets_shop FOR TABLE orders",
    "SELECT pg_create_logical_replication_slot('incremental_assets_shop', 'pgoutput')",
)
_CHANGE = f"UPDATE orders SET quantity = quantity + 1 WHERE id <= {_CHANGED}"
_WRITE = f"INSERT INTO elsewhere SELECT n, repeat('x', {_NOTE_BYTES}) FROM generate_series(1, {{rows}}) AS n"
_SUMS = "count(*), sum(quantity), sum(id * quantity)"


def play(megabytes: int) -> Mapping[str, Any]:
    """All of it, on a server and in a folder of its own. Raises Failed where the copy does not become what the source is."""
    played = Played(megabytes)
    with (
        big_table(NAME, _ROWS, _MADE, SETTINGS) as table,
        table.runtime("capture: log") as runtime,
        ExitStack() as opened,
    ):
        _tick(runtime)
        steps = [*_ticks(table, runtime, CALM, TICKS)]
        for rows in (1, megabytes * _MIB // 2 // _NOTE_BYTES):
            session = opened.enter_context(psycopg.connect(table.server.dsn("shop")))
            session.execute(_WRITE.format(rows=rows).encode())
        _write(table, megabytes // 2)
        steps += [*_ticks(table, runtime, FIRST, 1), *_ticks(table, runtime, BLOCKED, TICKS)]
        return played.document(steps)


def _ticks(table: BigTable, runtime: Runtime, way: str, times: int) -> Iterator[dict[str, Any]]:
    for _ in range(times):
        table.source.execute(_CHANGE.encode())
        with table.watched() as watch:
            _tick(runtime)
        cost = watch.cost()
        prove_sums(_copy(table), _SUMS, table.row(f"SELECT {_SUMS} FROM orders"))
        # A tick is shorter than what the others tell of their steps.
        yield {**step(way, cost), "seconds": round(cost.wall, 3), "cpu": round(cost.cpu, 2), "way": way}


def _write(table: BigTable, megabytes: int) -> None:
    for _ in range(megabytes):
        table.source.execute(_WRITE.format(rows=_MIB // _NOTE_BYTES).encode())
    # It tells the server's readers which transactions run.
    table.source.execute("CHECKPOINT")


def _tick(runtime: Runtime) -> None:
    (spec,) = runtime.specs(TABLE.source).specs
    report = sync_table(spec, Request(f"{NAME}-{time.monotonic_ns()}"), runtime.ports(TABLE.source))
    if report.error:
        raise Failed(report.error)


def _copy(table: BigTable) -> Any:
    return table.folder / "lake" / TABLE.source / TABLE.schema / TABLE.name
