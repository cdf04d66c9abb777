"""Capture by transactions: the number of the one that wrote a row (`xmin`, `rowversion`, `ora_rowscn`)."""

from incremental_assets.core.captures.database.following import FollowingCapture

TRANSACTION = FollowingCapture()
