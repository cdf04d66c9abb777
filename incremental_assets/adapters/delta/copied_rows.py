"""Some columns of a copy's rows, for whoever reads changes that go on from them: without Spark, in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.skipping import Among, Reach, file_may_hold
from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.delta.tasks.matching.replacing import reaches
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import HELD, RESOLVED_AT, SEQ
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table import TableSpec


def copied_rows(
    lake: str, spec: TableSpec, names: Sequence[str], keys: pa.Table | None, *, version: int | None = None
) -> pa.Table:
    """These columns of the rows with these keys, or of all, as they are now, or were at a version. Raises TargetChanged where only Spark could read them."""
    path = table_path(lake, spec.id)
    types = {each.name: each.spark_type for each in spec.columns}
    schema = pa.schema([pa.field(name, required_type(types[name])) for name in names])
    log = open_log(path)
    if log is None or not log.landed():
        return schema.empty_table()
    try:
        with explained(spec.id, lake):
            state = log_cache.at(path, log.version if version is None else version)
            table = Columns.of(state)
            columns = [table.stored(name, types[name]) for name in names]
            within = _within(dict(zip(names, columns, strict=True)), keys)
            found = [_with_keys(rows, keys) for rows in _stored(path, state, schema, columns, within)]
    except NotByTasks as error:
        raise TargetChanged(
            f"{spec.id}: changes of the log go on from rows of the copy, which cannot be read as it is now ({error}); load it again with {full_refresh(spec)}"
        ) from None
    return pa.concat_tables([schema.empty_table(), *found])


def held_keys(lake: str, spec: TableSpec, seq: int) -> pa.Table:
    """The keys of the rows that its contract has held by a sequence, as texts: later ones are of a run that died before its commit. Raises TargetChanged likewise."""
    path, texts = quarantine_path(lake, spec.id), pa.schema([pa.field(name, pa.string()) for name in spec.key])
    log = open_log(path)
    if log is None:
        return texts.empty_table()
    marks = {HELD: "boolean", RESOLVED_AT: "timestamp", SEQ: "bigint"}
    schema = pa.schema([*texts, *(pa.field(name, required_type(kind)) for name, kind in marks.items())])
    try:
        with explained(spec.id, lake):
            state = log_cache.at(path, log.version)
            table = Columns.of(state)
            if not set(marks) <= {field["name"] for field in table.fields}:
                return texts.empty_table()
            columns = [*(table.stored(name, "string") for name in spec.key), *starmap(table.stored, marks.items())]
            found = pa.concat_tables([schema.empty_table(), *_stored(path, state, schema, columns, ())])
    except NotByTasks as error:
        raise TargetChanged(
            f"{spec.id}: what its contract holds is needed to tell what a change left as it was, and its quarantine cannot be read as it is now ({error}); load the table again with {full_refresh(spec)}"
        ) from None
    open_ones = pc.and_(pc.fill_null(found.column(HELD), fill_value=False), pc.is_null(found.column(RESOLVED_AT)))
    return found.filter(pc.and_(open_ones, pc.less_equal(found.column(SEQ), seq))).select(list(spec.key))


def quarantined_rows(lake: str, spec: TableSpec, names: Sequence[str]) -> pa.Table:
    """These columns of all rows in its quarantine, as texts; one that it does not have is NULL. Raises TargetChanged likewise."""
    path, schema = quarantine_path(lake, spec.id), pa.schema([pa.field(name, pa.string()) for name in names])
    log = open_log(path)
    if log is None:
        return schema.empty_table()
    try:
        with explained(spec.id, lake):
            state = log_cache.at(path, log.version)
            table = Columns.of(state)
            there = [name for name in names if any(field["name"].lower() == name.lower() for field in table.fields)]
            columns = [table.stored(name, "string") for name in there]
            found = [*_stored(path, state, pa.schema([schema.field(name) for name in there]), columns, ())]
    except NotByTasks as error:
        raise TargetChanged(
            f"{spec.id}: what could not land is needed to tell what a change left as it was, and its quarantine cannot be read as it is now ({error}); load the table again with {full_refresh(spec)}"
        ) from None
    return pa.concat_tables([schema.empty_table(), *found], promote_options="default")


def _stored(
    path: str, state: LogState, schema: pa.Schema, columns: Sequence[Stored], within: Sequence[Reach | Among]
) -> Iterator[pa.Table]:
    if why := eligible.refused_to_read(state):
        raise NotByTasks(why)
    for add in state.files.values():
        if not file_may_hold(add.get("stats"), within):
            continue
        with row_groups(path, add, within) as groups:
            for group in groups:
                yield pa.table(group.columns(columns), schema=schema).filter(pa.array(group.alive))


def _within(columns: dict[str, Stored], keys: pa.Table | None) -> tuple[Reach | Among, ...]:
    """Where in the copy rows with these keys may lie."""
    if keys is None:
        return ()
    return reaches([columns[name] for name in keys.column_names], list(keys.columns))


def _with_keys(rows: pa.Table, keys: pa.Table | None) -> pa.Table:
    return rows if keys is None else rows.join(keys, keys=keys.column_names, join_type="left semi", use_threads=False)
