"""T93: what only a cluster can meet. A worker is lost in the middle of its work; its machines have other clocks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters.lake_store.opened import configure
from incremental_assets.demo.object_store import KEY, EmbeddedObjectStore
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.lake_store.seaweed import new_bucket
from tests.adapters.lake_store.shop_in_store import StoreShop, StoreStand, shop_in_store
from tests.conformance.clock import Clock, ClockMissing
from tests.conformance.scenario import of_cluster
from tests.conformance.store_tables import CHANGES, TABLES, assert_landed
from tests.e2e.cluster import DEFAULTS, WORKERS, Cluster, standalone
from tests.shop import MAKE_THREE, PASSWORD, kill

pytestmark = pytest.mark.timeout(900)

READING = (
    "SELECT pid, client_port FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active' AND query LIKE 'COPY%'"
)
HOUR = 3600.0
Open = Callable[..., tuple[Cluster, StoreStand]]


class Commands(StoreStand):
    """Its syncs are commands, which have a session of the cluster each."""

    def land(self, *names: str, **_: Any) -> dict[str, Any]:
        selected = (argument for name in names for argument in ("--select", f"shop.public.{name}"))
        return {each["table"].rpartition(".")[2]: each for each in self.shop.sync(*selected).values()}

    def settled(self, name: str) -> Any:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if mark := self.land(name)[name]["new_watermark"]:
                return mark
        raise AssertionError(f"{name} never settles")


@pytest.fixture
def opened(
    seaweed: EmbeddedObjectStore,
    postgres: EmbeddedPostgres,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> Iterator[Open]:
    """A cluster of two workers, each begun by a command, and the shop whose tables it lands."""
    record_property("server", f"SeaweedFS {seaweed.version}")
    folder = Path(tempfile.mkdtemp(prefix="cluster-", dir="/var/tmp"))
    folder.chmod(0o755)
    (folder / "spark-defaults.conf").write_text(DEFAULTS)
    for name, value in {
        "SHOP_PASSWORD": PASSWORD,
        "LAKE_KEY": KEY,
        "LAKE_SECRET": seaweed.secret,
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as running:

        def open_one(before: Sequence[Sequence[str]] = ((),) * WORKERS) -> tuple[Cluster, StoreStand]:
            cluster = running.enter_context(standalone(folder, before=before))
            bucket = new_bucket(seaweed)
            shop = shop_in_store(postgres, database, tmp_path, seaweed.address, bucket, TABLES, master=cluster.url)
            # For this process, which reads what has landed.
            configure(shop.in_store, seaweed.options)
            shop.execute(*MAKE_THREE)
            return cluster, Commands(shop, None)  # type: ignore[arg-type]

        yield open_one
    shutil.rmtree(folder, ignore_errors=True)


def doctor(shop: StoreShop) -> dict[str, tuple[str, str]]:
    """What it says of the cluster, by topic."""
    done = shop.run("doctor", "--json", timeout=600)
    findings = json.loads(done.stdout)["findings"]
    return {each["topic"]: (each["health"], each["detail"]) for each in findings if each["subject"] == "cluster"}


@of_cluster(
    "T93",
    "A worker and its executor are killed while one of their tasks is in the middle of reading rows from the source",
    holds="the sync ends well, and each row is in the copy once",
)
def test_a_lost_worker(opened: Open) -> None:
    cluster, stand = opened()
    stand.execute("INSERT INTO orders (id, note) SELECT 500 + n, repeat('more ', 40) FROM generate_series(1, 300000) n")
    running = stand.shop.start("sync", "--json")

    try:
        with stand.shop.connect() as connection:
            connection.autocommit = True
            while not any(_lost(cluster, connection, *each) for each in connection.execute(READING).fetchall()):
                assert running.poll() is None, running.communicate()
        output, errors = running.communicate(timeout=600)
    finally:
        if running.poll() is None:
            kill(running)
    assert running.returncode == 0, (output, errors)
    assert len([each for each in cluster.told()["workers"] if each["state"] == "ALIVE"]) == WORKERS - 1
    for name in ("orders", "events", "prices"):
        stand.assert_equal(name)


def _lost(cluster: Cluster, connection: psycopg.Connection, pid: int, port: int) -> bool:
    """Whether a worker read there, and is gone now. Its server stands still meanwhile, so that its task cannot have ended."""
    os.kill(pid, signal.SIGSTOP)
    try:
        return (pid, port) in connection.execute(READING).fetchall() and cluster.lose_the_worker_at(port)
    finally:
        os.kill(pid, signal.SIGCONT)


@of_cluster(
    "T93",
    "The clock of one worker is an hour ahead, and that of the other an hour behind; then ten minutes",
    holds="`doctor` says so; S3 takes nothing from a clock that is so far off, and the sync fails by that; at ten minutes each row and each version is there once",
)
def test_clocks_apart(opened: Open) -> None:
    try:
        ahead, behind = Clock(), Clock()
    except ClockMissing as reason:
        pytest.skip(f"no clock that can be set: {reason}")
    ahead.set(HOUR)
    behind.set(-HOUR)
    _, stand = opened([("/usr/bin/env", *each.variables) for each in (ahead, behind)])
    told = doctor(stand.shop)
    assert told["clock"][0] == "warn", told
    assert "by 3,5" in told["clock"][1] or "by 3,6" in told["clock"][1], told
    assert told["lake"][0] == "fail", told
    failed = stand.shop.run("sync", "--json")
    assert {each["status"] for each in json.loads(failed.stdout)["tables"]} == {"failed"}
    assert "the store denies it" in failed.stdout
    ahead.set(HOUR / 6)
    behind.set(-HOUR / 6)
    stand.land()
    stand.execute(*CHANGES)
    stand.land()
    assert_landed(stand)
