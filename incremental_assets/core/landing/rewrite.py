"""Decide whether an upsert rewrites the whole target, including the rows that stay: pure.

Delta finds each row that a batch replaces, keeps the batch meanwhile, and marks those rows in the files that hold them. Where most of a
target is replaced, to read it once, leave those rows out and write the others along with the batch takes two thirds of the time.
"""

from __future__ import annotations

from incremental_assets.core.landing.overlap import Overlap
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.planning.plan import SyncPlan

MUCH = 1 / 2
"""Share of a target's rows in one batch: above it, what is written is at most twice the batch, however large the target."""


def lands_whole(plan: SyncPlan, found: Overlap | None) -> bool:
    """Whether an upsert writes each row of its batch, and each replaces at most one row: only then one number counts everything.

    After a reset the target may hold several rows of a key.
    """
    single = plan.spec.traits.one_row_per_key and plan.spec.key_enforced
    goes_on = plan.previous is not None and plan.previous.clock is not None
    return single and goes_on and not plan.overwrites and found is None


def replaces_most(batch: Batch, rows: int) -> bool:
    """Whether a batch is large compared with its target."""
    return 0 < rows * MUCH <= batch.landable
