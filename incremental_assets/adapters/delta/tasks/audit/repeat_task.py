"""Runs in a task: finds whether two rows may have one key, among the keys whose hashes are this task's share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.delta.tasks.query import asked, numbered

_Hashes = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True)
class RepeatUnit:
    """All files of a table, as `add` actions, the columns of its key, and which share of its keys is looked at."""

    table: str
    files: tuple[Mapping[str, Any], ...]
    key: tuple[Stored, ...]
    share: int
    shares: int

    @property
    def size(self) -> int:
        """Its share of the bytes of the files, by which units are spread over tasks."""
        return sum(int(each["size"]) for each in self.files) // self.shares


def apply(unit: RepeatUnit) -> bool:
    """False: each key of the share is there once. True: two have one hash, so that only the keys themselves can tell."""
    hashes = np.concatenate([np.empty(0, dtype=np.uint64), *_hashes(unit)])
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def _hashes(unit: RepeatUnit) -> Iterator[_Hashes]:
    names = ", ".join(f"k{place}" for place in range(len(unit.key)))
    for add in unit.files:
        with row_groups(unit.table, add, ()) as groups:
            for group in groups:
                rows = numbered(group.columns(unit.key))
                hashes = asked(f"SELECT hash({names}) AS hash FROM held ORDER BY n", held=rows)["hash"][group.alive]  # noqa: S608 - our own names
                yield hashes[hashes % np.uint64(unit.shares) == unit.share]
