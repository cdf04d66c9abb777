"""What metrics and traces add to a tick: `make bench ARGS="--only overhead"`.

A table is synced into two lakes in a session that is open, one after the other, in alternating order: once observed by nobody, and once with traces sent to a collector and
the metrics of a `metrics` server asked for as the tick begins.
"""

from __future__ import annotations

import http.server
import multiprocessing
import os
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from bench.big_table import TABLE, BigTable, Played, big_table, step
from bench.measuring import Failed
from bench.served import served
from bench.verifying import prove_sums
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.demo.state import free_port
from incremental_assets.resources.runtime import Runtime

NAME = "overhead"
WAYS = UNSEEN, OBSERVED = "observed by nobody", "with traces and metrics"
PAIRS = 60
_WARM = 12
"""Pairs before the first that counts."""
CHANGED = 10_000
_TERMS = "cursor: {column: updated_at, type: timestamp}, strategy: upsert"
_MADE = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, quantity int, note text, updated_at timestamptz NOT NULL)",
    """INSERT INTO orders SELECT n, n % 100, 'note number ' || n, clock_timestamp() - interval '1 day'
    FROM generate_series(1, {rows}) AS n""",
    "CREATE INDEX ON orders (updated_at)",
)
_CHANGE = f"UPDATE orders SET quantity = quantity + 1, updated_at = clock_timestamp() WHERE id <= {CHANGED}"
_SUMS = "count(*), sum(quantity), sum(id * quantity)"
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PATIENCE = 60.0


def play(rows: int) -> Mapping[str, Any]:
    """All of it, on a server and in folders of its own. Raises Failed where a copy does not become what the source is, or where nothing was observed."""
    played = Played(rows)
    with (
        big_table(NAME, rows, [each.format(rows=rows) for each in _MADE]) as table,
        _collector() as (endpoint, traced),
    ):
        with table.runtime(_TERMS, UNSEEN) as unseen, table.runtime(_TERMS, OBSERVED) as observed:
            _tick(unseen)
            with _environment(_ENDPOINT, endpoint):
                # It is read when an observer is first asked for.
                _tick(observed)
            with _exporter(table) as exporter:
                runtimes = {UNSEEN: unseen, OBSERVED: observed}
                steps = [each for number in range(_WARM + PAIRS) for each in _pair(table, runtimes, exporter, number)]
        # A runtime that is closed has sent all of its spans.
        if traced.value < _WARM + PAIRS:
            raise Failed(f"the collector knows of {traced.value} of {_WARM + PAIRS} ticks")
        return played.document(steps[2 * _WARM :])


def _pair(table: BigTable, runtimes: Mapping[str, Runtime], exporter: str, number: int) -> Iterator[dict[str, Any]]:
    # Settled, so that both find the same rows.
    for statement in (_CHANGE, "SELECT pg_sleep(2.5)"):
        table.source.execute(statement.encode())
    for way in WAYS if number % 2 else reversed(WAYS):
        with table.watched() as watch:
            asking = Thread(target=_scraped, args=(exporter,)) if way == OBSERVED else None
            if asking:
                asking.start()
            _tick(runtimes[way])
        if asking:
            asking.join()
        cost = watch.cost()
        prove_sums(
            table.folder / way / "lake" / TABLE.source / TABLE.schema / TABLE.name,
            _SUMS,
            table.row(f"SELECT {_SUMS} FROM orders"),
        )
        yield {**step(way, cost), "seconds": round(cost.wall, 4), "cpu": round(cost.cpu, 2), "way": way}


def _tick(runtime: Runtime) -> None:
    """As a run does it, whose observers hear of its end as well."""
    (report,) = sync_many(runtime.specs(TABLE.source).specs, _request, runtime.ports(TABLE.source), parallel=1)
    if report.error:
        raise Failed(report.error)


def _request(_: TableSpec) -> Request:
    return Request(f"{NAME}-{time.monotonic_ns()}")


def _scraped(exporter: str) -> str:
    with urllib.request.urlopen(exporter, timeout=_PATIENCE) as answer:
        return str(answer.read().decode())


def paired(steps: Sequence[Mapping[str, Any]], measure: str) -> list[float]:
    """The ratio of each pair, of the tick that is observed to the other."""
    unseen, observed = ([each[measure] for each in steps if each["way"] == way] for way in WAYS)
    return [above / below for above, below in zip(observed, unseen, strict=True) if below]


@contextmanager
def _exporter(table: BigTable) -> Iterator[str]:
    """The address of the metrics of the table that is observed, of a server that answers."""
    port = free_port()
    config, address = table.folder / OBSERVED / "sources.yaml", f"http://127.0.0.1:{port}/metrics"
    command = ("metrics", "--config", config, "--port", str(port))
    with served(*command, environment={"DAGSTER_HOME": str(table.folder)}, folder=table.folder) as process:
        deadline = time.monotonic() + _PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            try:
                if str(TABLE.name) in _scraped(address):
                    yield address
                    return
            except OSError:
                time.sleep(0.1)
        raise Failed("the metrics server does not answer with the table")


@contextmanager
def _collector() -> Iterator[tuple[str, Any]]:
    """The address of one that takes every trace, in a process of its own, and the count of the syncs that it has heard of."""
    spawning = multiprocessing.get_context("spawn")
    traced, (there, here) = spawning.Value("i", 0), spawning.Pipe()
    process = spawning.Process(target=_collect, args=(here, traced), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{there.recv()}", traced
    finally:
        process.kill()
        process.join()


def _collect(said: Connection, traced: Any) -> None:
    class Takes(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            spans = self.rfile.read(int(self.headers["Content-Length"]))
            with traced.get_lock():
                traced.value += spans.count(b"incremental_assets.run_id")
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Takes) as server:
        said.send(server.server_port)
        server.serve_forever()


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name) if before is None else os.environ.update({name: before})
