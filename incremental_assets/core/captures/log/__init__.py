"""Capture by the log that a database writes of every change."""

from incremental_assets.core.captures.log.capture import LogCapture

LOG = LogCapture()
