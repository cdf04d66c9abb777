"""The runtime opens each thing at its first use, once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import incremental_assets.adapters.spark.session as engine_session
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.spark.session import LOAD_BYTES, SparkSettings, Work
from incremental_assets.core.errors import ConfigurationError, EngineLost, SelectionError
from incremental_assets.core.model.table_id import TableId
from incremental_assets.resources.runtime import Runtime
from incremental_assets.resources.spark import SparkResource
from tests.core.mistakes import in_table
from tests.defs.studio import configured
from tests.ports.stories import sync
from tests.scenario import ORDERS_SHAPE

ORDERS = "table: public.orders\ncursor: {column: updated_at, type: timestamp}"


class FakeSession:
    stopped = False

    def stop(self) -> None:
        self.stopped = True


def test_making_one_opens_nothing_and_a_look_at_the_checkpoints_needs_neither_spark_nor_dagster(tmp_path: Path) -> None:
    configured(tmp_path)
    program = (
        "import sys; from pathlib import Path; from incremental_assets import load; from incremental_assets.resources.runtime import Runtime; "
        f"Runtime(load(Path({str(tmp_path / 'sources.yaml')!r}))).checkpoints.positions(); "
        "print({'pyspark', 'dagster'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert [path.name for path in tmp_path.iterdir()] == ["sources.yaml"]


def test_rows_that_are_held_where_only_spark_reads_are_not_asked_for_and_arrow_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(in_table(ORDERS).replace("./lake", "hdfs://name/lake"), encoding="utf-8")
    program = (
        "import sys; from dataclasses import replace; from pathlib import Path; from incremental_assets import load; "
        "from incremental_assets.core.model.contract import Contract; from incremental_assets.resources.runtime import Runtime; "
        "from tests.scenario import orders; spec = orders(); "
        f"runtime = Runtime(load(Path({str(tmp_path / 'sources.yaml')!r}))); "
        "print(runtime.held(spec).rows, runtime.held(replace(spec, contract=Contract('a:B'))), {'pyarrow', 'pyspark'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0 None set()"


def test_each_thing_is_opened_once_and_anew_after_closing(tmp_path: Path) -> None:
    runtime = Runtime(configured(tmp_path))
    first = runtime.checkpoints
    assert runtime.checkpoints is first
    assert runtime.probe("shop") is runtime.probe("shop")
    assert runtime.ports("shop").lake is runtime.ports("shop").lake
    runtime.close()
    runtime.close()
    assert runtime.checkpoints is not first


def test_an_unknown_source_is_named_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="there is no source 'shob'"):
        Runtime(configured(tmp_path)).ports("shob")


def test_a_missing_secret_is_told_when_the_source_is_opened_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    runtime = Runtime(configured(tmp_path, options="password: {env: SHOP_PASSWORD}\n"))
    with pytest.raises(ConfigurationError, match="SHOP_PASSWORD is not set"):
        runtime.specs("shop")


def test_of_a_table_that_cannot_be_described_now_the_last_description_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, other = Runtime(configured(tmp_path)), replace(ORDERS_SHAPE, id=TableId("shop", "public", "broken"))
    locked = replace(ORDERS_SHAPE, columns=(), primary_key=(), undescribed="locked")
    never = replace(other, columns=(), primary_key=(), undescribed="no such table: lost")
    probe = SimpleNamespace(catalogue=lambda: (ORDERS_SHAPE, never))
    opened = SimpleNamespace(probe=probe, close=lambda: None)
    monkeypatch.setattr("incremental_assets.resources.runtime.open_source", lambda *_: opened)
    runtime.specs("shop")
    probe.catalogue = lambda: (locked, never)
    assert ": locked (" in str(runtime.specs("shop").problems[0].error)
    assert runtime.checkpoints.catalogue("shop") == (ORDERS_SHAPE, never)
    runtime.close()


def test_one_session_per_process_however_many_threads_and_copies_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[FakeSession] = []

    def open_session(_: object) -> FakeSession:
        opened.append(FakeSession())
        return opened[-1]

    monkeypatch.setattr(engine_session, "open_session", open_session)
    copies = [SparkResource(remote="sc://nowhere:1") for _ in range(8)]
    assert not copies[0].is_open
    with ThreadPoolExecutor(8) as pool:
        sessions = set(pool.map(lambda copy: copy.session(), copies))
    assert sessions == set(opened)
    assert len(opened) == 1
    # As `dagster_pyspark` hands it out: the same session, and none of its own making.
    assert copies[0].lazy().spark_session is opened[0]

    copies[1].close()
    assert opened[0].stopped
    assert not copies[2].is_open


def test_a_sync_hears_of_the_engine_that_its_session_has_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, lost = Runtime(configured(tmp_path)), EngineLost(4711, "engine.log")
    ports = runtime.ports("shop")
    assert (ports.lost_engine(), runtime._spark) == (None, None)
    monkeypatch.setattr(runtime.spark._door(), "_lost", lost)
    assert ports.lost_engine() is lost
    runtime.close()


def test_a_session_is_opened_for_the_work_that_lies_ahead_in_the_tables_that_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Work] = []
    other = replace(ORDERS_SHAPE, id=TableId("shop", "public", "not_listed"), bytes=LOAD_BYTES + 1)

    def open_session(settings: SparkSettings) -> FakeSession:
        opened.append(settings.work)
        return FakeSession()

    monkeypatch.setattr(engine_session, "open_session", open_session)
    for size in (LOAD_BYTES, LOAD_BYTES + 1):
        runtime = Runtime(configured(tmp_path, options="unlisted: ignore\n"), SparkResource(remote="sc://ahead:1"))
        runtime.checkpoints.remember_catalogue("shop", (replace(ORDERS_SHAPE, bytes=size), other))
        runtime._session()
        runtime._session()
        runtime.close()
    landed(runtime.checkpoints)
    runtime._session()
    runtime.close()
    runtime.expect_full_reads([ORDERS_SHAPE.id])
    runtime._session()
    runtime.close()
    assert opened == [Work.TICK, Work.LOAD, Work.TICK, Work.LOAD], "the last one to read all that has landed"


def landed(checkpoints: SqlCheckpoints) -> None:
    """A first sync of the big table."""
    for event in sync(0, table=ORDERS_SHAPE.id):
        with checkpoints.lease(event.table, event.run_id) as lease:
            lease.record(event)


BEGUN = """
import sys, threading
from pathlib import Path
import incremental_assets.adapters.spark.session as own
from incremental_assets import load
from incremental_assets.resources.runtime import Runtime

class FakeContext:
    master, defaultParallelism = "local[2]", 2

    def parallelize(self, numbers, parts):
        return self

    def foreachPartition(self, work):
        work([0])
        print("workers")
        opened.set()

class FakeSession:
    sparkContext = FakeContext()

    def stop(self):
        print("stopped")

opened = threading.Event()

def open_session(_):
    print("dagster" in sys.modules)
    return FakeSession()

own.open_session = open_session
runtime = Runtime(load(Path(sys.argv[1])))
runtime.begin_session()
assert opened.wait(60)
print(type(runtime._session()).__name__)
runtime.close()
"""


def test_a_session_that_is_begun_ahead_and_its_workers_do_not_wait_for_dagster_and_it_is_the_one_that_is_used(
    tmp_path: Path,
) -> None:
    configured(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", BEGUN, str(tmp_path / "sources.yaml")],
        env={**os.environ, "DAGSTER_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "workers", "FakeSession", "stopped"]
