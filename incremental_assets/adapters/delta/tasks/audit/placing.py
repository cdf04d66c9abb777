"""The lake's side of a search for rows that differ, by tasks; where they cannot, Spark's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.audit.checksums import Held
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.plane import Result
from incremental_assets.adapters.delta.tasks.audit.measuring import check_versions, units_of
from incremental_assets.adapters.delta.tasks.audit.placed_task import Asked, PlacedUnit
from incremental_assets.adapters.spark.arrow_types import FLOATING
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum
from incremental_assets.core.model.measure import NotByBytes, RowHash
from incremental_assets.core.model.window import Window, merge
from incremental_assets.core.ports import PlacedRows

_TASK = "incremental_assets.adapters.delta.tasks.audit.placed_task"


class PlacedByTasks:
    """Implements `core.ports.PlacedRows`, `ByteHashed` and `Bounded`. `otherwise`: what answers where tasks cannot; None for rows by bytes, which then raise NotByBytes."""

    def __init__(
        self, tasks: Tasks, held: Held, windows: Sequence[Window], lake: str, otherwise: PlacedRows | None
    ) -> None:
        self._tasks, self._held, self._windows, self._lake, self._given = tasks, held, windows, lake, otherwise
        self._by_value = placed_by_value(held.spec)
        by = RowHash.BYTES if otherwise is None else RowHash.TEXT
        self._units = plane.known(lambda: placed_units(held, windows, by))

    def by_bytes(self) -> PlacedRows | None:
        """The same rows by the hash of their bytes, by tasks alone, as Spark has no such hash; None where tasks cannot read the table."""
        found = PlacedByTasks(self._tasks, self._held, self._windows, self._lake, None)
        return None if found._units is None else found

    @property
    def _otherwise(self) -> PlacedRows:
        if self._given is None:
            raise NotByBytes
        return self._given

    def bounds(self) -> KeySpread | None:
        """The bounds by the log's statistics of the files; None where these do not tell, or keys lie at their hashes."""
        return bounds_of(self._units) if self._units is not None and self._by_value else None

    def spread(self) -> KeySpread:
        """The number of rows and the ends of their places; only the key and the cursor are read."""
        return self._read(
            lambda: spread_of(self._run(Asked.SPREAD), by_value=self._by_value), lambda other: other.spread()
        )

    def sums(self, within: KeyParts, shift: int) -> Mapping[int, KeySum]:
        """The number of rows and the sum of hashes by part. Of row groups without a key there, only key and cursor are read."""
        return self._read(
            lambda: sums_of(self._run(Asked.SUMS, within, shift)), lambda other: other.sums(within, shift)
        )

    def hashes(self, within: KeyParts) -> Sequence[tuple[int, int]]:
        """Place and hash of each row within, read likewise."""
        return self._read(
            lambda: [each for of_task in self._run(Asked.HASHES, within) for each in of_task],
            lambda other: other.hashes(within),
        )

    def _read(self, by_tasks: Callable[[], Result], by_spark: Callable[[PlacedRows], Result]) -> Result:
        return plane.read(
            f"{self._held.spec.id}: its rows are placed", by_tasks, lambda: by_spark(self._otherwise)
        ).result

    def _run(self, asked: Asked, within: KeyParts | None = None, shift: int = 0) -> list[Any]:
        with explained(self._held.spec.id, self._lake):
            return run_placed(self._tasks, self._units, asked, within, shift)


def run_placed(
    tasks: Tasks, units: Sequence[PlacedUnit] | None, asked: Asked, within: KeyParts | None = None, shift: int = 0
) -> list[Any]:
    """What each task found. Raises NotByTasks where none can be asked."""
    if units is None:
        raise NotByTasks("tasks do not know all that the table has")
    return tasks.run_all(_TASK, [replace(unit, asked=asked, within=within, shift=shift) for unit in units])


def bounds_of(units: Sequence[PlacedUnit]) -> KeySpread | None:
    """The number of rows in the units' files, deleted ones included, and the ends of their keys; None where a file has no statistics of its keys, or there is no file."""
    rows, ends = 0, list[int]()
    for unit in units:
        (column,) = (unit.measured.columns[place] for place in unit.key)
        for add in unit.measured.files:
            told = json.loads(add.get("stats") or "{}")
            low, high = ((told.get(name) or {}).get(column.name) for name in ("minValues", "maxValues"))
            count = told.get("numRecords")
            if not (isinstance(count, int) and isinstance(low, int) and isinstance(high, int)):
                return None
            rows, ends = rows + count, [*ends, low, high]
    return KeySpread(rows, min(ends), max(ends)) if ends else None


def spread_of(found: Sequence[tuple[int, int, int] | None], *, by_value: bool) -> KeySpread:
    """The number of rows that all tasks found, and the ends of their places; of keys at their hashes the ends are those of all hashes."""
    ends = [each for each in found if each is not None]
    rows = sum(count for count, _, _ in ends)
    if not by_value:
        return KeySpread(rows, 0, (1 << HASH_BITS) - 1, by_hash=True)
    return KeySpread(rows, min((low for _, low, _ in ends), default=0), max((high for *_, high in ends), default=0))


def sums_of(found: Sequence[Sequence[tuple[int, int, int]]]) -> dict[int, KeySum]:
    """The number of rows and the sum of hashes of each part, over all tasks."""
    rows, digests = Counter[int](), Counter[int]()
    for part, count, digest in (each for of_task in found for each in of_task):
        rows[part] += count
        digests[part] += digest
    return {part: KeySum(rows[part], digests[part]) for part in rows}


def placed_units(
    held: Held, windows: Sequence[Window], by: RowHash, placed_by: RowHash = RowHash.TEXT
) -> list[PlacedUnit]:
    """What tasks are given. Raises NotByTasks where they do not know all that the table has."""
    spec, by_value = held.spec, placed_by_value(held.spec)
    key = tuple(spec.shape.names.index(name) for name in spec.key) or tuple(range(len(spec.columns)))
    if not by_value and any(spec.columns[place].spark_type in FLOATING for place in key):
        raise NotByTasks(
            "a key lies at the hash of its text, which has a type whose text only Spark writes as a source does"
        )
    check_versions(spec)
    units = units_of(held.path, held.log, spec, merge(windows), by)
    return [PlacedUnit(unit, key, by_value, placed_by) for unit in units]
