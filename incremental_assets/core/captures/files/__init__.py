"""Capture by files that others drop into a folder."""

from incremental_assets.core.captures.files.capture import FilesCapture

FILES = FilesCapture()
