"""A table that is followed no more."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from incremental_assets.adapters.logs.alone import alone
from incremental_assets.adapters.logs.following import record, record_in
from incremental_assets.adapters.logs.log_of_source import KEEP
from incremental_assets.adapters.logs.segments.shelf import Shelf

_TURN_SECONDS = 60.0


def leave(folder: Path, number: int) -> None:
    """What it has not landed is kept no longer. Raises LakeRefused, SourceUnreachable."""
    with alone(folder, _TURN_SECONDS):
        known = record_in(folder)
        left = replace(known, tables={oid: each for oid, each in known.tables.items() if oid != number})
        record(folder, known, left)
        if left.tables:
            Shelf(folder).prune(left.passed, KEEP, datetime.now(UTC))
