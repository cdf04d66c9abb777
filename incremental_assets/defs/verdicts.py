"""Verdicts reported without a check run: by the sensor, and by a sync for its own table."""

from __future__ import annotations

from typing import Any

from dagster import AssetCheckEvaluation, AssetCheckKey, DagsterInstance
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from incremental_assets.core.checks.run_checks import Scope, audit
from incremental_assets.core.config.settings import TableConfig
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


def report_light_checks(instance: DagsterInstance, spec: TableSpec, terms: TableConfig, ports: Ports) -> None:
    """Report the checks of schema and contract after a table's sync: those whose outcome has changed, and held rows each time. They cost a read of the lake's logs."""
    for verdict in audit((spec,), Scope(1, lambda _: (Check.SCHEMA, Check.CONTRACT)), lambda _: terms, ports):
        key = AssetCheckKey(asset_key(spec.id), str(verdict.check))
        last = instance.get_latest_asset_check_evaluation_record(key)
        has_changed = last is None or (last.status is AssetCheckExecutionRecordStatus.SUCCEEDED) != verdict.passed
        if has_changed or (verdict.check is Check.CONTRACT and not verdict.passed):
            instance.report_runless_asset_event(evaluation(verdict))
