"""The id of a run's trace."""

from __future__ import annotations

import hashlib
import uuid


def trace_of(run_id: str) -> int:
    """The trace of a run, in every process that works for it: its id without dashes, so that either is found by the other."""
    try:
        return uuid.UUID(run_id).int
    except ValueError:
        return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:16], "big")
