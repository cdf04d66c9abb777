"""How the log comes from the source: by SQL, or by the protocol of replication."""

from __future__ import annotations

from typing import Protocol

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Spool


class Transport(Protocol):
    """Spools what the slot holds up to a position, and the rest of the transaction that reaches it. Nothing is consumed: asked again, it comes again."""

    def __call__(self, asked: Asked, slot: Slot, upto: int, spool: Spool, *, binary: bool) -> None:
        """`binary`: values in the binary formats of their types, else as texts. Raises what psycopg raises, StageBroken."""
