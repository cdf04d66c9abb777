"""`reset`: rewind watermarks, with a row in the audit trail."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli.answer import Answer, Cell, Grid, Note, Shown, exit_code_of, worst
from incremental_assets.cli.audited import audited
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.reports import text
from incremental_assets.cli.selection import Selection, Trouble, remembered, selected, unworkable, with_problems
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.errors import IncrementalAssetsError, Refused, SelectionError
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

Values = dict[TableId, CursorValue | None]
"""The new watermark by table."""


def run(config: Path | None, patterns: Sequence[str], *, to: str | None, yes: bool, reason: str = "") -> Answer:
    """Run the command."""
    if not patterns:
        raise SelectionError("name the tables with --select source.schema.table; --select '*' is all of them")
    with opened(configured(config)) as runtime:
        found = tables_to_reset(runtime, patterns)
        positions = runtime.checkpoints.positions()
        values = {spec.id: _value(spec, to) for spec in found.specs}
        if not yes and found.specs:
            raise Refused(unconfirmed(_consequences(found.specs, positions, values), found))
        run_id = str(uuid.uuid4())
        audited(runtime, Act.RESET, [spec.id for spec in found.specs], run_id, reason)
        ends = {spec.id: _reset(runtime, spec, values[spec.id], run_id) for spec in found.specs}
    ends |= {trouble.table: trouble.error for trouble in found.troubles}
    return with_problems(_answer(run_id, ends, positions), found)


def tables_to_reset(runtime: Runtime, patterns: Sequence[str]) -> Selection:
    """The tables as the source shows them; a source that is down, or was exchanged for another, does not prevent a reset."""
    found = selected(runtime, patterns)
    if not found.unreachable:
        return found
    known = {spec.id: spec for spec in remembered(runtime, patterns).specs}
    back = [
        known[trouble.table]
        for trouble in found.troubles
        if trouble.table.source in found.unreachable and trouble.table in known
    ]
    left: tuple[Trouble, ...] = tuple(
        trouble for trouble in found.troubles if trouble.table not in {spec.id for spec in back}
    )
    return replace(found, specs=(*found.specs, *back), troubles=left)


def unconfirmed(consequences: Sequence[str], found: Selection) -> str:
    """What would happen, what could not, and how to have it done."""
    return "\n".join([*consequences, *unworkable(found), "nothing was changed; add --yes to confirm"])


def _value(spec: TableSpec, to: str | None) -> CursorValue | None:
    if to is None:
        return None
    if spec.read_by is None:
        raise SelectionError(
            f"{spec.id}: this table is {capture_of(spec).words} and has no watermark; reset it without --to"
        )
    try:
        return CursorValue.parse(spec.read_by.type, to)
    except ValueError as error:
        raise SelectionError(f"--to: {error}") from None


def _consequences(specs: Sequence[TableSpec], positions: dict[TableId, Checkpoint], values: Values) -> list[str]:
    """The effect of a reset, table by table."""
    lines = []
    for spec in specs:
        state = positions.get(spec.id, Checkpoint()).state
        to = values[spec.id]
        if to is None:
            then = "the next sync reads everything again" + (f" from {spec.start} on" if spec.start else "")
        elif state and state.position.reaches(to):
            then = f"the next sync reads everything from {to} on again"
        else:
            then = "rows between the two would never be read"
        if spec.traits.keeps_versions:
            then += ", and adds versions that it has not seen"
        was = state.position if state else "nothing"
        lines.append(f"{spec.id}: the watermark would go from {was} to {to or 'before everything'}: {then}")
    return lines


def _reset(runtime: Runtime, spec: TableSpec, to: CursorValue | None, run_id: str) -> State | IncrementalAssetsError:
    try:
        return reset_table(spec=spec, to=to, run_id=run_id, checkpoints=runtime.checkpoints)
    except IncrementalAssetsError as error:
        return error


def _answer(
    run_id: str,
    ends: dict[TableId, State | IncrementalAssetsError],
    positions: dict[TableId, Checkpoint],
) -> Answer:
    entries, rows = [], []
    errors = {table: end for table, end in ends.items() if isinstance(end, IncrementalAssetsError)}
    for table, end in ends.items():
        before, error = positions.get(table, Checkpoint()).state, errors.get(table)
        after = before if isinstance(end, IncrementalAssetsError) else end
        was, now = (state.position.watermark if state else None for state in (before, after))
        status = "failed" if error else "reset"
        entries.append(
            {
                "source": table.source,
                "table": render_table(table.schema, table.name),
                "status": status,
                "previous_watermark": text(was),
                "new_watermark": text(now),
                "error": str(error) if error else None,
            }
        )
        rows.append((str(table), Cell(status, "bad" if error else "good"), _words(before), _words(after)))
    shown: list[Shown] = [Grid(("table", "status", "was", "is now"), tuple(rows))]
    shown += [Note(str(error), "bad") for error in errors.values()]
    return Answer(
        {"run_id": run_id, "tables": entries},
        tuple(shown),
        worst([exit_code_of(error) for error in errors.values()]),
    )


def _words(state: State | None) -> str:
    """Where it stands: its watermark, or what else its capture goes on from."""
    if state is None:
        return "none"
    return str(state.position) if state.position.capture else text(state.position.watermark) or "none"
