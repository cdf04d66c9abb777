"""Lines in JSON of all that happens, on stderr: for collectors that read what the processes of a deployment write."""

from __future__ import annotations

import sys
import threading
from typing import TextIO

from incremental_assets.core.observing.datasets import Datasets
from incremental_assets.core.observing.json_line import json_line
from incremental_assets.core.observing.log_line import log_line
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import Occurrence


class LogLines(Observer):
    """One for each thing that happens. `stream`: None: the stderr of the moment, which Dagster exchanges for the log of a run."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def notify(self, occurrence: Occurrence) -> None:
        """Write it at once."""
        told = log_line(occurrence)
        with self._lock:
            stream = self._stream or sys.stderr
            stream.write(json_line(told.level, told.event, told.message, told.fields) + "\n")
            stream.flush()


def open_log_lines(_: Datasets) -> Observer:
    """On this process's stderr."""
    return LogLines()
