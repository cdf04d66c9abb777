"""Dagster in this process: its instance, its daemon's own loops one step at a time, and GraphQL as the UI asks it.

A run is executed where it is launched, so that the one Spark session of the tests serves them all. Everything else is Dagster's real
path: ticks of the sensor, backfills with their ranges and tags, jobs that are launched from a page.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dagster import DagsterInstance
from dagster._core.instance_for_test import instance_for_test
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.backfill import execute_backfill_iteration
from dagster._daemon.sensor import execute_sensor_iteration
from dagster_graphql.schema import create_schema
from dagster_graphql.test.utils import execute_dagster_graphql

LOCATION = "incremental_assets"
_SCHEMA = create_schema()
_LOG = logging.getLogger("tests.daemon")

_SELECTOR = {"repositoryName": "__repository__", "repositoryLocationName": LOCATION}
_NODE = """
query ($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
    partitionKeys
    partitionStats { numMaterialized numFailed numPartitions }
    assetPartitionStatuses {
        ... on TimePartitionStatuses { ranges { status startKey endKey } }
        ... on DefaultPartitionStatuses { materializedPartitions failedPartitions } }
    assetMaterializations(limit: 1000) { runId partition timestamp metadataEntries {
        label ... on IntMetadataEntry { intValue } ... on TextMetadataEntry { text } } } } } }
"""
_CHECKS = """
query ($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
    assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization {
        status evaluation { success severity description metadataEntries {
            label ... on FloatMetadataEntry { floatValue } ... on IntMetadataEntry { intValue }
            ... on TextMetadataEntry { text } ... on JsonMetadataEntry { jsonString } } } } } } } } } }
"""
_BACKFILL = """
mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }
"""
_STATUS = "query ($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"
_LAUNCH = """
mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""
_RUNS = "{ runsOrError { ... on Runs { results { runId status tags { key value } assetSelection { path } } } } }"


@dataclass(frozen=True)
class Asset:
    """What GraphQL says of one asset."""

    keys: tuple[str, ...]
    materialized: frozenset[str]
    failed: frozenset[str]
    stats: Mapping[str, int]
    events: tuple[Mapping[str, Any], ...]
    """Materializations, newest first: `run`, `partition`, and every number and text of their metadata."""


