"""Reports and verdicts as Dagster shows them: the only place that names metadata keys."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dagster import (
    AssetCheckSeverity,
    AssetKey,
    BetaWarning,
    CodeReferencesMetadataValue,
    LocalFileCodeReference,
    MetadataValue,
    TableColumn,
    TableColumnConstraints,
    TableColumnDep,
    TableColumnLineage,
    TableSchema,
)

from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_AT, COMMIT_LSN, version_columns
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.compaction import Compacted
from incremental_assets.core.model.history import DELETED, IS_CURRENT, VALID_FROM, VALID_TO, HistoryRows
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.registration import Registration
from incremental_assets.core.model.retention import Pruned
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from incremental_assets.core.operations.budgets import Budget
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.defs.names import source_key

Metadata = Mapping[str, Any]

_MEASURED = {
    Check.FRESHNESS: ("lag_seconds", "limit_seconds"),
    Check.DUPLICATES: ("keys_repeated", ""),
    Check.RECONCILIATION: ("rows_differing", ""),
    Check.CONTRACT: ("rows_held", ""),
    Check.CURRENT: ("keys_differing", ""),
    Check.OVERLAP: ("keys_overlapping", ""),
}
"""What a check counts, and its limit; a schema is the same or not, and nothing to plot."""
PAGES = {
    Check.FRESHNESS: "troubleshooting",
    Check.DUPLICATES: "how-to/recover",
    Check.RECONCILIATION: "how-to/recover",
    Check.SCHEMA: "how-to/change-a-schema",
    Check.CONTRACT: "how-to/quarantine",
    Check.CURRENT: "how-to/history",
    Check.OVERLAP: "how-to/history",
}
"""Where there is more on a check that has not passed."""

_TOTALS = frozenset(
    {
        *(f"rows_{what}" for what in ("read", "inserted", "updated", "deleted", "unchanged", "late", "quarantined")),
        *("versions_added", "versions_ended"),
    }
)
"""Entries that are sums over a run; those of how long it took begin with `seconds`."""

_OWN_COLUMNS = (
    TableColumn(name="_sync_run_id", type="string", description="The run that landed the row."),
    TableColumn(
        name="_sync_seq",
        type="bigint",
        description="The sequence of the sync that landed it: a higher one read a later snapshot.",
    ),
    TableColumn(name="_sync_at", type="timestamp", description="When it landed."),
)
_DELETED_AT = TableColumn(
    name="_sync_deleted_at",
    type="timestamp",
    description="When it was found gone from the source; empty while it is there.",
)
"""The column of a table whose deletes are marked."""


_VERSION_COLUMNS = {
    VALID_FROM: TableColumn(name=VALID_FROM, type="timestamp", description="From when on the row was so."),
    VALID_TO: TableColumn(
        name=VALID_TO, type="timestamp", description="When it was so no longer; empty of the newest version."
    ),
    IS_CURRENT: TableColumn(name=IS_CURRENT, type="boolean", description="Whether the copy shows this version now."),
    DELETED: TableColumn(
        name=DELETED,
        type="boolean",
        description="Whether the row was gone from the source; it then holds its last values.",
    ),
    COMMIT_LSN: TableColumn(
        name=COMMIT_LSN, type="bigint", description="Where in the source's log its transaction was committed."
    ),
    CHANGE_NUMBER: TableColumn(
        name=CHANGE_NUMBER, type="bigint", description="Its place among the changes of that transaction."
    ),
    COMMIT_AT: TableColumn(name=COMMIT_AT, type="timestamp", description="When that was committed."),
}


def of_table(table: TableId, uri: str, shape: TableShape | None, names: ColumnNames) -> Metadata:
    """What is known of a copy before it is made, by the source's shape and how its columns are named."""
    known: dict[str, Any] = {
        "dagster/table_name": str(table),
        "dagster/storage_kind": "deltalake",
        "dagster/uri": uri,
    }
    if shape is None:
        return known
    columns, key = _copied(shape.columns, names), tuple(map(names.of, shape.primary_key))
    return known | _columns_of(shape.id, columns, key, sources={names.of(name): name for name in shape.names})


def of_history_table(table: TableId, uri: str) -> Metadata:
    """What is known of the versions of a copy's rows before there are any."""
    return {"dagster/table_name": str(table.history), "dagster/storage_kind": "deltalake", "dagster/uri": uri}


def of_history_columns(copy: AssetKey, shape: TableShape, names: ColumnNames, own: tuple[str, ...]) -> Metadata:
    """The columns of a history, each from that of its copy, with those of its own."""
    return _columns_of_versions(copy, _copied(shape.columns, names), own)


