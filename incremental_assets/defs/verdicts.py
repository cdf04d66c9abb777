"""Verdicts reported without a check run: by the sensor, and by a sync for its own table.

Dagster shows a check as evaluated only where its last evaluation names the newest materialization of its asset. One that names none is taken for older where both
fall into one second, as SQLite keeps no more of the time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dagster import AssetCheckEvaluation, AssetCheckKey, AssetKey, DagsterInstance, EventLogRecord

# Not exported by `dagster`; tests/defs/test_light_checks.py fails if it, or what is asked of it here, is no longer as it was.
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationTargetMaterializationData
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionRecord,
    AssetCheckExecutionRecordStatus,
)

from incremental_assets.core.checks.run_checks import Scope, audit
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verdict import Check, Verdict
from incremental_assets.core.ports import Ports
from incremental_assets.defs import metadata
from incremental_assets.defs.names import AssetKeys


def evaluation_fields(verdict: Verdict, keys: AssetKeys) -> dict[str, Any]:
    """What Dagster stores of a check, for every way to evaluate it."""
    return {
        "asset_key": keys.checked(verdict.table, verdict.check),
        "check_name": str(verdict.check),
        "passed": verdict.passed,
        "severity": metadata.severity_of(verdict),
        "description": verdict.detail,
        "metadata": metadata.of_verdict(verdict),
    }


def evaluations(instance: DagsterInstance, verdicts: Sequence[Verdict], keys: AssetKeys) -> list[AssetCheckEvaluation]:
    """Reported without a run, each of the newest materialization of its asset."""
    newest = _newest(instance, {keys.checked(each.table, each.check) for each in verdicts})
    return [_evaluation(each, newest.get(keys.checked(each.table, each.check)), keys) for each in verdicts]


def report(instance: DagsterInstance, verdict: Verdict, keys: AssetKeys) -> None:
    """Have Dagster show one of them."""
    (found,) = evaluations(instance, [verdict], keys)
    instance.report_runless_asset_event(found)


def _newest(instance: DagsterInstance, assets: Collection[AssetKey]) -> dict[AssetKey, EventLogRecord]:
    records = instance.get_asset_records([*assets]) if assets else ()
    found = {each.asset_entry.asset_key: each.asset_entry.last_materialization_record for each in records}
    return {asset: record for asset, record in found.items() if record is not None}


def _evaluation(verdict: Verdict, of: EventLogRecord | None, keys: AssetKeys) -> AssetCheckEvaluation:
    target = of and AssetCheckEvaluationTargetMaterializationData(
        storage_id=of.storage_id, run_id=of.run_id, timestamp=of.timestamp
    )
    return AssetCheckEvaluation(**evaluation_fields(verdict, keys), target_materialization_data=target)


def report_light_checks(
    instance: DagsterInstance, spec: TableSpec, terms: TableConfig, ports: Ports, keys: AssetKeys
) -> None:
    """Report the checks of schema and contract after a table's sync: those whose outcome has changed or that are of an earlier materialization, and held rows each time.

    They cost a read of the lake's logs.
    """
    newest = _newest(instance, [keys.of(spec.id)]).get(keys.of(spec.id))
    for verdict in audit((spec,), Scope(1, lambda _: (Check.SCHEMA, Check.CONTRACT)), lambda _: terms, ports):
        key = AssetCheckKey(keys.of(spec.id), str(verdict.check))
        last = instance.get_latest_asset_check_evaluation_record(key)
        has_changed = last is None or (last.status is AssetCheckExecutionRecordStatus.SUCCEEDED) != verdict.passed
        if has_changed or _is_older(last, newest) or (verdict.check is Check.CONTRACT and not verdict.passed):
            instance.report_runless_asset_event(_evaluation(verdict, newest, keys))


def _is_older(last: AssetCheckExecutionRecord | None, newest: EventLogRecord | None) -> bool:
    """Whether a check was evaluated of an earlier materialization than the newest."""
    evaluated = last.evaluation if last else None
    of = evaluated.target_materialization_data if evaluated else None
    return newest is not None and (of is None or of.storage_id != newest.storage_id)
