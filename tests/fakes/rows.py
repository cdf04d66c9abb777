"""Rows as every fake holds them: column name -> value, a time cursor as its canonical text, an integer cursor as an int."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence

from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.collation_key import NAME
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import FuturePolicy, NullPolicy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan

Row = Mapping[str, object]
"""One row. Written once and never changed, so that copies may share it."""


def cursor_of(spec: TableSpec, row: Row) -> CursorValue | None:
    """The cursor's value in a row, the fallback's where it is NULL; None without a cursor."""
    if spec.cursor is None:
        return None
    value = row[spec.cursor.column]
    if value is None and spec.cursor.fallback is not None:
        value = row[spec.cursor.fallback]
    return None if value is None else _parse(spec.cursor.type, str(value))


def key_of(spec: TableSpec, row: Row) -> tuple[object, ...]:
    """The key's values, and what the source takes for equal of those that it compares in its own way; NULL is equal to NULL."""
    of = spec.collation_key.of if spec.collation_key else ()
    folded = (
        None if any(row.get(column.name) is None for column in of) else "|".join(fold(row[each.name]) for each in of)
    )
    # What is gone from a copy is known by its collation key alone.
    return tuple(row.get(NAME, folded) if name == NAME else row[name] for name in spec.key)


def fold(value: object) -> str:
    """How the source of the fakes compares a column that has a collation: without case, and without blanks around."""
    return str(value).strip().lower()


def inside(spec: TableSpec, window: Window, row: Row, *, nulls: bool) -> bool:
    """Whether a row lies in a window; `nulls` takes those without a cursor as well."""
    value = cursor_of(spec, row)
    return nulls if value is None else window.contains(value)


def reads_nulls(spec: TableSpec) -> bool:
    """Whether a sync reads rows without a cursor: under `fail` too, so that they are noticed."""
    return spec.cursor is not None and spec.cursor.nulls is not NullPolicy.SKIP


def in_plan(plan: SyncPlan, row: Row) -> bool:
    """Whether a plan reads a row: a whole read takes all, a backfill none without a cursor."""
    if plan.spec.read_by is None:
        return True
    nulls = reads_nulls(plan.spec) and not plan.request.mode.reads_again
    return inside(plan.spec, plan.reading.window, row, nulls=nulls)


def is_fit(row: Row) -> bool:
    """Whether the lake can hold its values: a text that begins with `unfit` stands for what it cannot, a NaN or an infinity."""
    return not any(str(value).startswith("unfit") for value in row.values())


def breaks(spec: TableSpec, row: Row) -> bool:
    """Whether a row breaks the contract of its table: a text that begins with `broken` stands for whatever that says."""
    return spec.contract is not None and any(str(value).startswith("broken") for value in row.values())


def is_gone(spec: TableSpec, row: Row) -> bool:
    """Whether a row of a batch only says that the source no longer has it."""
    return row.get("_sync_op") == Operation.GONE or is_marked(spec, row)


def is_live(row: Row) -> bool:
    """Whether a row of the lake is not marked as gone."""
    return row.get("_sync_deleted_at") is None


def standing(spec: TableSpec, rows: Sequence[Row]) -> list[Row]:
    """Of an append the latest version of each key, else every row; without those that are marked as gone."""
    if spec.traits.keeps_versions and spec.key:
        rows = list({key_of(spec, row): row for row in rows}.values())
    return [row for row in rows if is_live(row)]


def is_marked(spec: TableSpec, row: Row) -> bool:
    """Whether the source itself says so in a column, and such rows leave the copy."""
    if not spec.deletes.drops_marked:
        return False
    mark = row[spec.deletes.column]
    return mark is not None and spec.deletes.value in (None, str(mark))


def rejected(plan: SyncPlan, row: Row) -> str:
    """Why a row cannot land; empty if it can."""
    spec = plan.spec
    if not is_fit(row):
        return "unfit"
    if any(part is None for part in key_of(spec, row)):
        return "a part of the key is NULL"
    value = cursor_of(spec, row)
    quarantines = spec.future is FuturePolicy.QUARANTINE and plan.reading.future_above is not None and value is not None
    if (
        quarantines
        and plan.reading.future_above is not None
        and value is not None
        and value >= plan.reading.future_above
    ):
        return "stamped past the source's clock"
    return ""


def digest(rows: Iterable[Row]) -> str:
    """A sum of row hashes, whatever their order."""
    return str(sum(_hash(sorted(row.items())) for row in rows))


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Rows in an order of their own, so that two tables can be compared."""
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def version_digest(versions: Iterable[tuple[int, int]]) -> str:
    """A sum of hashes of row versions."""
    return str(sum(_hash(version) for version in versions))


def own_columns(row: Row) -> dict[str, object]:
    """The source's columns of a row of the lake."""
    return {name: value for name, value in row.items() if not name.startswith("_sync_")}


def without(rows: Sequence[Row], present: Sequence[Row]) -> list[Row]:
    """`rows` less `present` as multisets, equal over the columns that both sides have."""
    left = [own_columns(row) for row in present]
    kept = []
    for row in rows:
        twin = next((there for there in left if _same(row, there)), None)
        if twin is None:
            kept.append(row)
        else:
            left.remove(twin)
    return kept


def _same(row: Row, there: Row) -> bool:
    return all(row[name] == there[name] for name in row.keys() & there.keys())


# Stories compare the same few stamps thousands of times.
_parse = functools.lru_cache(maxsize=10_000)(CursorValue.parse)


def _hash(value: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest(), "big")
