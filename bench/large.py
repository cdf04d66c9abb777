"""A delta of 24 million rows in a table of 200 million, in a JVM of 2 GB, and beside it the same of a tenth of it all: `make bench ARGS="--only large"`.

Each table is generated and loaded; twelve of each hundred of its rows change, spread over the keys, and then ten thousand. Each is one sync in a session
that is open. That memory is flat is told by the two tables: ten times the rows, and as much memory. It is played by name alone: with half an hour and 45 GB
of disk it is larger than all the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any
from unittest.mock import patch

from bench.big_table import TABLE, BigTable, Played, big_table, step
from bench.contender import files, new_bytes
from bench.measuring import Failed
from bench.verifying import prove_sums
from bench.workloads import SMALL_JVM
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.resources.runtime import Runtime

NAME = "large"
TIMES = 10
"""So much smaller is the first table."""
_MADE = (
    # Made by what fills it: the source's own log, as large as the table, is spared.
    """CREATE TABLE orders AS SELECT n::bigint AS id, (n % 100)::int AS quantity, (n * 0.25)::numeric(12,2) AS price, 'note number ' || n AS note,
    date_trunc('day', now()) - interval '1 day' AS updated_at FROM generate_series(1, {rows}) AS n""",
    "ALTER TABLE orders ALTER updated_at SET NOT NULL, ADD PRIMARY KEY (id)",
    "CREATE INDEX ON orders (updated_at)",
)
_CHANGE = (
    "UPDATE orders SET quantity = quantity + 1000, updated_at = clock_timestamp() WHERE id % {step} IN ({numbers})"
)
_SUMS = "count(*), sum(quantity), sum(id * (quantity % 7919))"
_TERMS = "cursor: {column: updated_at, type: timestamp}, strategy: upsert"
_HEAP = "2 GB"
_OF, _NUMBERS = 25, (3, 11, 19)
"""Of so many rows in a row those change."""
_FEW = 10_000


def play(rows: int) -> Mapping[str, Any]:
    """All of it, on servers and in folders of their own. Raises Failed where a copy does not become what the source is."""
    played, tables = Played(rows), (rows // TIMES, rows)
    import pyspark

    if pyspark.SparkContext._jvm is not None:
        raise Failed("the JVM of another workload is still there, with a heap of its own; play this one alone")
    with patch.dict(os.environ, _JAVA_OPTIONS=SMALL_JVM):
        document = played.document([found for each in tables for found in _table(each)])
    return {**document, "tables": tables, "heap": _HEAP}


def _table(rows: int) -> Iterator[dict[str, Any]]:
    with (
        big_table(NAME, rows, [each.format(rows=rows) for each in _MADE]) as table,
        table.runtime(_TERMS) as runtime,
    ):
        yield _synced(table, runtime, f"first load of {rows:,} rows")
        for each, numbers in ((_OF, _NUMBERS), (rows // _FEW, (7,))):
            change = _CHANGE.format(step=each, numbers=", ".join(map(str, numbers)))
            # Vacuumed, as a source would be: what is measured is no table that is half dead.
            for statement in (change, "VACUUM ANALYZE orders", "SELECT pg_sleep(2.5)"):
                table.source.execute(statement.encode())
            yield _synced(table, runtime, f"{rows // each * len(numbers):,} changed rows of {rows:,}")


def _synced(table: BigTable, runtime: Runtime, label: str) -> dict[str, Any]:
    """One sync, proven before it counts."""
    (spec,) = runtime.specs(TABLE.source).specs
    lake = table.folder / "lake"
    before = files(lake)
    with table.watched() as watch:
        report = sync_table(spec, Request(label.replace(" ", "-").replace(",", "")), runtime.ports(TABLE.source))
    if report.error:
        raise Failed(report.error)
    written, cost = new_bytes(before, lake), watch.cost()
    theirs = table.row(f"SELECT {_SUMS} FROM orders")
    # In a process of its own: what the proof reads is no memory of a sync.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        apart.submit(prove_sums, lake / TABLE.source / TABLE.schema / TABLE.name, _SUMS, theirs).result()
    held = {"peak": cost.peak, "python": cost.python, "java": cost.java}
    return {**step(label, cost, None, report), "lake": written, **held}
