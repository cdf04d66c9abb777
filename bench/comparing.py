"""A large table of which nothing tells what changed: compared with its copy, and read whole: `make bench ARGS="--only comparing"`.

Five hundred rows change, each time others: spread over the keys. An upsert with `compare` finds and reads them; a full refresh reads and writes everything. Both are
syncs in a session that is open, by turns. Counted are seconds on the clock and of a processor, the lines that the source sends to be compared, rows read, and bytes
that are new in the lake; and in a round of its own, whose time does not count, the bytes that the source sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from bench.big_table import TABLE, BigTable, Played, big_table, step
from bench.contender import files, new_bytes
from bench.measuring import Failed
from bench.relay import Relay
from bench.verifying import prove_sums
from bench.wire import Wire
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.resources.runtime import Runtime

NAME = "comparing"
CHANGES = 500
ROUNDS = 3
COMPARED, WHOLE = "compare", "full_refresh"
_TERMS = {
    COMPARED: "strategy: upsert, compare: {every: 0s}",
    WHOLE: "strategy: full_refresh, refresh_every: 0s",
}
_MADE = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, quantity int, price numeric(12,2), note text, day date)",
    """INSERT INTO orders SELECT n, n % 100, n * 1.25, 'note number ' || n, date '2020-01-01' + (n % 1000)::int
    FROM generate_series(1, {rows}) AS n""",
)
_CHANGE = "UPDATE orders SET quantity = quantity + 1000 WHERE id % {step} = {number} AND id <= {last}"
_SUMS = "count(*), sum(quantity), sum(id * (quantity % 7919))"


def play(rows: int) -> Mapping[str, Any]:
    """All of it, on a server and in folders of its own. Raises Failed where a copy does not become what the source is."""
    played = Played(rows)
    with big_table(NAME, rows, [each.format(rows=rows) for each in _MADE]) as table:
        with _runtimes(table, table.server.port) as runtimes:
            for way, runtime in runtimes.items():
                _synced(table, runtime, way)
            steps = [each for number in range(1, ROUNDS + 1) for each in _round(table, runtimes, number)]
        with Relay(table.server.port) as relay, _runtimes(table, relay.port) as runtimes:
            sent: dict[str, int] = {}
            for each in _round(table, runtimes, ROUNDS + 1):
                sent[each["way"]] = relay.sent - sum(sent.values())
        return {**played.document(steps), "sent": sent}


@contextmanager
def _runtimes(table: BigTable, port: int) -> Iterator[Mapping[str, Runtime]]:
    with ExitStack() as open_ones:
        yield {way: open_ones.enter_context(table.runtime(terms, way, port=port)) for way, terms in _TERMS.items()}


def _round(table: BigTable, runtimes: Mapping[str, Runtime], number: int) -> Iterator[dict[str, Any]]:
    each = table.rows // CHANGES
    table.source.execute(_CHANGE.format(step=each, number=number, last=each * CHANGES).encode())
    for way, runtime in runtimes.items():
        yield {**_synced(table, runtime, way), "way": way}


def _synced(table: BigTable, runtime: Runtime, way: str) -> dict[str, Any]:
    """One sync, proven before it counts."""
    wire = Wire()
    (spec,) = runtime.specs(TABLE.source).specs
    lake = table.folder / way / "lake"
    before = files(lake)
    with table.watched() as watch:
        report = sync_table(spec, Request(way), wire.on(runtime.ports(TABLE.source)))
    written = new_bytes(before, lake)
    if report.error:
        raise Failed(report.error)
    prove_sums(lake / TABLE.source / TABLE.schema / TABLE.name, _SUMS, table.row(f"SELECT {_SUMS} FROM orders"))
    counted = wire if way == COMPARED else None
    return {**step(f"`{way}`", watch.cost(), counted, report), "lake": written}