def of_catalogues(table: TableId, register: Sequence[Registration]) -> Metadata:
    """The name by which engines find a copy, or a history: in the first of the data catalogues to which it is made known."""
    return {"dagster/table_name": register[0].of(table).name} if register else {}


def of_source(table: TableId, dialect: str, shape: TableShape | None) -> Metadata:
    """What is known of the table in the database."""
    known: dict[str, Any] = {"dagster/table_name": f"{table.schema}.{table.name}", "dagster/storage_kind": dialect}
    if shape is None:
        return known
    columns = [_column(column, column.source_type, shape.primary_key) for column in shape.columns]
    return known | {"dagster/column_schema": TableSchema(columns=columns), "rows_estimated": shape.rows}


def of_place(file: Path, line: int) -> Metadata:
    """Dagster's link to a line of the configuration, counted from 1."""
    with warnings.catch_warnings():
        # Skipped: once per table at every load is noise.
        warnings.simplefilter("ignore", BetaWarning)
        where = LocalFileCodeReference(file_path=str(file), line_number=max(1, line), label=file.name)
        return {"dagster/code_references": CodeReferencesMetadataValue(code_references=[where])}


@dataclass(frozen=True, slots=True)
class Left:
    """What is so after a sync: rows of the whole copy, those that its contract holds or that cannot land, and when the table is looked at next if not by each sync. None where it is not known."""

    rows: int | None = None
    held: HeldRows | None = None
    unfit: UnfitRows | None = None
    next_look: datetime | None = None
    verified: str | None = None
    """Up to where a reconciliation has found it equal to its source."""
    budgets: tuple[Budget, ...] = ()


_UNKNOWN = Left()


def of_report(report: SyncReport, spec: TableSpec, left: Left = _UNKNOWN) -> Metadata:
    """One sync of one table, in numbers that plot and texts that explain. Dagster shows them in this order: how fresh, how sure, then what was done."""
    entries: dict[str, Any] = {
        "lag_seconds": None if report.lag is None else round(report.lag, 3),
        "guarantee": report.promise or None,
        "guarantee_reason": report.guarantee_reason or None,
        "verified_through": left.verified,
        **{f"budget_left_{each.slo}": each.left and round(each.left, 4) for each in left.budgets},
        "window": str(report.window) if report.window else None,
        "previous_watermark": _text(report.previous_watermark),
        "new_watermark": _text(report.new_watermark),
        "settled": _text(report.settled),
        "rows_read": report.rows.read,
        "rows_inserted": report.rows.inserted,
        "rows_updated": report.rows.updated,
        "rows_deleted": report.rows.deleted,
        "rows_unchanged": report.rows.unchanged,
        "rows_late": report.rows.late,
        "rows_quarantined": report.rows.quarantined,
        "delta_version": report.target_version,
        "by_spark": report.by_spark or None,
        "sequence": report.seq,
        "mode": str(report.mode),
        "strategy": str(report.strategy),
        "seconds": round(report.seconds, 3),
        "schema_changes": MetadataValue.md("\n".join(f"* {change}" for change in report.schema_changes))
        if report.schema_changes
        else None,
        "warnings": MetadataValue.md("\n".join(f"* {warning}" for warning in report.warnings))
        if report.warnings
        else None,
    }
    entries |= {f"seconds_{phase}": round(seconds, 3) for phase, seconds in report.phases}
    own = (*_OWN_COLUMNS, _DELETED_AT) if spec.deletes.marks else _OWN_COLUMNS
    entries |= _columns_of(spec.id, spec.columns, spec.named_key, own, dict(spec.source_names))
    entries["dagster/row_count"] = left.rows
    if left.unfit is not None:
        entries |= {"rows_unfit": left.unfit.rows, "unfit": left.unfit.sentence or None}
    if left.next_look is not None:
        entries["next_look"] = left.next_look.isoformat()
    held = left.held
    if spec.contract is not None and held is not None:
        entries |= {
            "rows_held": held.rows,
            "held": held.sentence if held.rows else None,
            "keys_stale": held.stale,
            "stale_since": held.stale_since and held.stale_since.isoformat(),
        }
    return {key: value for key, value in entries.items() if value is not None}


def of_any_partition(entries: Metadata, newest: str) -> Metadata:
    """The metadata of one of several partitions of a run: what the run did stands at the `newest` alone, as people add it up."""
    return {**{name: value for name, value in entries.items() if not _is_total(name)}, "run_totals_at": newest}


def of_landed(spec: TableSpec, seq: int, report: SyncReport | None, rows: int | None) -> Metadata:
    """What is said of a partition that had landed before it was announced: without what a run did, which is not known, or stands at another partition."""
    known = of_report(report, spec) if report is not None and report.status in (Status.LANDED, Status.IDLE) else {}
    entries = {name: value for name, value in known.items() if not _is_total(name)}
    entries |= {"sequence": seq, "dagster/row_count": rows}
    return {name: value for name, value in entries.items() if value is not None}


