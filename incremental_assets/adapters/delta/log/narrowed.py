"""Whether a commit that leaves every row as it is tells less of its files than the log had told: whoever looks for a row by the ends of its file would not find it. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from incremental_assets.adapters.delta.log.checkpoint import Action
from incremental_assets.adapters.delta.log.column_mapping import PHYSICAL
from incremental_assets.adapters.delta.log.log_state import LogState

_WHOLE = ("byte", "short", "integer", "long")
_MOMENTS = ("timestamp", "timestamp_ntz")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = 1000
"""What a writer may have cut off a moment, in microseconds."""


def narrowed(before: LogState, after: LogState) -> bool:
    """By the columns whose ends are numbers, dates or moments, as rows are looked for by no others; False where nobody knows."""
    gone, come = (_others(one, other) for one, other in ((before, after), (after, before)))
    if not come or any(each.get("deletionVector") for each in gone):
        return False
    # Ends that rows have left since lie further apart than those of the rows that are there.
    told, now = ([json.loads(each.get("stats") or "{}") for each in files] for files in (gone, come))
    if any(each.get("tightBounds") is False for each in told):
        return False
    columns = json.loads(after.metadata["schemaString"])["fields"]
    return any(
        _is_narrower(kind, _Ends.of(name, kind, told), _Ends.of(name, kind, now)) for name, kind in _known(columns)
    )


def _others(state: LogState, other: LogState) -> list[Action]:
    """Files that the other state lacks, or of which it tells something else."""
    there = {path: each.get("stats") for path, each in other.files.items()}
    return [each for path, each in state.files.items() if path not in there or there[path] != each.get("stats")]


def _known(columns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Names in the statistics, and types."""
    for each in columns:
        if each["type"] in (*_WHOLE, *_MOMENTS, "date"):
            yield each["metadata"].get(PHYSICAL, each["name"]), each["type"]


@dataclass(frozen=True, slots=True)
class _Ends:
    """The ends of a column in some files together, and the rows without a value; None: not known of one of them."""

    lowest: int | None
    highest: int | None
    nulls: int | None

    @classmethod
    def of(cls, name: str, kind: str, told: Sequence[Mapping[str, Any]]) -> _Ends:
        nulls = [(each.get("nullCount") or {}).get(name) for each in told]
        # A file without a value has no ends.
        held = [
            each for each, count in zip(told, nulls, strict=True) if count is None or count != each.get("numRecords")
        ]
        lows, highs = (
            [_number((each.get(end) or {}).get(name), kind) for each in held] for end in ("minValues", "maxValues")
        )
        return cls(_known_of(lows, min), _known_of(highs, max), _known_of(nulls, sum))


def _known_of(values: Sequence[int | None], of: Callable[[Sequence[int]], int]) -> int | None:
    known = [each for each in values if each is not None]
    return of(known) if known and len(known) == len(values) else None


def _is_narrower(kind: str, before: _Ends, after: _Ends) -> bool:
    spare = _MILLISECOND if kind in _MOMENTS else 0
    return (
        _exceeds(after.lowest, before.lowest, spare)
        or _exceeds(before.highest, after.highest, spare)
        or _exceeds(before.nulls, after.nulls, 0)
    )


def _exceeds(one: int | None, other: int | None, spare: int) -> bool:
    return one is not None and other is not None and one > other + spare


def _number(told: Any, kind: str) -> int | None:
    """An end as a whole number: days, or microseconds. None where it is none."""
    if kind in _WHOLE:
        return told if isinstance(told, int) else None
    with suppress(TypeError, ValueError, OverflowError):
        if kind == "date":
            return date.fromisoformat(told).toordinal()
        moment = datetime.fromisoformat(told)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
    return None
