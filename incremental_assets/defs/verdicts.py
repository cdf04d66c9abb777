"""Verdicts told without a run of their own: by the sensor, and by a sync of the table that it has just met."""

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
from incremental_assets.defs.names import asset_key


def evaluation_fields(verdict: Verdict) -> dict[str, Any]:
    """What Dagster wants to know of a check, whoever evaluated it."""
    return {
        "asset_key": asset_key(verdict.table),
        "check_name": str(verdict.check),
        "passed": verdict.passed,
        "severity": metadata.severity_of(verdict),
        "description": verdict.detail,
        "metadata": metadata.of_verdict(verdict),
    }


def evaluation(verdict: Verdict) -> AssetCheckEvaluation:
    """Told without a run."""
    return AssetCheckEvaluation(**evaluation_fields(verdict))


def report_schema_check(instance: DagsterInstance, spec: TableSpec, terms: TableConfig, ports: Ports) -> None:
    """Whether a table that a sync has met has its source's columns, where that is news: it costs one look at the lake's log."""
    last = instance.get_latest_asset_check_evaluation_record(AssetCheckKey(asset_key(spec.id), str(Check.SCHEMA)))
    for verdict in audit((spec,), Scope(1, lambda _: (Check.SCHEMA,)), lambda _: terms, ports):
        if last is None or (last.status is AssetCheckExecutionRecordStatus.SUCCEEDED) != verdict.passed:
            instance.report_runless_asset_event(evaluation(verdict))
