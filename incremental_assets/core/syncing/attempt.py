"""One table's work, always with a report: its errors end here, and stop no other table."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.retry_once import retry_once

_log = logging.getLogger(__name__)
_Done = TypeVar("_Done")


def or_failed(work: Callable[[], _Done], spec: TableSpec, request: Request, ports: Ports) -> _Done | SyncReport:
    """The result, or the report of the error. An unexpected error is one sentence there, and its traceback is in the log."""
    begun = time.monotonic()
    try:
        return retry_once(work, spec.id, ports, request.run_id)
    except Exception as error:  # noqa: BLE001 - one failure must not stop the other tables
        if not isinstance(error, IncrementalAssetsError):
            _log.exception("%s: unexpected error", spec.id)
        return SyncReport.failed(spec, request, error, time.monotonic() - begun)
