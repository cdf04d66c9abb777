"""Ticks into a lake in a store of objects, beside the same ticks into a folder: `make bench ARGS="--only store"`.

Few rows change in one table, or in each of fifty; then syncs in a session that is open land them in three lakes by turns: a folder, a bucket of SeaweedFS on this machine, and a bucket of
the same server to which each request comes twenty milliseconds late, through a port that counts requests and bytes. Each copy is compared with the count and the sums of its table.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.big_table import TABLE, BigTable, Played, big_table, step
from bench.measuring import Failed
from bench.playing import rotated
from bench.relay import HOST, Relay
from bench.verifying import prove_sums
from incremental_assets import load
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.demo.object_store import KEY, EmbeddedObjectStore
from incremental_assets.resources.runtime import Runtime

NAME = "store"
WAYS = FOLDER, STORE, LATE = "a folder", "a store", "a store, each request 20 ms late"
ONE, MANY = 1, 50
"""Tables of a tick."""
ROUNDS = 5
_WARM = 2
"""Rounds before the first that counts."""
_DELAY = 0.02
_CHANGED = 100
_NAMES = (TABLE.name, *(f"{TABLE.name}_{number}" for number in range(2, MANY + 1)))
_TERMS = "cursor: {column: updated_at, type: timestamp}, strategy: upsert"
_CHANGE = "UPDATE {name} SET quantity = quantity + 1, updated_at = clock_timestamp() WHERE id % {step} = {number}"
_SETTLED = "SELECT pg_sleep(2.5)"
_SUMS = "count(*), sum(quantity), sum(id * (quantity % 7919))"
_KEY, _SECRET = "BENCH_STORE_KEY", "BENCH_STORE_SECRET"
_BRINGS = Path(__file__).parents[1] / ".ci" / "seaweedfs.sh"
_BUCKETS = {STORE: "near", LATE: "late"}
_STORES = """\
lake: s3://{bucket}/lake
stores:
  {bucket}: {{endpoint: "http://{address}", region: us-east-1, access_key_id: {{env: {key}}}, secret_access_key: {{env: {secret}}}}}
"""


def play(rows: int) -> Mapping[str, Any]:
    """All of it, on servers and in a folder of their own; `rows` are those of each table. Raises Failed where a copy does not become what its table is."""
    played = Played(rows)
    with (
        big_table(NAME, rows, list(_made(rows))) as table,
        _store(table.folder) as store,
        _lakes(table, store) as lakes,
    ):
        return {**played.document(list(_steps(table, lakes))), "changed": _CHANGED}


def _made(rows: int) -> Iterator[str]:
    for name in _NAMES:
        yield f"CREATE TABLE {name} AS SELECT n AS id, n % 100 AS quantity, 'note number ' || n AS note, now() - interval '1 day' AS updated_at FROM generate_series(1, {rows}) AS n"
        yield f"ALTER TABLE {name} ADD PRIMARY KEY (id)"
        yield f"CREATE INDEX ON {name} (updated_at)"


@dataclass(frozen=True)
class _Lake:
    """Where copies go, how they are read there without a detour, and what counts on the way, if anything does."""

    runtime: Runtime
    address: str
    options: Mapping[str, str]
    relay: Relay | None = None

    def prove(self, table: BigTable, names: Sequence[str]) -> None:
        """Raises Failed."""
        for name in names:
            copy = f"{self.address}/{TABLE.source}/{TABLE.schema}/{name}"
            prove_sums(copy, _SUMS, table.row(f"SELECT {_SUMS} FROM {name}"), self.options)

    def asked(self) -> tuple[int, int]:
        """Requests and bytes so far."""
        return (self.relay.asked, self.relay.sent + self.relay.received) if self.relay else (0, 0)


@contextmanager
def _store(folder: Path) -> Iterator[EmbeddedObjectStore]:
    brought = subprocess.run([_BRINGS], capture_output=True, text=True, check=False)
    if brought.returncode != 0:
        raise Failed(f"no SeaweedFS: {brought.stderr.strip()}")
    store = EmbeddedObjectStore(folder / "seaweedfs").start()
    try:
        yield store
    finally:
        store.remove()


@contextmanager
def _lakes(table: BigTable, store: EmbeddedObjectStore) -> Iterator[Mapping[str, _Lake]]:
    os.environ |= {_KEY: KEY, _SECRET: store.secret}
    with ExitStack() as opened:
        relay = opened.enter_context(Relay(int(store.address.partition(":")[2]), _DELAY))
        options = {name.upper(): value for name, value in store.options().items()} | {"AWS_ALLOW_HTTP": "true"}
        local = table.written(_TERMS, "folder", names=_NAMES)
        lakes = {FOLDER: _Lake(_runtime(opened, local), str(local.parent / "lake"), {})}
        for way, address in ((STORE, store.address), (LATE, f"{HOST}:{relay.port}")):
            bucket = _BUCKETS[way]
            store.make_bucket(bucket)
            stored = table.written(_TERMS, bucket, names=_NAMES)
            stores = _STORES.format(bucket=bucket, address=address, key=_KEY, secret=_SECRET)
            stored.write_text(stored.read_text().replace("lake: ./lake\n", stores))
            lake = _Lake(_runtime(opened, stored), f"s3://{bucket}/lake", options, relay if way == LATE else None)
            lakes[way] = lake
        yield lakes


def _runtime(opened: ExitStack, configuration: Path) -> Runtime:
    runtime = Runtime(load(configuration))
    opened.callback(runtime.close)
    return runtime


def _steps(table: BigTable, lakes: Mapping[str, _Lake]) -> Iterator[dict[str, Any]]:
    for lake in lakes.values():
        _synced(lake, _NAMES)
        lake.prove(table, _NAMES)
    for tables in (ONE, MANY):
        for number in range(-_WARM, ROUNDS):
            found = list(_round(table, lakes, _NAMES[:tables], number))
            yield from found if number >= 0 else ()


def _round(table: BigTable, lakes: Mapping[str, _Lake], names: Sequence[str], number: int) -> Iterator[dict[str, Any]]:
    each = max(1, table.rows // _CHANGED)
    for name in names:
        table.source.execute(_CHANGE.format(name=name, step=each, number=number % each).encode())
    table.source.execute(_SETTLED)
    for way in rotated(WAYS, number):
        lake = lakes[way]
        before = lake.asked()
        with table.watched() as watch:
            _synced(lake, names)
        requests, size = (after - then for after, then in zip(lake.asked(), before, strict=True))
        cost = watch.cost()
        lake.prove(table, names)
        told = f"{len(names)} {'table' if len(names) == 1 else 'tables'} into {way}"
        yield {
            **step(told, cost),
            "seconds": round(cost.wall, 3),
            "cpu": round(cost.cpu, 2),
            "way": way,
            "tables": len(names),
            "requests": requests if lake.relay else None,
            "bytes": size if lake.relay else None,
        }


def _synced(lake: _Lake, names: Sequence[str]) -> None:
    specs = [spec for spec in lake.runtime.specs(TABLE.source).specs if spec.id.name in names]
    request, ports = Request(f"{NAME}-{time.monotonic_ns()}"), lake.runtime.ports(TABLE.source)
    source = lake.runtime.configuration.source(TABLE.source)
    bad = [
        report.error for report in sync_many(specs, lambda _: request, ports, source.parallel.tables) if report.error
    ]
    if bad:
        raise Failed(bad[0])
