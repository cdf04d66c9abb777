"""Tables of a source, proposed: asked lightly, judged by the rules of a sync, and shown to people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import Cell, Grid, Note, Shown
from incremental_assets.core.discovery.judging import judged, spec_of
from incremental_assets.core.discovery.proposal import Proposal
from incremental_assets.core.discovery.ranking import Candidate
from incremental_assets.core.discovery.traits import TableTraits
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.table import TableShape

if TYPE_CHECKING:
    from incremental_assets.adapters.databases.probe import SqlProbe


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
    """A line per table, then what to fix."""
    rows = tuple(
        (
            str(each.shape.id),
            str(each.terms.strategy) if each.terms else Cell("left out", "dim"),
            each.taken.name if each.taken else "",
            f"~{each.shape.rows:,}" if each.shape.rows else "",
            each.why,
        )
        for each in found
    )
    grid = Grid(("table", "strategy", "cursor", "rows", "because"), rows, frozenset({"rows"}), ("because",))
    return [grid, *(Note(f"{each.shape.id}: {fix}", "warn") for each in found for fix in each.fixes)]


def entry(each: Proposal) -> dict[str, Any]:
    """One table of the document."""
    terms = each.terms
    return {
        "source": each.shape.id.source,
        "table": render_table(each.shape.id.schema, each.shape.id.name),
        "strategy": str(terms.strategy) if terms else None,
        "cursor": terms.cursor.column if terms and terms.cursor else None,
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
