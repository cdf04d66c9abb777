"""Keys that are looked for by their values, so that an index finds them, from their canonical texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.databases.measure import parts_of
from incremental_assets.adapters.databases.postgresql.sql import column
from incremental_assets.core.model.column import Column

_KINDS = {
    "smallint": ("bigint", "{}"),
    "integer": ("bigint", "{}"),
    "bigint": ("bigint", "{}"),
    "date": ("integer", "date '1970-01-01' + {}"),
    "uuid": ("text", "CAST({} AS uuid)"),
    "text": ("text", "{}"),
}
"""Types of which equal texts are equal values: how a part travels, and what of it is compared with the column, as an index can."""
_VARYING = re.compile(r"character varying(\(\d+\))?")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class SelectedKeys:
    """What stands behind FROM for the keys, the condition that a row has one of them, and the parameters."""

    keys: str
    equal: str
    values: list[Any]


def selected_by_index(columns: Sequence[Column], texts: Iterable[str]) -> SelectedKeys | None:
    """What looks up the keys by their values, so that an index serves; None where a part has a type of which equal values may have different texts."""
    kinds = [_KINDS.get(_VARYING.sub("text", each.source_type)) for each in columns]
    found = [parts for text in texts if _can_be(columns, parts := parts_of(columns, text))]
    names = [f"k{place}" for place in range(len(columns))]
    arrays, equal = [], []
    for place, (each, kind, name) in enumerate(zip(columns, kinds, names, strict=True), 1):
        if kind is None:
            return None
        travels, compared = kind
        arrays.append(f"CAST(${place} AS {travels}[])")
        equal.append(f"{column(each.name)} = {compared.format(f'k.{name}')}")
    keys = f"unnest({', '.join(arrays)}) AS k({', '.join(names)})"
    return SelectedKeys(
        keys, " AND ".join(equal), [list(part) for part in zip(*found, strict=True)] or [[]] * len(columns)
    )


def _can_be(columns: Sequence[Column], parts: Sequence[str | None]) -> bool:
    """A copy that somebody else has written may hold anything, which is no key of the source then."""
    pairs = zip(columns, parts, strict=True)
    return all(each.source_type != "uuid" or _UUID.fullmatch(part or "") for each, part in pairs)
