"""Which partitions a range of the log has changes of: they come as changes of their table, and only the names before the first of them tell."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from incremental_assets.adapters.logs.postgresql.letters import RELATION, TYPE
from incremental_assets.adapters.logs.postgresql.octets import numbers
from incremental_assets.adapters.logs.postgresql.spool import Block


@dataclass
class NamedParts:
    """Goes through a range once, with the tables that are followed."""

    followed: Container[int]
    found: dict[int, set[int]] = field(default_factory=dict)
    """Of tables by their number, what was named right behind them: a partition, or another table of the same TRUNCATE."""
    _last: int | None = None

    def follow(self, block: Block, kinds: npt.NDArray[np.uint8]) -> None:
        """The server names the table, then the partition, each behind the types of its columns."""
        before = self._last
        at = np.flatnonzero(kinds != TYPE)
        # Few, beside the changes: each table and each partition once.
        for place in np.flatnonzero(kinds[at] == RELATION):
            oid = _oid(block, int(at[place]))
            if place:
                before = _oid(block, int(at[place - 1])) if kinds[at[place - 1]] == RELATION else None
            if before is not None and before in self.followed:
                self.found.setdefault(before, set()).add(oid)
        if len(at):
            self._last = _oid(block, int(at[-1])) if kinds[at[-1]] == RELATION else None

    def without(self, tables: Container[int]) -> dict[int, tuple[int, ...]]:
        """Those that are no tables of their own."""
        own = {oid: tuple(sorted(each for each in parts if each not in tables)) for oid, parts in self.found.items()}
        return {oid: parts for oid, parts in own.items() if parts}


def _oid(block: Block, at: int) -> int:
    return int(numbers(block.data, block.starts[at : at + 1] + 1, ">u4")[0])
