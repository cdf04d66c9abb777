"""How a snapshot and the log become one: transaction by transaction, and not by positions.

A copy that was read under a snapshot gets each transaction of the log that the snapshot does not show. That is right under three rules, each of which is a
function here. The snapshot is taken when every transaction that was open as the table came into the publication is over, as what it wrote before
is in no log. No transaction of the log that was passed already may be one that the snapshot does not show: a commit that waits for a standby is decoded before it
is visible. And the log is on disk up to where the snapshot has looked: a commit may be visible before it is durable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incremental_assets.adapters.logs.changes import XID, Offsets
from incremental_assets.core.captures.log.lsn import lsn_of

_WRAP = 1 << 32


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Which transactions a snapshot shows: all before `xmin`, none from `xmax` on, and between them all but the open ones. Numbers have their epoch."""

    xmin: int
    xmax: int
    open: frozenset[int]
    looked_at: int
    """Up to where the log had been written when it was taken."""

    @classmethod
    def of(cls, snapshot: str, written: str) -> Snapshot:
        """From its text, and up to where the log was written by then."""
        xmin, xmax, listed = snapshot.split(":")
        return cls(int(xmin), int(xmax), frozenset(int(each) for each in listed.split(",") if each), lsn_of(written))

    def shows(self, xids: Offsets) -> npt.NDArray[np.bool_]:
        """Whether it shows these top-level transactions, of whose numbers the log has 32 bits."""
        full = whole_numbers(xids, self.xmax)
        shown: npt.NDArray[np.bool_] = (full < self.xmax) & ~np.isin(full, list(self.open))
        return shown

    def hides(self, passed: Offsets) -> list[int]:
        """Those of the transactions that were passed already which it does not show: it is not good for that position, and has to be taken again."""
        return [int(each) for each in np.asarray(passed)[~self.shows(passed)]]

    def is_after(self, joined: int) -> bool:
        """Whether all is over that was open as a table came into the publication, `joined` being the next transaction's number then."""
        return self.xmin >= joined

    def is_durable(self, flushed: int) -> bool:
        """Whether all that it may show outlives a crash of the source, the log being on disk up to there."""
        return flushed >= self.looked_at

    def is_passed(self, position: int) -> bool:
        """Whether no transaction that it shows can come any more behind a position, so that it need not be kept."""
        return position >= self.looked_at


def whole_numbers(xids: Offsets, near: int) -> Offsets:
    """With their epoch: of the numbers that end so, those nearest to one of 64 bits. No snapshot lives through half of the 32 bits."""
    full = (near // _WRAP) * _WRAP + np.asarray(xids, np.int64)
    full -= np.where(full - near > _WRAP // 2, _WRAP, 0)
    full += np.where(near - full > _WRAP // 2, _WRAP, 0)
    return full


def not_shown(rows: pa.Table, snapshot: Snapshot) -> pa.Table:
    """Those of the changes that a copy which was read under the snapshot lacks."""
    return rows.filter(pa.array(~snapshot.shows(np.array(rows.column(XID)))))
