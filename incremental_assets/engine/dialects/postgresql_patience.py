"""A connection that does not wait for ever: behind a router that has forgotten it, it is open and acknowledged and silent."""

from __future__ import annotations

import time
from typing import Any

import psycopg


class Patient(psycopg.Connection[Any]):
    """Closes itself when a question is not answered within `patience` seconds. Raises OperationalError, without an SQLSTATE."""

    patience: float | None = None
    """None: for ever, as the driver does by default."""

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
            raise psycopg.OperationalError(f"silent for {self.patience:.0f} seconds") from None
