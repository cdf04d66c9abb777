"""Decide in which way a batch is written to its target: pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.landing.overlap import Overlap
from incremental_assets.core.landing.rewrite import lands_whole, replaces_most
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.planning.plan import SyncPlan


class Way(StrEnum):
    """Each is one commit."""

    PLACE = "place"
    """The rows of a first load are there: they get their position."""
    OVERWRITE = "overwrite"
    """Nothing of the target stays, or nothing has landed there."""
    APPEND = "append"
    """Rows are added; those that are there stay."""
    REPLACE = "replace"
    """Rows take the place of those with their keys, which Delta finds and marks in their files."""
    REWRITE = "rewrite"
    """The same where that is most of the target: the others are written along with them."""
    MERGE = "merge"
    """As REPLACE, and rows also leave without one in their place, or are marked as gone."""


@dataclass(frozen=True, slots=True)
class Found:
    """The target as the batch meets it."""

    landed: bool
    """Whether a batch of ours ever landed: before that, what it holds counts for nothing."""
    overlap: Overlap | None = None
    leaving: int = 0
    """Rows whose key the batch takes away and brings no row for."""
    unfit: int = 0
    """Those of them whose row in the source has not gone, and lies in quarantine."""
    marked: int = 0
    """Rows that stay and are marked as gone."""
    movable: int | None = None
    """Rows in its files; None where it is not known, or where those that stay are to stay where they lie."""


def way(plan: SyncPlan, batch: Batch, found: Found) -> Way:
    """The one way that a batch lands."""
    if batch.in_target:
        return Way.PLACE
    if plan.overwrites or not found.landed:
        return Way.OVERWRITE
    if not plan.spec.traits.one_row_per_key or plan.reading.has_new_keys:
        return Way.APPEND
    if found.leaving:
        return Way.MERGE
    if batch.new_columns:
        return Way.REPLACE
    whole = found.movable is not None and lands_whole(plan, found.overlap) and replaces_most(batch, found.movable)
    return Way.REWRITE if whole else Way.REPLACE


def takes_away(plan: SyncPlan, batch: Batch, *, landed: bool) -> bool:
    """Whether rows of the target may have to go with it, so that they are counted: a query that no other batch is worth."""
    leaving = batch.rejected - batch.held + (0 if plan.spec.deletes.marks else batch.gone)
    keyed = plan.spec.traits.one_row_per_key and not plan.reading.has_new_keys
    return landed and leaving > 0 and keyed and not plan.overwrites


def marks(plan: SyncPlan, batch: Batch, *, landed: bool) -> bool:
    """Whether rows of the target may have to be marked with it."""
    return landed and batch.gone > 0 and plan.spec.deletes.marks and not plan.overwrites
