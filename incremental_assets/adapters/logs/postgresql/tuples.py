"""Rows on the wire: where each value of each column lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incremental_assets.adapters.logs.changes import Offsets
from incremental_assets.adapters.logs.postgresql.octets import numbers
from incremental_assets.adapters.logs.postgresql.spool import Octets
from incremental_assets.core.errors import StageBroken

NULL, UNSENT, BINARY, TEXT = (ord(letter) for letter in "nubt")
"""How a value comes: not at all, not at all as it has not changed and lies in a table of TOAST, in its type's binary format, or as its text."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the values of one column lie, a place for each row: the kind of each, its first byte and its length."""

    kinds: npt.NDArray[np.uint8]
    at: Offsets
    lengths: Offsets

    def take(self, rows: Offsets) -> Places:
        """Of some rows, in their order."""
        return Places(self.kinds[rows], self.at[rows], self.lengths[rows])

    def where(self, chosen: npt.NDArray[np.bool_], other: Places) -> Places:
        """Those of the other, where chosen."""
        if not chosen.any():
            return self
        return Places(
            np.where(chosen, other.kinds, self.kinds),
            np.where(chosen, other.at, self.at),
            np.where(chosen, other.lengths, self.lengths),
        )

    def nothing(self, chosen: npt.NDArray[np.bool_]) -> Places:
        """NULL, where chosen."""
        return Places(np.where(chosen, NULL, self.kinds).astype(np.uint8), self.at, np.where(chosen, 0, self.lengths))

    @property
    def sent(self) -> npt.NDArray[np.bool_]:
        """Where a value came that is not NULL."""
        return (self.kinds == BINARY) | (self.kinds == TEXT)


def walk(data: Octets, starts: Offsets, columns: int) -> tuple[list[Places], Offsets]:
    """The places of all columns of the rows that start there, and where each row ends. Raises StageBroken."""
    if (numbers(data, starts, ">u2") != columns).any():
        raise StageBroken(
            "a row of the log has another number of columns than its table; nothing was written, please report it"
        )
    at, found = starts + 2, []
    for _ in range(columns):
        kinds = data[at]
        comes = (kinds == BINARY) | (kinds == TEXT)
        lengths = np.zeros(len(at), np.int64)
        if comes.all():
            lengths = numbers(data, at + 1, ">i4").astype(np.int64)
            found.append(Places(kinds, at + 5, lengths))
            at = at + 5 + lengths
            continue
        if not (comes | (kinds == NULL) | (kinds == UNSENT)).all():
            raise StageBroken(
                "a value of the log comes in a way that is not known; nothing was written, please report it"
            )
        lengths[comes] = numbers(data, at[comes] + 1, ">i4")
        found.append(Places(kinds, at + np.where(comes, 5, 1), lengths))
        at = at + np.where(comes, 5 + lengths, 1)
    return found, at
