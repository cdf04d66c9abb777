"""`reset`: rewind watermarks, with a row in the audit trail."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.core.cursor import CursorValue
from incremental_assets.core.errors import IncrementalAssetsError, Refused, SelectionError
from incremental_assets.core.names import render_table
from incremental_assets.core.ports import Position
from incremental_assets.core.reset import reset_table
from incremental_assets.core.table import Strategy, TableId, TableSpec
from incremental_assets.verbs.answer import Answer, Cell, Grid, Note, Shown, exit_code_of, worst
from incremental_assets.verbs.opening import configured, opened
from incremental_assets.verbs.reports import text
from incremental_assets.verbs.survey import Survey, Trouble, remembered, survey

if TYPE_CHECKING:
    from resources.runtime import Runtime


def run(config: Path | None, patterns: Sequence[str], *, to: str | None, yes: bool) -> Answer:
    """The verb."""
    if not patterns:
        raise SelectionError("name the tables with --select source.schema.table; --select '*' is all of them")
    with opened(configured(config)) as runtime:
        found = _found(runtime, patterns)
        positions = runtime.checkpoints.positions()
        values = {spec.id: _value(spec, to) for spec in found.specs}
        if not yes:
            raise Refused(_consequences(found.specs, positions, values))
        run_id = str(uuid.uuid4())
        done = [_reset(runtime, spec, values[spec.id], run_id, positions) for spec in found.specs]
    done += [_entry(trouble.table, positions, None, str(trouble.error), exit_code_of(trouble.error)) for trouble in found.troubles]
    return _answer(run_id, done)


def _found(runtime: Runtime, patterns: Sequence[str]) -> Survey:
    """As the source shows its tables; a source that is away, or was exchanged for another, does not stand in the way of a reset."""
    found = survey(runtime, patterns)
    if not found.unreachable:
        return found
    known = {spec.id: spec for spec in remembered(runtime, patterns).specs}
    back = [known[trouble.table] for trouble in found.troubles if trouble.table.source in found.unreachable and trouble.table in known]
    left: tuple[Trouble, ...] = tuple(trouble for trouble in found.troubles if trouble.table not in {spec.id for spec in back})
    return Survey((*found.specs, *back), left, found.unreachable)


def _value(spec: TableSpec, to: str | None) -> CursorValue | None:
    if to is None:
        return None
    if spec.cursor is None or not spec.is_incremental:
        raise SelectionError(f"{spec.id}: this table is read whole and has no watermark; reset it without --to")
    try:
        return CursorValue.parse(spec.cursor.type, to)
    except ValueError as error:
        raise SelectionError(f"--to: {error}") from None


def _consequences(specs: Sequence[TableSpec], positions: dict[TableId, Position], values: dict[TableId, CursorValue | None]) -> str:
    """What a reset would do, table by table."""
    lines = []
    for spec in specs:
        state = positions.get(spec.id, Position()).state
        was, to = (state.watermark if state else None), values[spec.id]
        if to is not None and was is not None and was.type is to.type and was < to:
            then = "rows between the two would never be read"
        elif to is not None:
            then = f"the next sync reads everything from {to} on again"
        else:
            then = "the next sync reads everything again" + (f" from {spec.start} on" if spec.start else "")
        if spec.strategy is Strategy.APPEND:
            then += ", and adds versions that it has not seen"
        lines.append(f"{spec.id}: the watermark would go from {was or 'nothing'} to {to or 'nothing'}: {then}")
    return "\n".join([*lines, "nothing was changed; add --yes if that is meant"])


def _reset(
    runtime: Runtime, spec: TableSpec, to: CursorValue | None, run_id: str, positions: dict[TableId, Position]
) -> dict[str, Any]:
    try:
        reset_table(spec=spec, to=to, run_id=run_id, checkpoints=runtime.checkpoints, force=True)
    except IncrementalAssetsError as error:
        return _entry(spec.id, positions, to, str(error), exit_code_of(error))
    return _entry(spec.id, positions, to, None, 0)


def _entry(table: TableId, positions: dict[TableId, Position], to: CursorValue | None, error: str | None, code: int) -> dict[str, Any]:
    state = positions.get(table, Position()).state
    return {
        "source": table.source,
        "table": render_table(table.schema, table.name),
        "status": "failed" if error else "reset",
        "previous_watermark": text(state and state.watermark),
        "new_watermark": text(to) if not error else text(state and state.watermark),
        "error": error,
        "_code": code,
    }


def _answer(run_id: str, done: list[dict[str, Any]]) -> Answer:
    code = worst([entry.pop("_code") for entry in done])
    rows = tuple(
        (
            f"{entry['source']}.{entry['table']}",
            Cell(entry["status"], "bad" if entry["error"] else "good"),
            entry["previous_watermark"] or "none",
            entry["new_watermark"] or "none",
        )
        for entry in done
    )
    shown: list[Shown] = [Grid(("table", "status", "was", "is now"), rows)]
    shown += [Note(entry["error"], "bad") for entry in done if entry["error"]]
    return Answer({"run_id": run_id, "tables": done}, tuple(shown), code)
