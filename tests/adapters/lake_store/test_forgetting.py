"""Old versions leave a history in a store: by a commit of ours, once, whatever the store answers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.new_table import NewTable, create
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.old_files import clock_of, old_files, remove
from incremental_assets.adapters.delta.tasks.files.data_file import schema_of, write_rows
from incremental_assets.adapters.delta.tasks.files.skipping import ordinal
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.delta.tasks.forgetting.forgetting import Forgetting, forget
from incremental_assets.adapters.delta.tasks.forgetting.unit import Closed, Old
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.lake_store import opened
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.planning.plan import CommitIds
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.adapters.quarantine.offline import Here
from tests.scenario import orders

BEGINS, ENDS, GONE = (
    Stored("_valid_from", "timestamp"),
    Stored("_valid_to", "timestamp"),
    Stored("_sync_deleted", "boolean"),
)
COLUMNS = (Stored("note", "string"), BEGINS, ENDS, GONE)
NEW = NewTable(tuple(Column(each.name, each.type, each.type, Fidelity.EXACT) for each in COLUMNS), {})


def day(number: int) -> datetime:
    return datetime(2026, 3, number, tzinfo=UTC)


ROWS = [
    ("old", day(1), day(2), False),
    ("current", day(2), None, False),
    ("gone", day(3), None, True),
    ("late", day(9), None, True),
]


@pytest.fixture
def history(relay: Relay) -> Iterator[str]:
    """One file of four versions."""
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    path = f"{root}/lake/shop/public/orders__history"
    create(path, NEW)
    rows = pa.table([list(column) for column in zip(*ROWS, strict=True)], schema=schema_of(COLUMNS))
    commit(path, [{"add": write_rows(path, ("note",), iter([rows]), 1)}])
    yield path
    relay.faults.clear()


def note_of(path: str) -> CommitMetadata:
    seen = log_cache.latest(path)
    assert seen is not None
    return CommitMetadata.of_maintenance(CommitIds("app", 1, uuid.uuid4().hex), "run", None, seen.state.version)


def commit(path: str, actions: list[Any]) -> None:
    seen = log_cache.latest(path)
    assert seen is not None
    NextVersion(path, seen.state, note_of(path), {"operation": "WRITE"}, actions, (), once=False).commit(orders())


def forgotten(path: str) -> int:
    tasks: Any = Here()
    old = Old(ordinal(day(5)), BEGINS, Closed(ENDS, GONE, BEGINS))
    return forget(tasks, Forgetting(orders(), path, note_of(path), "old", old))


def notes(path: str) -> list[str]:
    """Of the files that the log names."""
    seen, store = log_cache.latest(path), store_for(path)
    assert seen is not None
    files = [pq.read_table(store.for_arrow(f"{path}/{name}")) for name in seen.state.files]
    return sorted(text for file in files for text in file["note"].to_pylist())


@pytest.mark.parametrize("faults", [[], ["500 after"], ["cut after"], ["409"]], ids=" ".join)
def test_what_ended_or_was_gone_goes_once_whatever_the_store_says(
    history: str, relay: Relay, faults: list[str]
) -> None:
    note_of(history)
    relay.within, relay.faults = "_delta_log/00000000000000000002.json", {"PUT": list(faults)}
    assert forgotten(history) == 2
    assert notes(history) == ["current", "late"]
    assert forgotten(history) == 0


def test_what_it_replaced_is_an_old_file_from_then_on(history: str) -> None:
    forgotten(history)
    later = clock_of(history) + timedelta(days=8)
    found = old_files(history, timedelta(days=7), later)
    assert len(found.files) == 1
    remove(found)
    assert notes(history) == ["current", "late"]
    assert [name for name in store_for(history).list_from(history) if name.endswith(".parquet")] != []
    assert old_files(history, timedelta(days=7), later).files == ()
