"""Many partitions of one asset are announced together: in one statement, where Dagster's own way is a transaction or two for each.

`context.log_event` stores one event at a time, and the batches that Dagster makes of results need a variable in the environment of every
process. So the events are given to the storage itself, by `store_event_batch`; only that of SQLite leaves it to a loop, and is written here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from logging import DEBUG, INFO

from dagster import (
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    DagsterEvent,
    DagsterEventType,
    DagsterInstance,
    EventLogEntry,
)

# None of these is exported by `dagster`; tests/defs/test_announcing.py fails if they, or what is used of them here, are no longer as they were.
from dagster._core.events import StepMaterializationData
from dagster._core.instance.utils import RUNLESS_JOB_NAME, RUNLESS_RUN_ID
from dagster._core.storage.event_log import SqliteEventLogStorage

from incremental_assets.defs.metadata import Metadata

_TOGETHER = 4000
"""Events of one statement: of seven values each, of which SQLite takes 32,766."""


def announce(context: AssetExecutionContext, key: AssetKey, partitions: Mapping[str, Metadata]) -> None:
    """A materialization of each of these partitions by the step that is under way, with what is said of it."""
    _store(context.instance, [_entry(context, event) for event in _events(key, partitions)])


def announce_without_run(instance: DagsterInstance, key: AssetKey, partitions: Mapping[str, Metadata]) -> None:
    """The same by no run, as Dagster stores what is reported to it from outside."""
    _store(instance, [_entry_without_run(event) for event in _events(key, partitions)])


def _events(key: AssetKey, partitions: Mapping[str, Metadata]) -> list[AssetMaterialization]:
    return [AssetMaterialization(key, partition=partition, metadata=said) for partition, said in partitions.items()]


def _entry(context: AssetExecutionContext, event: AssetMaterialization) -> EventLogEntry:
    """As `context.log_event` would make it."""
    step = context.get_step_execution_context()
    message = f"Materialized value {event.label}."
    return EventLogEntry(
        error_info=None,
        level=DEBUG,
        user_message=message,
        run_id=step.run_id,
        timestamp=time.time(),
        step_key=step.step.key,
        job_name=step.job_name,
        dagster_event=DagsterEvent(
            event_type_value=DagsterEventType.ASSET_MATERIALIZATION.value,
            job_name=step.job_name,
            step_handle=step.step.handle,
            node_handle=step.step.node_handle,
            step_kind_value=step.step.kind.value,
            logging_tags=step.event_tags,
            event_specific_data=StepMaterializationData(event),
            message=message,
            pid=os.getpid(),
        ),
    )


def _entry_without_run(event: AssetMaterialization) -> EventLogEntry:
    """As `instance.report_runless_asset_event` would make it."""
    return EventLogEntry(
        error_info=None,
        level=INFO,
        user_message="",
        run_id=RUNLESS_RUN_ID,
        timestamp=time.time(),
        job_name=RUNLESS_JOB_NAME,
        dagster_event=DagsterEvent(
            event_type_value=DagsterEventType.ASSET_MATERIALIZATION.value,
            job_name=RUNLESS_JOB_NAME,
            event_specific_data=StepMaterializationData(event),
        ),
    )


def _store(instance: DagsterInstance, entries: Sequence[EventLogEntry]) -> None:
    storage = instance.event_log_storage
    for begin in range(0, len(entries), _TOGETHER):
        some = entries[begin : begin + _TOGETHER]
        if isinstance(storage, SqliteEventLogStorage):
            _store_in_files(storage, some)
        else:
            storage.store_event_batch(some)


def _store_in_files(storage: SqliteEventLogStorage, entries: Sequence[EventLogEntry]) -> None:
    # As its `store_event` does: into the file of the run, and into the one over all runs. The asset shows what came last.
    statement = storage.prepare_insert_event_batch(entries)
    *others, last = entries
    with storage.run_connection(last.run_id) as run:
        run.execute(statement)
    with storage.index_transaction() as index:
        if others:
            index.execute(storage.prepare_insert_event_batch(others))
        stored = index.execute(storage.prepare_insert_event(last))
        number = int(stored.lastrowid)
        storage._store_asset_event(index, last, number)
