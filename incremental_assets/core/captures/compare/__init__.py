"""Capture by comparing all rows with the copy, at intervals: only those that differ are read."""

from incremental_assets.core.captures.database.intervals import IntervalCapture


class Compare(IntervalCapture):
    """Implements `Capture`."""

    words = "compared as a whole"
    turn = "comparison"
    finds_differing = True


COMPARE = Compare()
