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
    last, counts = reports[-1], [report.rows for report in reports]
    first, final = reports[0].window, last.window
    return replace(
        last,
        window=Window(first.lower, final.upper) if first and final else last.window,
        rows=RowCounts(*(sum(values) for values in zip(*(astuple(rows) for rows in counts), strict=True))),
        seconds=sum(report.seconds for report in reports),
        history=reduce(following.together, (report.history for report in reports)),
    )
