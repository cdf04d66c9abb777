"""By SQL, which costs the least; by the protocol of replication where the server's limits do not let SQL have it."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import errors

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.logs.postgresql.peek import peek
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Spool
from incremental_assets.adapters.logs.postgresql.transport import Transport

_LIMITS = (errors.ConfigurationLimitExceeded, errors.DiskFull, errors.OutOfMemory)
"""A peek collects the whole answer in temporary files of the server, which `temp_file_limit` or a full disk may forbid for good."""


@dataclass
class Switching:
    """Implements `Transport`. `why` says why the last range did not come by SQL; empty where it did."""

    other: Transport
    first: Transport = peek
    why: str = ""

    def __call__(self, asked: Asked, slot: Slot, upto: int, spool: Spool, *, binary: bool) -> None:
        """As the first does, and where it may not, as the other one does."""
        self.why = ""
        try:
            self.first(asked, slot, upto, spool, binary=binary)
        except _LIMITS as error:
            self.why = str(error.diag.message_primary or "")
            spool.clear()
            self.other(asked, slot, upto, spool, binary=binary)
