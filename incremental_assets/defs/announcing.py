"""Many partitions of one asset are announced together: in one statement, where Dagster's own way is a transaction or two for each.

`context.log_event` stores one event at a time, and the batches that Dagster makes of results need a variable in the environment of every
process. So the events are given to the storage itself, by `store_event_batch`; only that of SQLite leaves it to a loop, and is written here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from logging import DEBUG

from dagster import AssetExecutionContext, AssetKey, AssetMaterialization, DagsterEvent, DagsterEventType, EventLogEntry

# Neither is exported by `dagster`; tests/defs/test_announcing.py fails if they, or what is used of them here, are no longer as they were.
from dagster._core.events import StepMaterializationData
from dagster._core.storage.event_log import SqliteEventLogStorage

from incremental_assets.defs.metadata import Metadata

_TOGETHER = 4000
"""Events of one statement: of seven values each, of which SQLite takes 32,766."""


def announce(context: AssetExecutionContext, key: AssetKey, partitions: Mapping[str, Metadata]) -> None:
    """A materialization of each of these partitions by the step that is under way, with what is said of it."""
    entries = [
        _entry(context, AssetMaterialization(key, partition=partition, metadata=said))
        for partition, said in partitions.items()
    ]
    for begin in range(0, len(entries), _TOGETHER):
        _store(context, entries[begin : begin + _TOGETHER])


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


def _store(context: AssetExecutionContext, entries: Sequence[EventLogEntry]) -> None:
    storage = context.instance.event_log_storage
    if not isinstance(storage, SqliteEventLogStorage):
        storage.store_event_batch(entries)
        return
    # As its `store_event` does: into the file of the run, and into the one over all runs. The asset shows what came last.
    statement = storage.prepare_insert_event_batch(entries)
    with storage.run_connection(context.run.run_id) as run:
        run.execute(statement)
    *others, last = entries
    with storage.index_transaction() as index:
        if others:
            index.execute(storage.prepare_insert_event_batch(others))
        stored = index.execute(storage.prepare_insert_event(last))
        number = int(stored.lastrowid)
        storage._store_asset_event(index, last, number)
