"""Each kind of what happens is a line of a log, whose level says whether somebody should look."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.compaction import NotCompacted
from incremental_assets.core.model.retention import NotPruned, Pruned
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from incremental_assets.core.observing.json_line import Level
from incremental_assets.core.observing.log_line import log_line
from incremental_assets.core.observing.occurrences import (
    CheckBegun,
    CheckEnded,
    Committed,
    CompactionEnded,
    LeaseTaken,
    LoadWentOn,
    Occurrence,
    PhaseBegun,
    PruningEnded,
    Retried,
    SourceObserved,
    SyncEnded,
)
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.strategies import Strategy
from tests.scenario import ORDERS, orders

RUN = "6f1f2a0e-38f8-4a3c-9a35-0d6f0f5c1a77"
OF_RUN = {"table": "shop.public.orders", "run_id": RUN, "trace_id": "6f1f2a0e38f84a3c9a350d6f0f5c1a77"}
AWAY = SourceUnreachable("shop: nobody answers")
REPORT = SyncReport(ORDERS, RUN, Strategy.UPSERT, Mode.SYNC, Status.FAILED, error="public.orders: no such column")
DRIFT = Verdict(ORDERS, Check.RECONCILIATION, passed=False, severity=Severity.ERROR, detail="two rows differ")

LINES: list[tuple[Occurrence, Level, str]] = [
    (SourceObserved((ORDERS,), RUN, 0.25), Level.INFO, "looked at shop.public.orders"),
    (SourceObserved((ORDERS, ORDERS), RUN, 0.25, AWAY), Level.ERROR, "shop: nobody answers"),
    (LeaseTaken(ORDERS, RUN, 0.5), Level.INFO, "shop.public.orders: lease taken"),
    (PhaseBegun(ORDERS, RUN, "read"), Level.INFO, "shop.public.orders: read"),
    (
        LoadWentOn(ORDERS, RUN, 40_000_000, 120_000_000, 1500.0), Level.INFO,
        "shop.public.orders: its first load has read 40,000,000 of about 120,000,000 rows, about 25m to go",
    ),
    (
        LoadWentOn(ORDERS, RUN, 121_000_000, 120_000_000, None), Level.INFO,
        "shop.public.orders: its first load has read 121,000,000 rows",
    ),
    (Committed(orders(), RUN, 7, 12, ""), Level.INFO, "shop.public.orders: committed as version 12"),
    (SyncEnded(REPORT), Level.ERROR, "shop.public.orders: failed: public.orders: no such column"),
    (SyncEnded(replace(REPORT, status=Status.BUSY, error="another run")), Level.WARNING, "shop.public.orders: busy: another run"),
    (CheckBegun(ORDERS, Check.DUPLICATES), Level.INFO, "shop.public.orders: duplicates"),
    (CheckEnded(DRIFT), Level.ERROR, "shop.public.orders: reconciliation: two rows differ"),
    (CheckEnded(replace(DRIFT, passed=True, detail="equal")), Level.INFO, "shop.public.orders: reconciliation: equal"),
    (CheckEnded(replace(DRIFT, was_checked=False, detail="nothing has landed")), Level.INFO, "shop.public.orders: reconciliation: nothing has landed"),
    (CompactionEnded(NotCompacted(ORDERS, "shop.public.orders: a full disk")), Level.WARNING, "shop.public.orders: a full disk"),
    (PruningEnded(Pruned(ORDERS, 2, 2048)), Level.INFO, "shop.public.orders: 2 files of old versions removed (2.0 KiB)"),
    (PruningEnded(Pruned(ORDERS, left=("/lake: strange",))), Level.WARNING, "shop.public.orders: 0 files of old versions removed (0 bytes)"),
    (PruningEnded(NotPruned(ORDERS, "shop.public.orders: busy")), Level.WARNING, "shop.public.orders: busy"),
    (Retried(ORDERS, AWAY, RUN), Level.WARNING, "shop: nobody answers; once more"),
]  # fmt: skip


@pytest.mark.parametrize(("occurrence", "level", "message"), LINES)
def test_a_line_says_what_has_happened_and_how_much_it_matters(
    occurrence: Occurrence, level: Level, message: str
) -> None:
    line = log_line(occurrence)
    assert (line.level, line.message) == (level, message)


def test_every_kind_has_one() -> None:
    assert {type(occurrence) for occurrence, _, _ in LINES} == {*get_args(Occurrence)}


def test_fields_without_a_value_are_left_out() -> None:
    assert log_line(Committed(orders(), RUN, 7, 12, "")).fields == OF_RUN | {"seq": 7, "version": 12, "by": "tasks"}
    assert log_line(CheckEnded(DRIFT)).fields == {
        "table": "shop.public.orders",
        "check": "reconciliation",
        "passed": False,
    }
