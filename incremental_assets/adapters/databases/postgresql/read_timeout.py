"""A connection with a read timeout: one that a router has forgotten stays open, and is silent.

It reads moments as our transactions have them printed. The driver would read them by what the server has said of the session, whose own settings
our transactions leave alone.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from datetime import datetime
from typing import Any

import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import Loader

SILENT = "silent for"
"""How the words of its error begin."""
_CLOSED_WITHIN = 2.0
"""Seconds for which the end of a session is waited for."""
_AT_ONCE = 2**16
_CANCELLED_WITHIN = 1.0
"""Seconds; a living server answers in a few milliseconds."""


class _IsoMoment(Loader):
    """`2024-01-31 12:00:00.5+00`, or without a zone."""

    def load(self, data: Buffer) -> datetime:
        text = bytes(data).decode()
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            raise psycopg.DataError(f"{text} is no moment of the years 1 to 9999") from None


class _AnyName(Loader):
    """A name of the server's, which may be another encoding's."""

    def load(self, data: Buffer) -> str:
        return bytes(data).decode("utf-8", "backslashreplace")


class Patient(psycopg.Connection[Any]):
    """Closes itself when a question is not answered within `patience` seconds. Raises OperationalError, without an SQLSTATE."""

    patience: float | None = None
    """How long a query may take; None: forever, as the driver does by default."""
    marked = False
    """Whether our transactions on it may be marked as ours."""
    pooled = False
    """Whether a pooler answers, and not the server."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for kind in ("timestamptz", "timestamp"):
            self.adapters.register_loader(kind, _IsoMoment)
        self.adapters.register_loader("name", _AnyName)

    def abort(self) -> None:
        """Abort from another thread: cancel the query on the server, then close the connection, so that no caller waits for a silent line."""
        with suppress(psycopg.Error):
            self.cancel_safe(timeout=_CANCELLED_WITHIN)
        with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(self.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it, and see the server's session end, for a moment: until then it takes one of the server's slots."""
        if self.closed:
            super().close()
            return
        if self.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
            # It hears that it should end once it has ended its answer.
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_CANCELLED_WITHIN)
        with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(self.fileno())) as line:
            super().close()
            until = time.monotonic() + _CLOSED_WITHIN
            line.settimeout(_CLOSED_WITHIN)
            while line.recv(_AT_ONCE):
                line.settimeout(max(until - time.monotonic(), 0.001))
            return
        super().close()

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """What every question of the driver ends in."""
        if timeout is not None or self.patience is None:
            return super().wait(gen, interval, timeout)
        begun = time.monotonic()
        try:
            return super().wait(gen, interval, self.patience)
        except psycopg.OperationalError:
            if time.monotonic() - begun < self.patience:
                raise
            self.pgconn.finish()
            raise psycopg.OperationalError(f"{SILENT} {self.patience:.0f} seconds") from None
