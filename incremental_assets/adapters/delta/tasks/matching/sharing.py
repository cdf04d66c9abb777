"""How a batch is shared out over several tasks: each takes some of its row groups, neighbours by their keys, and looks through the target for these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.parquet as pq

from incremental_assets.adapters.delta.log.readable import readable, store_for
from incremental_assets.adapters.delta.tasks.files.staged_rows import staged_name
from incremental_assets.adapters.delta.tasks.files.unit import Adding, ApplyUnit, Replacing, Staying
from incremental_assets.adapters.spark.manifest import staged_files

LEAST_ROWS = 256 * 1024
"""The fewest rows of a batch that is shared: below, more tasks cost more than they save."""
SHARE_ROWS = 2**20
"""The rows of a share, where there are many: each of them looks through the target's keys, which takes longest where keys lie anywhere."""
_FILES_BYTES = 32 * 2**20
"""The bytes, at least, of files whose rows are read as a whole, for one task."""
_STAYING_BYTES = 8 * 2**20
"""The bytes of files whose rows are written along, for one task: to read and write rows takes longer than to read them, and each core is to have some."""
SHARES = 16
"""The most shares."""


@dataclass(frozen=True, slots=True)
class _Group:
    file: str
    place: int
    rows: int
    lowest: int | None


def shares(unit: ApplyUnit, rows: int) -> list[ApplyUnit]:
    """What takes the place of a unit with so many rows, or the unit as it is where it cannot be shared or is not worth it."""
    how = unit.how
    if rows <= LEAST_ROWS or (isinstance(how, Adding) and how.compares):
        return [unit]
    key = how.key[0] if isinstance(how, Replacing) else None
    with readable("the staged batch"):
        groups = list(_groups(unit, key))
    parts = [replace(unit, groups=_by_file(part)) for part in _shared(groups)]
    if not isinstance(how, Replacing):
        return parts
    if how.whole:
        adding = [replace(part, how=Adding(compares=False), files=()) for part in parts]
        return [
            *adding,
            *(replace(unit, how=Staying(how.key, places)) for places in spread(unit.files, _STAYING_BYTES)),
        ]
    # Keys that leave are looked for once.
    return [*parts[:1], *(replace(part, how=replace(how, leaves=False)) for part in parts[1:])]


def spread(files: Sequence[Mapping[str, Any]], least: int | None = None, most: int = SHARES) -> list[tuple[int, ...]]:
    """Places of files, neighbours together, for as many tasks as their bytes are worth: at least so many bytes for each. Pure."""
    parts: list[tuple[int, ...]] = []
    worth = _FILES_BYTES if least is None else least
    filled = worth
    for place, add in enumerate(files):
        if filled >= worth and len(parts) < most:
            parts.append(())
            filled = 0
        parts[-1] = (*parts[-1], place)
        filled += int(add["size"])
    return parts


def _groups(unit: ApplyUnit, key: int | None) -> Iterator[_Group]:
    store = store_for(unit.staged)
    for name in [each.name for each in staged_files(unit.staged)]:
        told = pq.read_metadata(store.for_arrow(f"{unit.staged}/{name}"))
        names = [told.schema.column(place).path for place in range(len(told.schema))]
        column = None if key is None else names.index(staged_name(key))
        for place in range(told.num_row_groups):
            group = told.row_group(place)
            found = None if column is None else group.column(column).statistics
            lowest = found.min_raw if found is not None and found.has_min_max else None
            yield _Group(name, place, group.num_rows, lowest if isinstance(lowest, int) else None)


def _shared(groups: Sequence[_Group]) -> list[list[_Group]]:
    """Pure: in the order of their keys, as even as whole row groups allow."""
    total = sum(group.rows for group in groups)
    wanted = min(SHARES, max(2, total // SHARE_ROWS))
    rows = total / wanted
    parts: list[list[_Group]] = [[] for _ in range(wanted)]
    before = 0
    for group in sorted(groups, key=lambda group: (group.lowest is None, group.lowest or 0)):
        parts[min(wanted - 1, int((before + group.rows / 2) / rows))].append(group)
        before += group.rows
    return [part for part in parts if part]


def _by_file(groups: Sequence[_Group]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for group in groups:
        found[group.file] = (*found.get(group.file, ()), group.place)
    return found
