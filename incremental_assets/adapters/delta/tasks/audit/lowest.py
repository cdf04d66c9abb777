"""Where the rows of a copy begin, by what its log says of each file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal

from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.skipping import whole_end
from incremental_assets.adapters.delta.tasks.landing_unit import cursor_types
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import TableSpec


def lowest(spec: TableSpec, state: LogState) -> CursorValue | None:
    """The lowest cursor of all rows, deleted ones included; None where one of the files does not tell, or where a row may have it from another column. Raises NotByTasks."""
    cursor = spec.read_by
    if cursor is None or len(cursor.columns) != 1:
        return None
    # One of the system's own, such as xmin, is no column of the copy.
    kind = next((each.spark_type for each in spec.columns if each.name == cursor.column), "")
    if kind not in cursor_types(cursor.type):
        return None
    column = Columns.of(state).stored(cursor.column, kind).name
    found = list(_ends((file.get("stats") for file in state.files.values()), column))
    known = [each for each in found if isinstance(each, str | int | Decimal)]
    if not known or len(known) < len(found):
        return None
    # Moments and dates of one column are texts of one form each; as numbers they are in order whatever their form.
    numbers = {each: whole_end(each, kind) for each in known}
    if None in numbers.values():
        return None
    first = min(known, key=lambda each: numbers[each] or 0)
    return _value(cursor.type, str(first))


def _ends(stats: Iterable[str | None], column: str) -> Iterable[object]:
    """The lowest value of each file that has rows with one; None where it does not tell."""
    for text in stats:
        told = json.loads(text or "{}", parse_float=Decimal)
        rows = told.get("numRecords")
        if rows is not None and rows == (told.get("nullCount") or {}).get(column, 0 if rows == 0 else None):
            continue
        yield (told.get("minValues") or {}).get(column)


def _value(kind: CursorType, text: str) -> CursorValue | None:
    try:
        return CursorValue.parse(kind, text)
    except ValueError:
        return None
