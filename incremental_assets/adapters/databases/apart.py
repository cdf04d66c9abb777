"""Per-table work in a loop: a table that fails does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from incremental_assets.core.model.table import TableSpec

_log = logging.getLogger(__name__)
_Found = TypeVar("_Found")


def apart(spec: TableSpec, work: Callable[[], _Found]) -> _Found | None:
    """What came of it, or nothing where that failed: the table's own sync meets the error again and says it."""
    try:
        return work()
    except Exception:  # noqa: BLE001 - whatever it was
        _log.debug("%s: left out of a look", spec.id, exc_info=True)
        return None
