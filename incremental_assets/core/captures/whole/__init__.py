"""Capture by reading all rows, at intervals."""

from incremental_assets.core.captures.database.intervals import IntervalCapture


class Whole(IntervalCapture):
    """Implements `Capture`."""

    words = "read whole"


WHOLE = Whole()
