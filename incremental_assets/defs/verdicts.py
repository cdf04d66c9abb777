"""Verdicts reported without a check run: by the sensor, and by a sync for its own table."""

from __future__ import annotations

from typing import Any

from dagster import AssetCheckEvaluation, AssetCheckKey, DagsterInstance
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from incremental_assets.core.checks.run_checks import Scope, audit
from incremental_assets.core.config.load import TableConfig
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verdict import Check, Verdict
from incremental_assets.core.ports import Ports
from incremental_assets.defs import metadata
from incremental_assets.defs.names import asset_key, checked_key


def evaluation_fields(verdict: Verdict) -> dict[str, Any]:
    """What Dagster stores of a check, for every way to evaluate it."""
    return {
        "asset_key": checked_key(verdict.table, verdict.check),
        "check_name": str(verdict.check),
        "passed": verdict.passed,
        "severity": metadata.severity_of(verdict),
        "description": verdict.detail,
        "metadata": metadata.of_verdict(verdict),
    }


def evaluation(verdict: Verdict) -> AssetCheckEvaluation:
    """Reported without a run."""
    return AssetCheckEvaluation(**evaluation_fields(verdict))


def report_schema_check(instance: DagsterInstance, spec: TableSpec, terms: TableConfig, ports: Ports) -> None:
    """The schema verdict of a table after its sync, if it changed: it costs one read of the lake's log."""
    last = instance.get_latest_asset_check_evaluation_record(AssetCheckKey(asset_key(spec.id), str(Check.SCHEMA)))
    for verdict in audit((spec,), Scope(1, lambda _: (Check.SCHEMA,)), lambda _: terms, ports):
        if last is None or (last.status is AssetCheckExecutionRecordStatus.SUCCEEDED) != verdict.passed:
            instance.report_runless_asset_event(evaluation(verdict))
