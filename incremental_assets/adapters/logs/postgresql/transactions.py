"""To which transaction each message belongs: from `B` and `C`, which come around the changes of each, in the order of the commits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from incremental_assets.adapters.logs.changes import Offsets
from incremental_assets.adapters.logs.postgresql.binary_values import EPOCH_MICROS
from incremental_assets.adapters.logs.postgresql.letters import (
    BEGIN,
    COMMIT,
    DELETE,
    INSERT,
    MESSAGE,
    ORIGIN,
    RELATION,
    TRUNCATE,
    TYPE,
    UPDATE,
)
from incremental_assets.adapters.logs.postgresql.octets import numbers
from incremental_assets.adapters.logs.postgresql.spool import Block
from incremental_assets.adapters.logs.segments.writing import Committed
from incremental_assets.core.errors import StageBroken

KNOWN = np.array((BEGIN, COMMIT, RELATION, TYPE, ORIGIN, INSERT, UPDATE, DELETE, TRUNCATE, MESSAGE), np.uint8)
ROWS = np.array((INSERT, UPDATE, DELETE), np.uint8)
_CHANGES = np.array((INSERT, UPDATE, DELETE, TRUNCATE), np.uint8)
_UNORDERED = "the transactions of the log come in an order that is not known; nothing was written, please report it"


@dataclass(frozen=True, slots=True)
class Stamps:
    """Of each message: the commit of its transaction, its number and time, and the place among the changes of it."""

    commit_lsn: Offsets
    xid: Offsets
    committed_at: Offsets
    """In microseconds since 1970."""
    ordinal: Offsets
    is_new: npt.NDArray[np.bool_]
    """Whether that commit lies at or behind the position."""


@dataclass
class Transactions:
    """Follows them from block to block. `position`: commits that begin before it have been read by an earlier range."""

    position: int
    end: int | None = None
    """Behind the last commit that was read."""
    last_commit_at: int | None = None
    last_xid: int | None = None
    """The number of that commit's transaction, of which the log has 32 bits."""
    _open: tuple[int, int, int] | None = None
    _changes: int = 0
    _last: int = field(default=0)

    def follow(self, block: Block, kinds: npt.NDArray[np.uint8]) -> tuple[Stamps, Committed]:
        """The stamps of a block's messages, and what is committed in it. Raises StageBroken."""
        begins, commits = np.flatnonzero(kinds == BEGIN), np.flatnonzero(kinds == COMMIT)
        lsn, when, xid = self._begun(block, begins)
        number = np.cumsum(kinds == BEGIN)
        changes = np.cumsum(np.isin(kinds, _CHANGES))
        base = np.concatenate(([-self._changes], changes[begins]))
        stamps = Stamps(lsn[number], xid[number], when[number], changes - base[number], lsn[number] >= self.position)
        committed = self._committed(block, commits, stamps)
        self._keep(kinds, stamps, len(commits) and commits[-1] > (begins[-1] if len(begins) else -1))
        return stamps, committed

    def _begun(self, block: Block, begins: Offsets) -> tuple[Offsets, Offsets, Offsets]:
        at = block.starts[begins] + 1
        before = self._open or (0, 0, 0)
        lsn, when, xid = (
            numbers(block.data, at + by, kind).astype(np.int64) for by, kind in ((0, ">i8"), (8, ">i8"), (16, ">u4"))
        )
        if len(lsn) and (np.any(np.diff(lsn) <= 0) or lsn[0] <= self._last):
            raise StageBroken(_UNORDERED)
        self._last = int(lsn[-1]) if len(lsn) else self._last
        return (
            np.concatenate(([before[0]], lsn)),
            np.concatenate(([before[1]], when + EPOCH_MICROS)),
            np.concatenate(([before[2]], xid)),
        )

    def _committed(self, block: Block, commits: Offsets, stamps: Stamps) -> Committed:
        at = block.starts[commits] + 2
        if (numbers(block.data, at, ">i8") != stamps.commit_lsn[commits]).any():
            raise StageBroken(_UNORDERED)
        new = commits[stamps.is_new[commits]]
        if len(new):
            self.end = int(numbers(block.data, block.starts[new[-1:]] + 10, ">i8")[0])
            self.last_commit_at = int(stamps.committed_at[new[-1]])
            self.last_xid = int(stamps.xid[new[-1]])
        new = new[stamps.ordinal[new] > 0]
        return Committed(stamps.xid[new], stamps.commit_lsn[new], stamps.committed_at[new], stamps.ordinal[new])

    def _keep(self, kinds: npt.NDArray[np.uint8], stamps: Stamps, is_closed: object) -> None:
        if is_closed or not len(kinds):
            self._open, self._changes = None, 0
            return
        self._open = (int(stamps.commit_lsn[-1]), int(stamps.committed_at[-1]), int(stamps.xid[-1]))
        self._changes = int(stamps.ordinal[-1])
