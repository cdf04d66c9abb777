"""`reset --take-over`: from now on this installation writes these tables of the lake, and no other."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli.answer import Answer, Cell, Grid, Note, Shown, exit_code_of, worst
from incremental_assets.cli.audited import audited
from incremental_assets.cli.commands.reset import tables_to_reset, unconfirmed
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import with_problems
from incremental_assets.core.errors import IncrementalAssetsError, Refused, SelectionError
from incremental_assets.core.model.deed import Act
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.installation import Installation
from incremental_assets.core.model.table_id import TableId

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

Ends = Mapping[TableId, IncrementalAssetsError | Installation | None]
"""By table why it was not taken over, or who owned it before; None where nobody did."""


def run(config: Path | None, patterns: Sequence[str], *, to: str | None, yes: bool, reason: str = "") -> Answer:
    """Run the command."""
    if not patterns:
        raise SelectionError("name the tables with --select source.schema.table; --select '*' is all of them")
    if to is not None:
        raise SelectionError("--take-over keeps the watermark and --to moves it: give one of the two")
    with opened(configured(config)) as runtime:
        found = tables_to_reset(runtime, patterns)
        if not yes and found.specs:
            lines = [
                f"{spec.id}: this installation would write this table of the lake, and any other one would be refused; make sure that no other one syncs it"
                for spec in found.specs
            ]
            raise Refused(unconfirmed(lines, found))
        run_id = str(uuid.uuid4())
        audited(runtime, Act.TAKE_OVER, [spec.id for spec in found.specs], run_id, reason)
        ends: dict[TableId, IncrementalAssetsError | Installation | None] = {
            each.table: each.error for each in found.troubles
        }
        ends |= {spec.id: _taken(runtime, spec.id, run_id) for spec in found.specs}
    return with_problems(_answer(run_id, ends), found)


def _taken(runtime: Runtime, table: TableId, run_id: str) -> IncrementalAssetsError | Installation | None:
    try:
        with runtime.checkpoints.lease(table, run_id, even_paused=True):
            return runtime.ownership.take(table)
    except IncrementalAssetsError as error:
        return error


def _answer(run_id: str, ends: Ends) -> Answer:
    entries, rows = [], []
    for table, end in ends.items():
        error = end if isinstance(end, IncrementalAssetsError) else None
        before = str(end) if isinstance(end, Installation) else None
        status = "failed" if error else "taken_over"
        entries.append(
            {
                "source": table.source,
                "table": render_table(table.schema, table.name),
                "status": status,
                "owner_before": before,
                "error": str(error) if error else None,
            }
        )
        rows.append((str(table), Cell(status, "bad" if error else "good"), before or "nobody else"))
    errors = [end for end in ends.values() if isinstance(end, IncrementalAssetsError)]
    shown: list[Shown] = [Grid(("table", "status", "was written by"), tuple(rows))]
    shown += [Note(str(error), "bad") for error in errors]
    return Answer({"run_id": run_id, "tables": entries}, tuple(shown), worst([exit_code_of(error) for error in errors]))
