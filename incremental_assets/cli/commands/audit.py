"""`audit`: who has paused, reset, rolled back, replayed or refreshed what, and why; from the checkpoint database alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incremental_assets.cli.answer import Answer, Cell, Grid, Note
from incremental_assets.cli.globs import matches
from incremental_assets.cli.opening import configured, opened
from incremental_assets.core.model.deed import Deed
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.words import counted

_MOST = 100_000
"""Rows among which those of some tables are looked for."""


def run(config: Path | None, patterns: Sequence[str], limit: int) -> Answer:
    """Run the command: the last ones, the newest first."""
    with opened(configured(config), writes=False) as runtime:
        found = runtime.checkpoints.deeds(_MOST if patterns else limit)
    chosen = [each for each in reversed(found) if _is_meant(each, patterns)][:limit]
    grid = Grid(
        ("when", "who", "did", "of", "why", "run", "came to"), tuple(map(_row, chosen)), spare=("run", "why", "came to")
    )
    return Answer({"audit": [_entry(each) for each in chosen]}, (grid, Note(counted(len(chosen), "row"), "dim")))


def _is_meant(deed: Deed, patterns: Sequence[str]) -> bool:
    """Of these tables; of a whole source, where its name stands first in a pattern."""
    if not patterns:
        return True
    if deed.table is None:
        return any(pattern.partition(".")[0] in (deed.source, "*") for pattern in patterns)
    return any(matches(pattern, deed.table) for pattern in patterns)


def _row(deed: Deed) -> tuple[Cell | str, ...]:
    return (
        f"{deed.at:%Y-%m-%d %H:%M:%S}Z",
        deed.by,
        str(deed.act),
        deed.of,
        deed.reason,
        deed.run_id,
        Cell(deed.came_to, "bad" if deed.came_to == "failed" else ""),
    )


def _entry(deed: Deed) -> dict[str, Any]:
    return {
        "at": deed.at.isoformat(),
        "by": deed.by,
        "act": str(deed.act),
        "source": deed.source,
        "table": None if deed.table is None else render_table(deed.table.schema, deed.table.name),
        "reason": deed.reason or None,
        "run_id": deed.run_id or None,
        "came_to": deed.came_to or None,
    }
