"""Several windows of one table, read one after the other, as one report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import reduce

from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.report import RowCounts, SyncReport
from incremental_assets.core.syncing import following


def together(reports: Sequence[SyncReport]) -> SyncReport:
    """It has failed if the last of them has."""
    whole, first, final = summed(reports), reports[0].window, reports[-1].window
    return replace(whole, window=Window(first.lower, final.upper)) if first and final else whole


def summed(reports: Sequence[SyncReport]) -> SyncReport:
    """The last one, with the rows, the seconds and the versions of all."""
    counts = [report.rows for report in reports]
    return replace(
        reports[-1],
        rows=RowCounts(*(sum(values) for values in zip(*(astuple(rows) for rows in counts), strict=True))),
        seconds=sum(report.seconds for report in reports),
        history=reduce(following.together, (report.history for report in reports)),
    )
