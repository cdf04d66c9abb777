"""The Delta table itself: created before its first row, and prepared for each write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.live import marks_deletes
from incremental_assets.adapters.delta.log import added_columns, column_mapping, new_table, vectors
from incremental_assets.adapters.delta.log.added_columns import AddedColumn
from incremental_assets.adapters.delta.log.column_mapping import STATISTICS
from incremental_assets.adapters.delta.log.new_table import NewTable
from incremental_assets.adapters.delta.log.transaction_log import APP_ID, TableLog, open_log
from incremental_assets.adapters.delta.storage import names_in, remove_folder
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import AT, DELETED_AT, RUN_ID, SEQ
from incremental_assets.adapters.spark.session import settings_of
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.readers import needs_mapping
from incremental_assets.core.model.schema_drift import Difference, Retyped, sql_type
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.words import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN_COLUMNS = ((RUN_ID, "string"), (SEQ, "bigint"), (AT, "timestamp"))
"""What a sync adds to every row of a target: who wrote it, in which sequence, when."""

_DEFAULTS = "spark.databricks.delta.properties.defaults."
_WIDENING = "delta.enableTypeWidening"
_CHEAP = ("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz")
"""Types whose statistics take next to no time; those of texts and decimals took a sixth of a first load."""
_DEAR = ("float", "double", "decimal", "string")
_MOST = 32
"""The most columns with statistics: as many as Delta takes by itself."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


def opened(session: SparkSession, path: str, spec: TableSpec, app_id: str, columns: Iterable[Column] = ()) -> TableLog:
    """The table's log; an empty table, of the source's columns unless others are given, is made if there is none. Raises TargetChanged.

    A run that dies right after leaves an empty table with its app id, under which the next run continues.
    """
    log, others = open_log(path), tuple(columns)
    if log is None:
        _clear(session, path)
        made = others or spec.columns
        kept = statistics(spec, ((found.name, found.spark_type) for found in made))
        # A quarantine, which has columns of its own, is nobody's to read but ours.
        properties = {APP_ID: app_id, STATISTICS: kept, **(vectors.ON if spec.uses_vectors or others else {})}
        create(session, path, made, properties, comment=spec.shape.comment)
        log = open_log(path)
    # A quarantine has columns of its own for that.
    if log is not None and spec.deletes.marks and not others and not marks_deletes(log.columns()):
        log = _marking(session, path)
    if log is None:
        raise TargetChanged(
            f"{spec.id}: no Delta table could be made at {path}: if other files are there, move them away"
        )
    log.check_remembers(path)
    if log.app_id != app_id:
        raise TargetChanged(
            f"{spec.id}: the table at {path} is not the one that this run was planned for; run the sync again"
        )
    return log


def vectors_wanted(path: str, spec: TableSpec, log: TableLog) -> Mapping[str, str]:
    """What a copy that is there lacks to have rows marked as gone in its files, where Spark may set it: whoever has set the property, either way, is not overruled."""
    lacks = spec.uses_vectors and vectors.ENABLED not in log.properties and plane.spark_commits(path)
    return vectors.ON if lacks else _NOTHING


def _marking(session: SparkSession, path: str) -> TableLog | None:
    """The log once the table can say of a row that it is gone: a commit without rows."""
    add_columns(session, path, [(DELETED_AT, "timestamp")])
    return open_log(path)


def add_columns(session: SparkSession, path: str, columns: Sequence[tuple[str, str]]) -> None:
    """Give a table columns, by name and SQL type: a commit without rows. Raises LakeRefused where Spark alone could make it and may not."""

    def by_tasks() -> None:
        added_columns.add(path, [AddedColumn(name, kind) for name, kind in columns])

    def by_spark() -> None:
        from incremental_assets.adapters.spark.expressions import quoted

        listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
        session.sql(f"ALTER TABLE delta.{quoted(path)} ADD COLUMNS ({listed})")

    if plane.spark_commits(path):
        by_spark()
    else:
        plane.commit(path, f"{path}: it gets {counted(len(columns), 'column')}", by_tasks, by_spark)


def _clear(session: SparkSession, path: str) -> None:
    """Remove what a run leaves that died before its first commit: a folder without a log, which Spark would take for the table."""
    log = f"{path}/_delta_log"
    if set(names_in(path, lambda: session)) == {"_delta_log"} and not _commits(names_in(log, lambda: session)):
        remove_folder(log, lambda: session)


def _commits(names: Iterable[str]) -> bool:
    """Whether any of the names in a log is more than a temporary file, or the checksum of one."""
    return any(not name.startswith(".") for name in names)


def create(
    session: SparkSession, path: str, columns: Iterable[Column], properties: Mapping[str, str], comment: str = ""
) -> None:
    """Make an empty table, unless another run has just done so."""
    columns = tuple(columns)
    mapped = {column_mapping.MODE: "name"} if is_awkward(columns) else {}
    own = (Column(name, "", kind, Fidelity.EXACT) for name, kind in OWN_COLUMNS)
    table = NewTable((*columns, *own), {**properties, **mapped}, comment)
    plane.commit(
        path,
        f"{path}: the table is made",
        lambda: _create(session, path, table),
        lambda: create_by_spark(session, path, table),
    )


