"""The package as pip leaves it: what it is found by."""

from __future__ import annotations

from pathlib import Path

from incremental_assets.core.captures.registry import GROUP as CAPTURES
from incremental_assets.core.config.dialects import KINDS_GROUP
from incremental_assets.resources.source import GROUP as SOURCES

_ENTRY_POINTS = f"""\
[{CAPTURES}]
events = tests.toy_capture.capture:CAPTURE
[{KINDS_GROUP}]
events = tests.toy_capture.source:KIND
[{SOURCES}]
events = tests.toy_capture.source:opened
"""


def install(into: Path) -> None:
    """Into a folder that is on the path."""
    folder = into / "toy_capture-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-capture\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(_ENTRY_POINTS)