def totals(entries: Metadata) -> Metadata:
    """What a run did in all."""
    return {name: value for name, value in entries.items() if _is_total(name)}


def _is_total(name: str) -> bool:
    return name in _TOTALS or name.startswith("seconds")


def of_history(done: HistoryRows, report: SyncReport, spec: TableSpec, copy: AssetKey) -> Metadata:
    """What a sync did to the history of its copy."""
    entries: dict[str, Any] = {
        "versions_added": done.added,
        "versions_ended": done.ended,
        "rows_deleted": done.deleted,
        "delta_version": done.version,
        "sequence": report.seq,
        "dagster/row_count": done.rows,
    }
    entries |= _columns_of_versions(copy, spec.columns, version_columns(spec.history, spec.capture))
    return {key: value for key, value in entries.items() if value is not None}


def of_compaction(done: Compacted) -> Metadata:
    """One compacted copy."""
    return {
        "maintenance": done.why.reason,
        "maintenance_seconds": round(done.seconds, 3),
        "files_before": len(done.before.sizes),
        "files": len(done.after.sizes),
        "bytes": sum(done.after.sizes),
        "delta_version": done.version,
    }


def of_pruning(done: Pruned) -> Metadata:
    """What was removed of one copy and of what lies beside it."""
    return {
        "files_removed": done.files,
        "bytes_removed": done.bytes,
        "versions_removed": done.versions,
        "quarantined_rows_removed": done.quarantined,
        "pruning_seconds": round(done.seconds, 3),
        **({"left_alone": "; ".join(done.left)} if done.left else {}),
    }


def of_partition(rows: int) -> Metadata:
    """One partition after its window was read again."""
    return {"dagster/partition_row_count": rows}


def of_verdict(verdict: Verdict) -> Metadata:
    """One check: a run over a range records it without a partition, so the window is given here.

    Dagster plots each number over time, so that each has the name of what it counts.
    """
    measured, limit = _MEASURED.get(verdict.check, ("", ""))
    entries: dict[str, Any] = {
        "what_to_do": MetadataValue.text(f"{verdict.cure}. More: `incremental-assets docs {PAGES[verdict.check]}`.")
        if verdict.cure
        else None,
        measured: verdict.measured,
        limit: verdict.threshold,
        "window": str(verdict.window) if verdict.window else None,
        "rows_in_quarantine": verdict.quarantined,
        "drifted_windows": ", ".join(map(str, verdict.drifted)) or None,
        "samples": MetadataValue.json(list(verdict.samples)) if verdict.samples else None,
    }
    return {key: value for key, value in entries.items() if key and value is not None}


def severity_of(verdict: Verdict) -> AssetCheckSeverity:
    """Dagster's word for it."""
    return AssetCheckSeverity.ERROR if verdict.severity is Severity.ERROR else AssetCheckSeverity.WARN


def _columns_of_versions(copy: AssetKey, columns: tuple[Column, ...], names: tuple[str, ...]) -> dict[str, Any]:
    """Each comes from the copy's column of that name, but those of its own."""
    lineage = {column.name: [TableColumnDep(asset_key=copy, column_name=column.name)] for column in columns}
    own = [_VERSION_COLUMNS[name] for name in names]
    schema = TableSchema(columns=[*(_column(column, column.spark_type, ()) for column in columns), *own, *_OWN_COLUMNS])
    return {"dagster/column_schema": schema, "dagster/column_lineage": TableColumnLineage(lineage)}


def _copied(columns: Iterable[Column], names: ColumnNames) -> tuple[Column, ...]:
    return tuple(replace(column, name=names.of(column.name)) for column in columns)


def _columns_of(
    table: TableId,
    columns: tuple[Column, ...],
    key: tuple[str, ...],
    own: tuple[TableColumn, ...] = _OWN_COLUMNS,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Each comes from the source's column of that name, or of the one that `sources` tells."""
    lineage = {
        column.name: [
            TableColumnDep(asset_key=source_key(table), column_name=sources.get(each.name, each.name))
            for each in column.of or (column,)
        ]
        for column in columns
        if not column.of_log
    }
    schema = TableSchema(columns=[*(_column(column, column.spark_type, key) for column in columns), *own])
    return {"dagster/column_schema": schema, "dagster/column_lineage": TableColumnLineage(lineage)}


def _column(column: Column, kind: str, key: tuple[str, ...]) -> TableColumn:
    constraints = TableColumnConstraints(nullable=column.nullable, unique=key == (column.name,))
    return TableColumn(name=column.name, type=kind, description=column.comment or None, constraints=constraints)


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)