def _create(session: SparkSession, path: str, table: NewTable) -> None:
    if any(name.startswith(_DEFAULTS) for name in settings_of(session)):
        raise NotByTasks("the session gives properties to every table that is made")
    new_table.create(path, table)


def create_by_spark(session: SparkSession, path: str, table: NewTable) -> None:
    """The same by CREATE TABLE."""
    from pyspark.errors import PySparkException

    from incremental_assets.adapters.spark.expressions import literal, quoted

    described = [
        f"{quoted(each.name)} {each.spark_type}" + (f" COMMENT {literal(each.comment)}" if each.comment else "")
        for each in table.columns
    ]
    listed = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in table.properties.items())
    commented = f" COMMENT {literal(table.comment)}" if table.comment else ""
    try:
        session.sql(
            f"CREATE TABLE IF NOT EXISTS delta.{quoted(path)} ({', '.join(described)}) USING delta{commented} TBLPROPERTIES ({listed})"
        )
    except PySparkException as error:
        # Without a lock another machine may have been first; whose table it is, the caller looks.
        if open_log(path) is None:
            first = next(iter(str(error).splitlines()), "")
            raise TargetChanged(
                f"no Delta table could be made at {path} ({first}); if other files are there, move them away"
            ) from error


def prepare(
    session: SparkSession, path: str, log: TableLog, columns: Iterable[Column], more: Mapping[str, str] = _NOTHING
) -> None:
    """Turn on what the coming write needs and the table lacks: a commit without rows, and only then. `more`: properties besides ours."""
    from incremental_assets.adapters.spark.expressions import literal, quoted

    needed = dict(more) | ({column_mapping.MODE: "name"} if is_awkward(columns) else {})
    lacking = {name: value for name, value in needed.items() if log.properties.get(name) != value}
    if lacking:
        plane.leave_to_spark(path, f"it sets {' and '.join(sorted(lacking))}")
        listed = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in lacking.items())
        session.sql(f"ALTER TABLE delta.{quoted(path)} SET TBLPROPERTIES ({listed})")


def widen(session: SparkSession, path: str, columns: Iterable[Retyped]) -> None:
    """Give columns their wider types: commits without rows and without new files. A run that dies among them leaves the rest to the next one."""
    from incremental_assets.adapters.spark.expressions import quoted

    columns = tuple(columns)
    plane.leave_to_spark(path, f"it widens {' and '.join(each.name for each in columns)}")
    needed = [f"'{_WIDENING}' = 'true'"]
    if any(sql_type(each.now) == "timestamp_ntz" for each in columns):
        # A table that is made with such a column has the feature; one that gets it later is asked for it.
        needed.append("'delta.feature.timestampNtz' = 'supported'")
    session.sql(f"ALTER TABLE delta.{quoted(path)} SET TBLPROPERTIES ({', '.join(needed)})")
    for each in columns:
        session.sql(f"ALTER TABLE delta.{quoted(path)} ALTER COLUMN {quoted(each.name)} TYPE {sql_type(each.now)}")


def statistics(spec: TableSpec, columns: Iterable[tuple[str, str]]) -> str:
    """The value of the property that lists the columns whose lowest and highest value each file keeps, at most 32; `columns`: name and SQL type of each.

    Key and cursor, by which a sync and a check leave files out, our own, and what a reader filters by: dates and numbers. To index
    other columns, set the property; it stays until an overwrite changes the columns.
    """
    from incremental_assets.adapters.spark.expressions import quoted

    first = [*spec.key, *spec.cursor_columns[:1]]
    kinds = {name: kind.partition("(")[0] for name, kind in columns}
    ours = [name for name, kind in OWN_COLUMNS if kind in _CHEAP]
    chosen = [name for name in first if kinds.get(name) in (*_CHEAP, *_DEAR)]
    chosen += [*ours, *(name for name, kind in kinds.items() if kind in _CHEAP)]
    return ",".join(quoted(name) for name in list(dict.fromkeys(chosen))[:_MOST])


def without_lost(spec: TableSpec, log: TableLog, changes: Difference) -> Mapping[str, str]:
    """What to set before an overwrite changes the columns: Delta refuses statistics of a column that is no longer there, or of no such type."""
    if not changes or STATISTICS not in log.properties:
        return _NOTHING
    # By their very names: an overwrite brings the source's spelling.
    staying = {found.name for found in spec.columns} - {found.name for found in changes.retyped}
    columns = [(found.name, sql_type(found.type)) for found in log.columns() if found.name in staying]
    return {STATISTICS: statistics(spec, columns)}


def is_awkward(columns: Iterable[Column]) -> bool:
    """Whether any name needs column mapping, which not every reader knows, so that it is not turned on for nothing."""
    return any(needs_mapping(found.name) for found in columns)
