"""`audit`: who has paused, reset, rolled back, replayed or refreshed what, and why; from the checkpoint database alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incremental_assets.cli.answer import DONE, FAILED, Answer, Cell, Grid, Note
from incremental_assets.cli.globs import matches
from incremental_assets.cli.opening import configured, opened
from incremental_assets.core.model.deed import Deed, DeedChain
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.words import counted

_ALTERED = (
    "the row of {at:%Y-%m-%d %H:%M:%S}Z, {act} of {of}, is not as it was written, or one before it is gone: compare it with a backup of the "
    "checkpoint database; an erasure alters the reasons that named the person"
)
_NOTHING = "nobody has paused, reset, rolled back, replayed, erased or fully refreshed anything yet, or changed the configuration"
_MOST = 100_000
"""Rows among which those of some tables are looked for."""


def run(config: Path | None, patterns: Sequence[str], limit: int) -> Answer:
    """Run the command: the last ones, the newest first."""
    with opened(configured(config), writes=False) as runtime:
        found = runtime.checkpoints.deeds(_MOST if patterns else limit)
        chain = runtime.checkpoints.deed_chain()
    chosen = [each for each in reversed(found) if _is_meant(each, patterns)][:limit]
    grid = Grid(
        ("when", "who", "did", "of", "came to", "run", "why"), tuple(map(_row, chosen)), spare=("run",), prose=("why",)
    )
    document = {"audit": [_entry(each) for each in chosen], "chain": _chain(chain)}
    notes = [Note(_ALTERED.format(at=each.at, act=each.act, of=each.of), "bad") for each in chain.altered]
    notes.append(
        Note(f"{counted(len(chosen), 'row')} of {chain.rows}{_until(chain)}" if chain.rows else _NOTHING, "dim")
    )
    return Answer(document, (grid, *notes), FAILED if chain.altered else DONE)


def _until(chain: DeedChain) -> str:
    return f"; their chain ends in {chain.head[:16]}" if chain.head else ""


def _chain(chain: DeedChain) -> dict[str, Any]:
    return {"rows": chain.rows, "head": chain.head or None, "altered": [_entry(each) for each in chain.altered]}


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
        Cell(deed.came_to, "bad" if deed.came_to == "failed" else ""),
        deed.run_id,
        deed.reason,
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
