"""Whether keys of a table may repeat, by tasks that read nothing but its key; where they may, or tasks cannot tell, it is Spark's to count them."""

from __future__ import annotations

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.audit.repeat_task import RepeatUnit
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.spark.arrow_types import FLOATING, arrow_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.table import TableSpec

_TASK = "incremental_assets.adapters.delta.tasks.audit.repeat_task"
_SHARE_ROWS = 8_000_000
"""The rows whose hashes one task sorts, in 64 MB."""
_SHARES = 8
"""The most shares, as each of them reads the whole key."""


def may_repeat(tasks: Tasks, path: str, log: TableLog, spec: TableSpec) -> bool:
    """False where no key is there twice. Raises NotByTasks."""
    return any(tasks.run_all(_TASK, units_of(path, log, spec)))


def units_of(path: str, log: TableLog, spec: TableSpec) -> list[RepeatUnit]:
    """What tasks are given to look at all keys. Raises NotByTasks."""
    by_name = {each.name: each for each in spec.columns}
    key = [by_name[name] for name in spec.key]
    if not all(_is_equal_as_it_is(each) for each in key):
        raise NotByTasks("of a column of the key, two values may be one to the source")
    rows = log.rows_in_files()
    if rows is None or rows > _SHARES * _SHARE_ROWS:
        raise NotByTasks(f"{rows} rows are more than tasks look at")
    state = log_cache.at(path, log.version)
    if why := eligible.refused_to_read(state):
        raise NotByTasks(why)
    table, files = Columns.of(state), tuple(state.files.values())
    columns = tuple(table.stored(each.name, each.spark_type) for each in key)
    shares = max(1, -(-rows // _SHARE_ROWS))
    return [RepeatUnit(path, files, columns, share, shares) for share in range(shares)]


def _is_equal_as_it_is(column: Column) -> bool:
    """Whether two values are one key only where they are the same: see `checksums.duplicates`."""
    if column.spark_type in FLOATING or arrow_type(column.spark_type) is None:
        return False
    is_number_as_text = column.source_type == "numeric" and column.spark_type == "string"
    return not is_number_as_text and not column.source_type.endswith("citext")