@dataclass(frozen=True)
class Dagster:
    """The instance and the code location that it serves."""

    instance: DagsterInstance
    process: WorkspaceProcessContext

    def ask(self, query: str, **variables: Any) -> Any:
        """GraphQL, as the pages ask."""
        context = self.process.create_request_context()
        return execute_dagster_graphql(context, query, variables, schema=_SCHEMA).data

    def tick(self) -> None:
        """The sensor daemon's next look, and every run that it asks for, to its end."""
        deadline = time.monotonic() + 60
        before = self._ticks()
        while self._ticks() == before:
            assert time.monotonic() < deadline, "the sensor never ticks"
            for error in execute_sensor_iteration(self.process, _LOG, None, None):
                assert error is None, error
            time.sleep(0.1)

    def backfill(self, partitions: Mapping[str, Sequence[str]]) -> None:
        """What the dialog behind `Materialize` launches, for each table the partitions ticked there, and the daemon's work on it."""
        made = [
            self.ask(_BACKFILL, params={"assetSelection": [{"path": _path(table)}], "partitionNames": list(keys)})
            for table, keys in partitions.items()
        ]
        names = [each["launchPartitionBackfill"].get("backfillId") for each in made]
        assert all(names), made
        deadline = time.monotonic() + 240
        while "REQUESTED" in (statuses := [self._backfill_status(name) for name in names]):
            assert time.monotonic() < deadline, "a backfill never ends"
            for error in execute_backfill_iteration(self.process, _LOG):
                assert error is None, error
        assert set(statuses) == {"COMPLETED_SUCCESS"}, statuses

    def launch(self, job: str, tables: Sequence[str] = (), checks: Sequence[tuple[str, str]] = (), **tags: str) -> None:
        """A job as its page launches it, to its end; `tables` and `checks` restrict it."""
        selector: dict[str, Any] = {**_SELECTOR, "jobName": job}
        if tables or checks:
            selector["assetSelection"] = [{"path": _path(table)} for table in tables]
            selector["assetCheckSelection"] = [
                {"assetKey": {"path": _path(table)}, "name": name} for table, name in checks
            ]
        told = [{"key": key, "value": value} for key, value in tags.items()]
        params = {"selector": selector, "mode": "default", "executionMetadata": {"tags": told}}
        made = self.ask(_LAUNCH, params=params)["launchRun"]
        assert made["__typename"] == "LaunchRunSuccess", made

    def asset(self, table: str) -> Asset:
        """One copy as its page shows it."""
        node = self.ask(_NODE, key={"path": _path(table)})["assetNodeOrError"]
        keys, said = tuple(node["partitionKeys"]), node["assetPartitionStatuses"]
        if "ranges" in said:
            place = {key: number for number, key in enumerate(keys)}
            spread = [
                (key, part["status"])
                for part in said["ranges"]
                for key in keys[place[part["startKey"]] : place[part["endKey"]] + 1]
            ]
            done = frozenset(key for key, status in spread if status == "MATERIALIZED")
            failed = frozenset(key for key, status in spread if status == "FAILED")
        else:
            done, failed = frozenset(said["materializedPartitions"]), frozenset(said["failedPartitions"])
        events = tuple(
            {"run": event["runId"], "partition": event["partition"], **_metadata(event["metadataEntries"])}
            for event in node["assetMaterializations"]
        )
        return Asset(keys, done, failed, node["partitionStats"], events)

    def checks(self, table: str) -> dict[str, dict[str, Any]]:
        """The last result of each check of a table, by its name."""
        node = self.ask(_CHECKS, key={"path": _path(table)})["assetNodeOrError"]
        found = {}
        for check in node["assetChecksOrError"]["checks"]:
            last = check["executionForLatestMaterialization"]
            said = last and last["evaluation"]
            if said:
                found[check["name"]] = {**said, **_metadata(said["metadataEntries"])}
        return found

    def runs(self) -> list[dict[str, Any]]:
        """All runs, newest first: `status`, `tags` by key, and the names of their `tables`."""
        return [
            {
                "status": run["status"],
                "tags": {tag["key"]: tag["value"] for tag in run["tags"]},
                "tables": {key["path"][-1] for key in run["assetSelection"] or ()},
            }
            for run in self.ask(_RUNS)["runsOrError"]["results"]
        ]

    def _ticks(self) -> int:
        states = self.instance.all_instigator_state()
        ticks = [self.instance.get_ticks(state.instigator_origin_id, state.selector_id) for state in states]
        return sum(len(each) for each in ticks)

    def _backfill_status(self, backfill: str) -> str:
        return str(self.ask(_STATUS, id=backfill)["partitionBackfillOrError"]["status"])


@contextmanager
def dagster() -> Iterator[Dagster]:
    """Around the definitions of `INCREMENTAL_ASSETS_CONFIG`, loaded as `workspace.yaml` loads them."""
    from incremental_assets.resources.session import _session

    target = LoadableTargetOrigin(executable_path=sys.executable, module_name="incremental_assets.definitions")
    load = InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(target, location_name=LOCATION))
    try:
        with (
            instance_for_test(synchronous_run_coordinator=True, synchronous_run_launcher=True) as instance,
            WorkspaceProcessContext(instance, load) as process,
        ):
            yield Dagster(instance, process)
    finally:
        # The session is the test run's own, and must not be kept for whoever opens a runtime later in this process.
        _session.cache_clear()


def _path(table: str) -> list[str]:
    return ["shop", "public", table]


def _metadata(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Label to value, of those kinds that were asked for."""
    return {
        entry["label"]: next(value for name, value in entry.items() if name != "label")
        for entry in entries
        if len(entry) > 1
    }
