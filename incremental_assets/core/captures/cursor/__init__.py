"""Capture by a cursor: a column whose values grow with every change."""

from incremental_assets.core.captures.database.following import FollowingCapture

CURSOR = FollowingCapture()
