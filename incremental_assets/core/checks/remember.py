"""What a reconciliation proves, recorded so that `status` shows it and `repair` knows where to look.

A check holds no lease: what has landed since it looked at the copy counts as if it had landed after the record.
"""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.ports import Checkpoints


def remember(spec: TableSpec, drift: Drift, checkpoints: Checkpoints) -> None:
    """Keep the result of a check of the whole table, unless it shows nothing: no drift, and nothing verified."""
    if drift.rows or drift.through or drift.looked_at:
        found = Verified(drift.through, drift.drifted, drift.reached)
        checkpoints.remember_verified(spec.id, drift.after, lambda _, since: still_true(found, since))


def remember_windows(spec: TableSpec, drift: Drift, checkpoints: Checkpoints) -> None:
    """Keep the result of a check of some windows, beside what is known of the others; nothing where nothing is known and none drifted."""
    if not drift.looked_at:
        return

    def judge(known: Verified | None, since: Sequence[Event]) -> Verified | None:
        if known is None and not drift.drifted:
            return None
        return still_true((known or Verified(None)).looked_at(drift.looked_at, drift.drifted), since)

    checkpoints.remember_verified(spec.id, drift.after, judge)


def still_true(found: Verified, since: Sequence[Event]) -> Verified | None:
    """What holds of a finding after these events; None where another copy, or another position, is there now, or a repair has recorded its own."""
    for event in since:
        if event.kind in (EventKind.RESET, EventKind.REBUILT):
            return None
        if event.kind is EventKind.LANDED and event.report is not None:
            if event.report.mode in (Mode.ROLLBACK, Mode.REPAIR):
                return None
            found = event.report.leaves(found)
    return found
