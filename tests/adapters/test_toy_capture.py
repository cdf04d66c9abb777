"""The toy capture on a real lake: Spark's tasks, Delta's commits, the checkpoint database, the command line and Dagster, whose rooms know nothing of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dagster import AssetKey, AssetSelection, materialize
from deltalake import DeltaTable

from incremental_assets import load
from incremental_assets.core.captures.registry import named
from incremental_assets.core.checks.run_checks import Scope, audit
from incremental_assets.core.config.source_kinds import kind_named
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import ConfigurationError, SourceRefused
from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verdict import Check
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.definitions import catalogues
from incremental_assets.defs import tick
from incremental_assets.defs.assets import sync_assets
from incremental_assets.defs.build import views
from incremental_assets.defs.checks import RANGE_TAGS
from incremental_assets.resources.runtime import Runtime
from tests.conformance.stand import Given
from tests.fakes import Killed, Process, ordered
from tests.fakes.rows import own_columns
from tests.fakes.world import Watched
from tests.toy_capture.capture import Offsets, offsets_of
from tests.toy_capture.installed import install
from tests.toy_capture.log import EventLog, Row, Topic
from tests.toy_capture.source import is_there, latest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONFIG = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: events
    file: events.json
    token: {env: EVENTS_TOKEN}
    tables:
      - {table: topic.orders, history: scd2, freshness: {warn: 1s}}
      - {table: topic.audit, strategy: append, primary_key: [partition, offset]}
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package, for this process and for those that it starts."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    install(packages)
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setenv("EVENTS_TOKEN", "s3cret")
    for each in (named, kind_named):
        each.cache_clear()
    yield
    for each in (named, kind_named):
        each.cache_clear()


@dataclass
class Place:
    """A log in a file, a configuration, a lake."""

    folder: Path
    spark: SparkSession
    log: EventLog = field(default_factory=lambda: EventLog({"orders": Topic(), "audit": Topic()}))

    def put(self, key: int, status: str) -> None:
        for topic in self.log.topics.values():
            topic.put(key, status)
        self.log.save(self.folder / "events.json")

    def gone(self, key: int) -> None:
        for topic in self.log.topics.values():
            topic.gone(key)
        self.log.save(self.folder / "events.json")

    @contextmanager
    def runtime(self) -> Iterator[Runtime]:
        """What a new process knows."""
        given: Any = Given(self.spark)
        runtime = Runtime(load(self.folder / "sources.yaml"), given)
        try:
            yield runtime
        finally:
            runtime.close()

    def spec(self, name: str) -> TableSpec:
        with self.runtime() as runtime:
            (found,) = (spec for spec in runtime.specs("shop").specs if spec.id.name == name)
        return found

    def sync(self, name: str, process: Process | None = None, mode: Mode = Mode.SYNC) -> SyncReport:
        with self.runtime() as runtime:
            ports, spec = runtime.ports("shop"), self.spec(name)
            if process is not None:
                watched = {
                    each: Watched(getattr(ports, each), process)
                    for each in ("probe", "source", "stage", "lake", "checkpoints")
                }
                ports = replace(ports, **watched)  # type: ignore[arg-type]
            return sync_table(spec, Request(str(uuid.uuid4()), mode), ports)

    def copy(self, name: str) -> list[Row]:
        frame = self.spark.read.format("delta").load(str(self.folder / f"lake/shop/topic/{name}"))
        return [own_columns(row.asDict()) for row in frame.collect()]

    def at(self, name: str) -> Offsets:
        with self.runtime() as runtime:
            state = runtime.checkpoints.position(self.spec(name).id).state
        assert state is not None
        return offsets_of(state)

    def check(self, name: str, moment: str = "") -> None:
        """Nothing is lost, nothing is twice, the position is that of the rows, and nothing is left behind."""
        spec, topic = self.spec(name), self.log.topics[name]
        parts = (latest(spec, topic, number, 0, end) for number, end in enumerate(topic.ends))
        assert ordered(self.copy(name)) == ordered(is_there([row for part in parts for row in part])), moment
        assert self.at(name) == Offsets(topic.ends), moment
        assert not [*(self.folder / "lake/_staging").rglob("*.parquet")], moment
        with self.runtime() as runtime:
            assert runtime.checkpoints.position(spec.id).open is None, moment
            if name == "orders":
                assert runtime.ports("shop").historian.differing_versions(spec) == FaultyKeys(0), moment


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession) -> Place:
    (tmp_path / "sources.yaml").write_text(CONFIG)
    found = Place(tmp_path, spark)
    for key, status in ((1, "new"), (2, "new"), (1, "paid"), (3, "new"), (2, "paid")):
        found.put(key, status)
    return found


def later(place: Place) -> None:
    place.put(3, "paid")
    place.gone(1)
    place.put(4, "new")
    place.put(3, "sent")


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["orders", "audit"])
def test_events_land_in_one_commit_with_their_offsets(place: Place, name: str) -> None:
    first = place.sync(name)
    assert (first.status, first.guarantee) == (Status.LANDED, "as_delivered")
    place.check(name)
    assert place.sync(name).status is Status.IDLE
    later(place)
    assert place.sync(name).rows.deleted == (1 if name == "orders" else 0)
    place.check(name)
    (commit, *_) = DeltaTable(str(place.folder / f"lake/shop/topic/{name}")).history(1)
    document = json.loads(commit["userMetadata"])
    assert '"position":{"next":[3,6]}' in json.dumps(document, separators=(",", ":")).replace('\\"', '"')


MOMENTS = (
    "after intent",
    "after snapshot",
    "after write",
    "after staged",
    "before apply",
    "after apply",
    "after follow",
    "after discard",
    "after landed",
)
"""Of each step the one behind it; tests/core kills at every moment there is."""


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["orders", pytest.param("audit", marks=pytest.mark.acceptance)])
def test_a_sync_killed_behind_any_step_is_made_good_by_the_next(place: Place, name: str) -> None:
    place.sync(name)
    for number, moment in enumerate(MOMENTS):
        if name == "audit" and moment == "after follow":
            continue
        place.put(number % 5, f"at {moment}")
        place.gone((number + 1) % 5)
        process = Process("killed")
        process.at[moment] = process.kill
        with pytest.raises(Killed):
            place.sync(name, process)
        place.put(number % 3, f"after {moment}")
        place.sync(name)
        place.check(name, moment)


def test_events_that_the_log_has_no_more_stop_the_sync_by_name(place: Place) -> None:
    place.sync("orders")
    later(place)
    place.log.topics["orders"].trimmed = [0, 4]
    place.log.save(place.folder / "events.json")
    with pytest.raises(SourceRefused, match="partition 1 of the log no longer has every event from 3 on"):
        place.sync("orders")
    assert place.at("orders") == Offsets((2, 3))


def test_a_secret_that_is_not_there_is_named_at_its_line_when_the_source_is_opened(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVENTS_TOKEN")
    with (
        place.runtime() as runtime,
        pytest.raises(ConfigurationError, match=r"sources.yaml:7: .*EVENTS_TOKEN is not set"),
    ):
        runtime.probe("shop")


def test_a_sensor_asks_for_the_tables_that_moved(place: Place) -> None:
    place.sync("orders")
    with place.runtime() as runtime:
        source, specs = runtime.configuration.source("shop"), runtime.specs("shop").specs
        now = place.log.clock
        found = tick.look(source, specs, runtime, tick.Memory(), now)
        assert [each.spec.id.name for each in found.moved] == ["audit"]
        assert [(each.table.name, each.passed) for each in found.verdicts] == [("orders", True)]
        later(place)
        found = tick.look(source, specs, runtime, found.memory, now)
        assert sorted(each.spec.id.name for each in found.moved) == ["audit", "orders"]
        (verdict,) = found.verdicts
        assert (verdict.passed, verdict.measured) == (False, 4.0)


@pytest.mark.acceptance
def test_dagster_syncs_its_tables_and_shows_them(place: Place) -> None:
    with place.runtime() as runtime:
        runtime.specs("shop")  # the catalogue is remembered
        (view,) = views(runtime.configuration, catalogues(runtime))
        orders = AssetKey(["shop", "topic", "orders"])
        source = next(iter(view.external())).get_asset_spec(AssetKey(["shop", "source", "topic", "orders"]))
        assert source.kinds == {"events"}
        result = materialize(
            [*view.external(), *sync_assets(view)],
            selection=AssetSelection.assets(orders),
            resources={"runtime": runtime},
            tags=dict.fromkeys(RANGE_TAGS, "current"),
        )
    landed = {each.asset_key: each.materialization for each in result.get_asset_materialization_events()}
    assert landed[orders].metadata["guarantee"].value == "as_delivered"
    place.check("orders")


@pytest.mark.acceptance
def test_its_copies_are_checked_for_what_can_be_checked_of_them(place: Place) -> None:
    place.sync("orders")
    with place.runtime() as runtime:
        source, spec = runtime.configuration.source("shop"), place.spec("orders")
        found = {
            each.check: each
            for each in audit([spec], Scope(1), lambda table: terms_of(source, table), runtime.ports("shop"))
        }
    assert {check for check, verdict in found.items() if verdict.passed} == {*found} - {Check.RECONCILIATION}
    assert not found[Check.RECONCILIATION].was_checked
    assert found[Check.RECONCILIATION].detail.startswith("the source tells what comes")


def command(place: Place, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = subprocess.run(
        _command(*arguments),
        cwd=place.folder,
        env=_environment(place),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("incremental-assets")), *arguments, "--json"]


def _environment(place: Place) -> dict[str, str]:
    home = place.folder / "dagster"
    home.mkdir(exist_ok=True)
    return {
        **os.environ,
        "INCREMENTAL_ASSETS_CONFIG": str(place.folder / "sources.yaml"),
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


@pytest.mark.acceptance
def test_every_command_knows_its_tables(place: Place) -> None:
    findings = command(place, "doctor")["findings"]
    of_shop = [
        (each["subject"], each["topic"], each["health"], each["detail"])
        for each in findings
        if each["subject"].startswith("shop")
    ]
    assert of_shop == [
        ("shop", "reachable", "ok", "it has answered; its dialect is events"),
        ("shop.topic.orders", "capture", "ok", "read by its offsets"),
        ("shop.topic.audit", "capture", "ok", "read by its offsets"),
    ]
    assert {each["table"]: each["status"] for each in command(place, "sync")["tables"]} == {
        "topic.orders": "landed",
        "topic.audit": "landed",
    }
    assert {each["table"]: each["lag_seconds"] for each in command(place, "status")["tables"]} == {
        "topic.audit": 0.0,
        "topic.orders": 0.0,
    }
    later(place)
    planned = command(place, "plan")["tables"]
    assert {each["guarantee"] for each in planned} == {"as_delivered"}
    assert {each["deletes"] for each in planned} == {"an event says so"}
    assert command(place, "discover")["tables"] == []
    checks = {(each["table"], each["check"]): each["passed"] for each in command(place, "check")["checks"]}
    assert {check for check, passed in checks.items() if not passed} == {
        ("topic.audit", "reconciliation"),
        ("topic.orders", "reconciliation"),
        ("topic.orders", "freshness"),
    }
    differing = command(place, "diff", "--select", "topic.orders", code=2)["tables"]
    assert [
        "the source tells what comes, and is not asked for the rows that it has" in each["error"] for each in differing
    ] == [True]


@pytest.mark.acceptance
def test_a_process_that_is_killed_is_made_good_by_the_next(place: Place) -> None:
    place.sync("orders")
    later(place)
    process = subprocess.Popen(
        _command("sync"),
        cwd=place.folder,
        env=_environment(place),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    log = place.folder / "lake/shop/topic/orders/_delta_log"
    there = len([*log.glob("*.json")])
    while len([*log.glob("*.json")]) == there:
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert {each["table"]: each["error"] for each in command(place, "sync")["tables"]} == {
        "topic.orders": None,
        "topic.audit": None,
    }
    for name in ("orders", "audit"):
        place.check(name)
