"""`reset --accept-source`: continue from the same watermark with the database that answers now, with a row in the audit trail."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

from incremental_assets.cli.answer import Answer, Cell, Grid, Note, Shown, exit_code_of, worst
from incremental_assets.cli.audited import audited
from incremental_assets.cli.commands.reset import tables_to_reset, unconfirmed
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.reports import text
from incremental_assets.cli.selection import with_problems
from incremental_assets.core.errors import IncrementalAssetsError, Refused, SelectionError
from incremental_assets.core.maintenance.reset import accept_source
from incremental_assets.core.model.cures import check
from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint


def run(config: Path | None, patterns: Sequence[str], *, to: str | None, yes: bool, reason: str = "") -> Answer:
    """Run the command."""
    if not patterns:
        raise SelectionError("name the tables with --select source.schema.table; --select '*' is all of them")
    if to is not None:
        raise SelectionError("--accept-source keeps the watermark and --to moves it: give one of the two")
    with opened(configured(config)) as runtime:
        found = tables_to_reset(runtime, patterns)
        positions = runtime.checkpoints.positions()
        if not yes and found.specs:
            raise Refused(unconfirmed(_consequences([spec.id for spec in found.specs], positions), found))
        run_id = str(uuid.uuid4())
        audited(runtime, Act.ACCEPT_SOURCE, [spec.id for spec in found.specs], run_id, reason)
        ends: dict[TableId, IncrementalAssetsError | None] = {each.table: each.error for each in found.troubles}
        for spec in found.specs:
            try:
                accept_source(spec=spec, run_id=run_id, checkpoints=runtime.checkpoints)
                ends[spec.id] = None
            except IncrementalAssetsError as error:
                ends[spec.id] = error
    return with_problems(_answer(run_id, ends, positions), found)


def _consequences(tables: Sequence[TableId], positions: dict[TableId, Checkpoint]) -> list[str]:
    lines = []
    for table in tables:
        state = positions.get(table, Checkpoint()).state
        kept = state.identity if state else None
        was = str(kept) if kept else "the source so far"
        mark = (state.position.watermark if state else None) or "nothing"
        lines.append(
            f"{table}: the next sync would go on from {mark} with whichever database answers, in place of {was}; "
            f"make sure that the rows below the watermark are the same: {check(table)} compares them"
        )
    return lines


def _answer(
    run_id: str, ends: dict[TableId, IncrementalAssetsError | None], positions: dict[TableId, Checkpoint]
) -> Answer:
    entries, rows = [], []
    for table, error in ends.items():
        state = positions.get(table, Checkpoint()).state
        mark = text(state.position.watermark if state else None)
        status = "failed" if error else "accepted"
        entries.append(
            {
                "source": table.source,
                "table": render_table(table.schema, table.name),
                "status": status,
                "previous_watermark": mark,
                "new_watermark": mark,
                "error": str(error) if error else None,
            }
        )
        rows.append((str(table), Cell(status, "bad" if error else "good"), mark or "none"))
    shown: list[Shown] = [Grid(("table", "status", "watermark"), tuple(rows))]
    shown += [Note(str(error), "bad") for error in ends.values() if error]
    if any(error is None for error in ends.values()):
        shown.append(
            Note(
                "the next sync accepts the database that answers; `incremental-assets check` then proves that its rows are the same"
            )
        )
    return Answer(
        {"run_id": run_id, "tables": entries},
        tuple(shown),
        worst([exit_code_of(error) for error in ends.values() if error]),
    )
