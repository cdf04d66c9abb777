"""Tables of a source, proposed: asked lightly, judged by the rules of a sync, and shown to people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.alike import alike
from incremental_assets.cli.answer import Cell, Grid, Note, Shown
from incremental_assets.core.discovery.judging import judged, spec_of
from incremental_assets.core.discovery.proposal import Proposal
from incremental_assets.core.discovery.ranking import Candidate
from incremental_assets.core.discovery.traits import TableTraits
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.words import counted, listed

if TYPE_CHECKING:
    from incremental_assets.adapters.databases.probe import SqlProbe

_SHOWN = 40
"""Lines of tables, and of what to fix, that a person reads at once."""


def proposals(probe: SqlProbe, shapes: Sequence[TableShape]) -> tuple[Proposal, ...]:
    """One per table, by name; the ends of a cursor are asked for where an index tells them."""
    ordered = sorted(shapes, key=lambda shape: shape.id)
    known = [shape for shape in ordered if not shape.undescribed]
    told = {shape.id: traits for shape, traits in zip(known, probe.describe(known), strict=True)}
    found = [judged(shape, told.get(shape.id, TableTraits(()))) for shape in ordered]
    specs = {index: spec for index, each in enumerate(found) if (spec := spec_of(each)) is not None}
    lowest, highest = probe.lowest(list(specs.values())), probe.highest(list(specs.values()))
    for index, low, high in zip(specs, lowest, highest, strict=True):
        found[index] = replace(found[index], lowest=low, highest=high)
    return tuple(found)


def shown(found: Sequence[Proposal]) -> list[Shown]:
    """A line for tables that are proposed alike, those with most to fix first; then what to fix. The entries have what is more than a person reads at once."""
    groups = alike(((_strategy(each), each.taken.name if each.taken else "", each.why), each) for each in found)
    groups.sort(key=lambda group: -max(len(each.fixes) for each in group[1]))
    fixes = alike((fix, each) for each in found for fix in each.fixes)
    fixes.sort(key=lambda fix: -len(fix[1]))
    rows = tuple(_row(*group) for group in groups[:_SHOWN])
    grid = Grid(
        ("table", "strategy", "cursor", "rows", "because"), rows, frozenset({"rows"}), prose=("table", "because")
    )
    notes = [Note(f"{_names(tables)}: {fix}", "warn") for fix, tables in fixes[:_SHOWN]]
    if more := sum(len(tables) for _, tables in groups[_SHOWN:]):
        notes.insert(0, Note(f"and {counted(more, 'table')} more, which the entries explain one by one", "dim"))
    if more := len(fixes[_SHOWN:]):
        notes.append(Note(f"and {counted(more, 'thing')} more to fix, each beside its table in the entries", "dim"))
    return [grid, *notes]


def _row(proposed: tuple[str, str, str], tables: list[Proposal]) -> tuple[Cell | str, ...]:
    strategy, cursor, why = proposed
    rows = sum(each.shape.rows for each in tables)
    tone = "" if tables[0].terms else "dim"
    return _names(tables), Cell(strategy, tone), cursor, f"~{rows:,}" if rows else "", why


def _names(tables: list[Proposal]) -> str:
    return listed([str(each.shape.id) for each in tables])


def _strategy(each: Proposal) -> str:
    return str(each.terms.strategy) if each.terms else "left out"


def entry(each: Proposal) -> dict[str, Any]:
    """One table of the document."""
    terms = each.terms
    return {
        "source": each.shape.id.source,
        "table": render_table(each.shape.id.schema, each.shape.id.name),
        "strategy": str(terms.strategy) if terms else None,
        "cursor": next(iter(terms.cursor_columns), None) if terms else None,
        "primary_key": list(
            each.shape.primary_key if terms is None or terms.primary_key is None else terms.primary_key
        ),
        "why": each.why,
        "candidates": [_candidate(found) for found in each.candidates],
        "to_mend": list(each.fixes),
    }


def _candidate(found: Candidate) -> dict[str, Any]:
    return {
        "column": found.name,
        "type": str(found.traits.type),
        "points": found.points,
        "reasons": list(found.reasons),
    }
