"""A backlog of changes in PostgreSQL's log, from the slot to the lake: `make bench ARGS="--only backlog"`.

A table of ten columns is loaded and read from the log from then on. While no sync runs, rows are inserted and updated: in one transaction, or in transactions of a hundred
changes. Then syncs in a session that is open land them all. Counted are seconds on the clock until no change is left, and of a processor, of our processes and the source's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.big_table import TABLE, BigTable, Played, big_table, step
from bench.measuring import Failed
from bench.verifying import prove_sums
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.resources.runtime import Runtime

NAME = "backlog"
ROUNDS = 3
AT_ONCE, FEW = "in one transaction of each kind", "in transactions of a hundred"
SETTINGS = {"wal_level": "logical", "max_wal_size": "16GB"}
_TERMS = "capture: log"
_HUNDRED = 100
_MOST_SYNCS = 20
"""Of which each lands two million changes at the most."""
_COLUMNS = "n, n % 1000, 'open', n % 997, n % 7, n * 0.5, date '2024-01-01' + (n % 365)::int, 'note of ' || n, n % 2 = 0, now()"
_MADE = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, customer int, status text, total numeric(12,2), quantity int, price float8, day date, note text, ok bool, at timestamptz)",
    f"INSERT INTO orders SELECT {_COLUMNS} FROM generate_series(1, {{rows}}) AS n",
    "CREATE PUBLICATION incremental_assets_shop FOR TABLE orders",
    "SELECT pg_create_logical_replication_slot('incremental_assets_shop', 'pgoutput')",
)
_INSERT = f"INSERT INTO orders SELECT {_COLUMNS} FROM generate_series({{low}}, {{high}}) AS n"
_UPDATE = "UPDATE orders SET quantity = quantity + 1, at = now() WHERE id BETWEEN {low} AND {high}"
_SUMS = "count(*), sum(quantity), sum(id * (quantity % 7919))"


def play(changes: int) -> Mapping[str, Any]:
    """All of it, on a server and in a folder of its own; half of the changes are rows that come. Raises Failed where the copy does not become what the source is."""
    played = Played(changes)
    made = [each.format(rows=changes) for each in _MADE]
    with big_table(NAME, changes, made, SETTINGS) as table, table.runtime(_TERMS) as runtime:
        landed(runtime)
        return played.document(list(_steps(table, runtime, changes)))


def _steps(table: BigTable, runtime: Runtime, changes: int) -> Iterator[dict[str, Any]]:
    for _ in range(ROUNDS):
        for way, write in ((AT_ONCE, _at_once), (FEW, _in_hundreds)):
            write(table, changes // 2)
            with table.watched() as watch:
                read = landed(runtime)
            prove_sums(_copy(table), _SUMS, table.row(f"SELECT {_SUMS} FROM orders"))
            yield {**step(f"{changes:,} changes {way}", watch.cost()), "way": way, "read": read}


def _at_once(table: BigTable, rows: int) -> None:
    (last,) = table.row("SELECT max(id) FROM orders")
    for statement in (_INSERT, _UPDATE):
        low = last + 1 if statement is _INSERT else last - rows + 1
        table.source.execute(statement.format(low=low, high=low + rows - 1).encode())


def _in_hundreds(table: BigTable, rows: int) -> None:
    (last,) = table.row("SELECT max(id) FROM orders")
    half = _HUNDRED // 2
    for begin in range(0, rows, half):
        with table.source.transaction():
            table.source.execute(_INSERT.format(low=last + begin + 1, high=last + begin + half).encode())
            table.source.execute(_UPDATE.format(low=begin + 1, high=begin + half).encode())


def landed(runtime: Runtime, source: str = TABLE.source) -> int:
    """Rows of the only table that landed until nothing was left. Raises Failed."""
    (spec,) = runtime.specs(source).specs
    rows = 0
    for number in range(_MOST_SYNCS):
        report = sync_table(spec, Request(f"{NAME}-{number}"), runtime.ports(source))
        if report.error:
            raise Failed(report.error)
        if report.status is Status.IDLE:
            return rows
        rows += report.rows.read
    raise Failed(f"{_MOST_SYNCS} syncs have not landed the backlog")


def _copy(table: BigTable) -> Any:
    return table.folder / "lake" / TABLE.source / TABLE.schema / TABLE.name
