"""A delta of ten million rows in a table of a hundred million, and one of ten thousand: `make bench ARGS="--only large"`.

The table is generated and loaded; a tenth of its rows changes, spread over the keys, and then ten thousand of them. Each is one sync in a session that is
open. It is played by name alone: with a quarter of an hour and 40 GB of disk it is larger than all the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.big_table import TABLE, BigTable, Played, big_table, step
from bench.contender import files, new_bytes
from bench.measuring import Failed
from bench.verifying import prove_sums
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.resources.runtime import Runtime

NAME = "large"
_MADE = (
    "CREATE TABLE orders (id bigint, quantity int, price numeric(12,2), note text, updated_at timestamptz NOT NULL)",
    """INSERT INTO orders SELECT n, n % 100, n * 0.25, 'note number ' || n, date_trunc('day', now()) - interval '1 day'
    FROM generate_series(1, {rows}) AS n""",
    "ALTER TABLE orders ADD PRIMARY KEY (id)",
    "CREATE INDEX ON orders (updated_at)",
)
_CHANGE = "UPDATE orders SET quantity = quantity + 1000, updated_at = clock_timestamp() WHERE id % {step} = {number}"
_SUMS = "count(*), sum(quantity), sum(id * (quantity % 7919))"
_TERMS = "cursor: {column: updated_at, type: timestamp}, strategy: upsert"
_TENTH, _FEW = 10, 10_000
"""One of so many rows changes, then as many rows."""


def play(rows: int) -> Mapping[str, Any]:
    """All of it, on a server and in a folder of its own. Raises Failed where the copy does not become what the source is."""
    played = Played(rows)
    with (
        big_table(NAME, rows, [each.format(rows=rows) for each in _MADE]) as table,
        table.runtime(_TERMS) as runtime,
    ):
        return played.document(list(_steps(table, runtime)))


def _steps(table: BigTable, runtime: Runtime) -> Iterator[dict[str, Any]]:
    yield _synced(table, runtime, f"first load of {table.rows:,} rows")
    for each, number in ((_TENTH, 3), (table.rows // _FEW, 7)):
        # Vacuumed, as a source would be: what is measured is no table that is half dead.
        for statement in (_CHANGE.format(step=each, number=number), "VACUUM ANALYZE orders", "SELECT pg_sleep(2.5)"):
            table.source.execute(statement.encode())
        yield _synced(table, runtime, f"{table.rows // each:,} changed rows")


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
    prove_sums(lake / TABLE.source / TABLE.schema / TABLE.name, _SUMS, table.row(f"SELECT {_SUMS} FROM orders"))
    return {**step(label, cost, None, report), "lake": written, "peak": cost.peak, "python": cost.python}
