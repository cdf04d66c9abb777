"""Repairs the drift that a check has found, where the configuration says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.repair import Repaired, in_words, repair_table, repairs_by_log
from incremental_assets.core.checks.verdict import reconciliation
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verdict import Verdict
from incremental_assets.core.observing.occurrences import SyncEnded
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.words import counted


@dataclass(frozen=True, slots=True)
class AutoRepair:
    """The run under which drift is repaired, and what is called after each repair, in any thread."""

    run_id: str
    announce: Callable[[TableSpec, Repaired], None]


def auto_repaired(spec: TableSpec, terms: TableConfig, drift: Drift, auto_repair: AutoRepair, ports: Ports) -> Verdict:
    """The verdict after a repair; the one before it where there was none."""
    found = reconciliation(spec, terms, drift)
    # What a sync is known to repair is left to that.
    can_be = spec.read_by is not None or repairs_by_log(spec)
    if not 0 < drift.rows <= terms.repaired_at_most or not can_be or drift.is_expected:
        return found
    try:
        done = repair_table(spec, terms.partitions, auto_repair.run_id, ports, drift.seen)
    except IncrementalAssetsError as error:
        failed = SyncReport.failed(spec, Request(auto_repair.run_id, Mode.REPAIR), error)
        ports.observer.notify(SyncEnded(failed))
        return replace(found, detail=f"{found.detail}; it could not be repaired: {error}")
    ports.observer.notify(SyncEnded(done.report))
    auto_repair.announce(spec, done)
    if done.left is None:
        return found
    after = reconciliation(spec, terms, done.left)
    return replace(
        found,
        passed=after.passed,
        cure=after.cure,
        measured=after.measured,
        drifted=after.drifted,
        samples=after.samples,
        detail=f"{counted(drift.rows, 'row')} had drifted ({found.detail}); {in_words(done.report.rows)}; checked again: {after.detail}",
    )
