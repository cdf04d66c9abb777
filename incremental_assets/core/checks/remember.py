"""What a reconciliation proves, recorded so that `status` shows it and `repair` knows where to look."""

from __future__ import annotations

from incremental_assets.core.checks.reconcile import Drift
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.ports import Checkpoints


def remember(spec: TableSpec, drift: Drift, checkpoints: Checkpoints) -> None:
    """Keep the result of a check of the whole table, unless it shows nothing: no drift, and nothing verified."""
    if drift.rows or drift.through or drift.looked_at:
        checkpoints.remember_verified(spec.id, Verified(drift.through, drift.drifted, drift.reached))


def remember_windows(spec: TableSpec, drift: Drift, checkpoints: Checkpoints) -> None:
    """Keep the result of a check of some windows, beside what is known of the others; nothing where nothing is known and none drifted."""
    if not drift.looked_at:
        return
    known = checkpoints.verified().get(spec.id)
    if known is not None or drift.drifted:
        found = (known or Verified(None)).looked_at(drift.looked_at, drift.drifted)
        checkpoints.remember_verified(spec.id, found)
