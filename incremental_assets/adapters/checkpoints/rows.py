"""Events to rows and rows to events: columns named for people who query them, and JSON that the program reads back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from incremental_assets.adapters.checkpoints.tables import names_of, table_of
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.model.cursor import CursorValue, dump_value, load_value
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.identifiers import quote, render_table
from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from incremental_assets.core.planning.target import AsLeft
from incremental_assets.core.strategies import Strategy


def sync_id(table: TableId) -> str:
    """The UUID of a table's sync, made from the table's name: the same forever and in every checkpoint database."""
    name = f"{quote(table.source)}.{render_table(table.schema, table.name)}"
    return str(uuid5(NAMESPACE_OID, f"incremental-assets:{name}"))


def row_of(event: Event) -> dict[str, Any]:
    """The row of an event, but for its id and its times, which the database gives."""
    table_id, version, seq = event.target or (None, None, None)
    row: dict[str, Any] = {
        **names_of(event.table),
        "sync_id": sync_id(event.table),
        "seq": event.seq,
        "event": event.kind.value,
        "run_id": event.run_id,
        "batch_id": event.batch_id,
        "app_id": event.app_id,
        "detail": _clean(event.detail),
        "target_table_id": table_id,
        "target_version": version,
        "target_seq": seq,
    }
    if event.report is not None:
        row |= _report_columns(event.report)
    if event.state is not None:
        row |= _state_columns(event.state)
    return row


def event_of(row: Any) -> Event:
    """The event of a row."""
    table = table_of(row)
    return Event(
        table=table,
        kind=EventKind(row.event),
        run_id=row.run_id,
        seq=row.seq,
        batch_id=row.batch_id,
        app_id=row.app_id,
        state=state_of(row.state) if row.state else None,
        report=report_from(table, row.report) if row.report else None,
        target=target_of(row),
        detail=row.detail,
    )


def target_of(row: Any) -> AsLeft | None:
    """The target of a row."""
    if row is None or row.target_table_id is None:
        return None
    return AsLeft(row.target_table_id, row.target_version, row.target_seq)


def report_from(table: TableId, text: str) -> SyncReport:
    """The report of a row."""
    document = json.loads(text)
    window = document["window"]
    return SyncReport(
        table=table,
        run_id=document["run_id"],
        strategy=Strategy(document["strategy"]),
        mode=Mode(document["mode"]),
        status=Status(document["status"]),
        guarantee=Guarantee(document["guarantee"]) if document["guarantee"] else None,
        guarantee_reason=document["guarantee_reason"],
        within=None if document.get("within") is None else timedelta(seconds=document["within"]),
        window=Window(load_value(window[0]), load_value(window[1])) if window else None,
        settled=load_value(document["settled"]),
        previous_watermark=load_value(document["previous_watermark"]),
        new_watermark=load_value(document["new_watermark"]),
        seq=document["seq"],
        rows=RowCounts(**document["rows"]),
        target_version=document["target_version"],
        schema_changes=tuple(SchemaChange.from_json(change) for change in document.get("schema_changes", ())),
        lag=document.get("lag"),
        seconds=document["seconds"],
        phases=tuple((phase, seconds) for phase, seconds in document["stages"]),
        warnings=tuple(document["warnings"]),
        reason=document["reason"],
        error=document["error"],
    )


def _report_text(report: SyncReport) -> str:
    window = report.window
    return _json(
        {
            "run_id": report.run_id,
            "strategy": report.strategy,
            "mode": report.mode,
            "status": report.status,
            "guarantee": report.guarantee,
            "guarantee_reason": report.guarantee_reason,
            "within": None if report.within is None else report.within.total_seconds(),
            "window": [dump_value(window.lower), dump_value(window.upper)] if window else None,
            "settled": dump_value(report.settled),
            "previous_watermark": dump_value(report.previous_watermark),
            "new_watermark": dump_value(report.new_watermark),
            "seq": report.seq,
            "rows": asdict(report.rows),
            "target_version": report.target_version,
            "lag": report.lag,
            "seconds": report.seconds,
            "stages": report.phases,
            "warnings": report.warnings,
            "schema_changes": [change.to_json() for change in report.schema_changes],
            "reason": report.reason,
            "error": report.error,
        }
    )


def _report_columns(report: SyncReport) -> Mapping[str, Any]:
    window = report.window or Window(None, None)
    return {
        "mode": report.mode.value,
        "strategy": report.strategy.value,
        "status": report.status.value,
        "previous_watermark": _text(report.previous_watermark),
        "new_watermark": _text(report.new_watermark),
        "window_lower": _text(window.lower),
        "window_upper": _text(window.upper),
        "settled": _text(report.settled),
        "guarantee": report.guarantee.value if report.guarantee else None,
        "guarantee_reason": _clean(report.guarantee_reason),
        **{f"rows_{name}": count for name, count in asdict(report.rows).items()},
        "target_version": report.target_version,
        "seconds": report.seconds,
        "stages": _json(dict(report.phases)),
        "warnings": _json(report.warnings),
        "error": _clean(report.error) if report.error is not None else None,
        "report": _report_text(report),
    }


def _state_columns(state: State) -> Mapping[str, Any]:
    return {
        "strategy": state.terms.strategy.value,
        "cursor_column": state.terms.cursor.rpartition(":")[0],
        "new_watermark": _text(state.position.watermark),
        "state": state.to_json(),
    }


def _json(value: Any) -> str:
    # Escaped to ASCII, so that no character of an error message can be one that the database refuses.
    return json.dumps(value, separators=(",", ":"))


def _clean(text: str) -> str:
    """The text without NUL, which PostgreSQL cannot hold, and with lone surrogates, which UTF-8 cannot hold, written as `\\udc80`."""
    return text.replace("\x00", "").encode("utf-8", "backslashreplace").decode("utf-8")


def _text(value: CursorValue | None) -> str | None:
    return None if value is None else value.text
