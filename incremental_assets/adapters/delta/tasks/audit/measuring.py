"""The lake's side of counts and hashes by tasks, where they know all that a table has; else it is Spark's to count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from incremental_assets.adapters.delta.live import marks_deletes
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.audit.measure_task import Ends, MeasureUnit
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.landing_unit import cursor_types, whole
from incremental_assets.adapters.delta.tasks.matching.sharing import spread
from incremental_assets.adapters.spark.arrow_types import FLOATING, arrow_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import DELETED_AT
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.table import NullPolicy, TableSpec
from incremental_assets.core.model.window import Window, disjoint

_TASK = "incremental_assets.adapters.delta.tasks.audit.measure_task"


def measured(tasks: Tasks, units: Sequence[MeasureUnit], windows: Sequence[Window], by: RowHash) -> tuple[Measure, ...]:
    """Rows and hash of each window. Raises NotByTasks."""
    found = tasks.run_all(_TASK, units) if units else []
    return tuple(
        Measure(window, sum(each[place][0] for each in found), str(sum(each[place][1] for each in found)), by)
        for place, window in enumerate(windows)
    )


def check_versions(spec: TableSpec, may_repeat: Callable[[], bool] = lambda: True) -> None:
    """Raises NotByTasks where of each key only the last version counts, and there may be several."""
    if spec.traits.keeps_versions and spec.key and may_repeat():
        raise NotByTasks("only the last version of each row counts")


def units_of(
    path: str, log: TableLog, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT
) -> list[MeasureUnit]:
    """What tasks are given to measure all rows of a table. Raises NotByTasks."""
    if any(arrow_type(each.spark_type) is None for each in spec.columns):
        raise NotByTasks("a column has a type that only Spark knows")
    if by is RowHash.TEXT and any(each.spark_type in FLOATING for each in spec.columns):
        raise NotByTasks("a column has a type whose text only Spark writes as a source does")
    state = log_cache.at(path, log.version)
    if why := eligible.refused_to_read(state):
        raise NotByTasks(why)
    table = Columns.of(state)
    columns = tuple(table.stored(each.name, each.spark_type) for each in spec.columns)
    gone = table.stored(DELETED_AT, "timestamp") if marks_deletes(log.columns()) else None
    cursor, ends = _windows(spec, windows)
    files = tuple(state.files.values())
    return [
        MeasureUnit(path, tuple(files[place] for place in places), columns, cursor, ends, gone, by)
        for places in spread(files)
    ]


def _windows(spec: TableSpec, windows: Sequence[Window]) -> tuple[tuple[int, ...], tuple[Ends, ...]]:
    """Places of the cursor's columns, none where a row without one counts as well; and the ends of each window."""
    cursor = spec.read_by
    is_whole = len(windows) == 1 and windows[0].lower is None and windows[0].upper is None
    if is_whole and (cursor is None or cursor.nulls is not NullPolicy.SKIP):
        return (), (Ends(None, None),)
    if cursor is None or not disjoint(windows):
        raise NotByTasks("windows share rows")
    places = tuple(spec.shape.names.index(name) for name in cursor.columns)
    kinds = {spec.columns[place].spark_type for place in places}
    if len(kinds) != 1 or not kinds <= {*cursor_types(cursor.type)}:
        raise NotByTasks("the cursor is no whole number here")
    return places, tuple(Ends(_whole(window.lower), _whole(window.upper)) for window in windows)


def _whole(end: CursorValue | None) -> int | None:
    if end is None:
        return None
    found = whole(end)
    if found is None or not -(2**63) <= found < 2**63:
        raise NotByTasks("a window ends where no number of 64 bits does")
    return found
