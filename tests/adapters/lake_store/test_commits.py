"""Commits that are made in a store by this program alone: fences, columns that come, who owns a table; and what Spark may not commit there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.damaged_files import damaged_file
from incremental_assets.adapters.delta.fence import fence
from incremental_assets.adapters.delta.log import added_columns, log_cache
from incremental_assets.adapters.delta.log.added_columns import AddedColumn
from incremental_assets.adapters.delta.log.delta_rs import opened as by_delta_rs
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.ownership import Ownership
from incremental_assets.adapters.delta.plane import leave_to_spark
from incremental_assets.adapters.delta.target_table import add_columns, prepare, widen
from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from incremental_assets.adapters.lake_store import opened
from incremental_assets.core.errors import CommitMissing, LakeRefused, Overtaken
from incremental_assets.core.model.paths import owner_path, table_path
from incremental_assets.core.model.schema_drift import Retyped
from incremental_assets.core.planning.plan import CommitIds
from tests.adapters.batches import ORDERS, columns
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.adapters.lake_store.test_rows import put_there
from tests.adapters.tasks.tables import Table

ROWS = [(number, "a") for number in range(40_000)]


NO_SPARK: Any = None


@pytest.fixture
def bucket(relay: Relay) -> str:
    root = new_bucket(relay.server).replace("s3://", "s3a://")
    opened.configure(root, lambda: options(relay.address))
    return f"{root}/lake"


@pytest.fixture(params=["folder", "store"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "lake") if request.param == "folder" else request.getfixturevalue("bucket")


@pytest.fixture
def path(lake: str, tmp_path: Path) -> str:
    """A table there, of two files, of which one has its marks in a file of their own."""
    table = Table(tmp_path, "id bigint, note string")
    table.land(Replacing((0,), compares=True), ROWS)
    table.land(Replacing((0,), compares=True), [(number, "b") for number in range(0, 40_000, 7)])
    path = table_path(lake, ORDERS.id)
    if "://" in lake:
        put_there(table.path, path)
    else:
        Path(path).parent.mkdir(parents=True)
        table.path.rename(path)
    return path


def version(path: str) -> int:
    seen = log_cache.latest(path)
    assert seen is not None
    return seen.state.version


def note(seq: int, seen: int) -> CommitMetadata:
    return CommitMetadata.of_fence(CommitIds("test", seq, f"batch-{seq}"), None, seen)


def test_a_fence_is_a_commit_of_our_own(path: str) -> None:
    at = version(path)
    fence(NO_SPARK, ORDERS, path, at, note(9, at))
    log = open_log(path)
    assert log is not None
    assert (log.version, log.last_sequence("test"), log.rows()) == (at + 1, 9, len(ROWS))
    with pytest.raises(CommitMissing):
        fence(NO_SPARK, ORDERS, path, at + 1, note(8, at))
    with pytest.raises(Overtaken):
        fence(NO_SPARK, ORDERS, path, at, note(10, at))


def test_columns_come_in_a_commit_that_every_reader_knows(path: str) -> None:
    at = version(path)
    added_columns.add(
        path, [AddedColumn("more", "decimal(9,2)"), AddedColumn("when", "timestamp_ntz", {"comment": "a word"})]
    )
    found = by_delta_rs(path).schema().fields
    assert [each.name for each in found][-2:] == ["more", "when"]
    log = open_log(path)
    assert log is not None
    assert log.foreign(at) is None, "no row is another one after it"
    assert {each.name: each.type for each in log.columns()}["more"] == "decimal(9,2)"


def test_a_table_that_maps_its_columns_gives_each_a_number_of_its_own(tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint", {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "7"})
    state, _ = added_columns.with_added(table.state, [AddedColumn("a", "string"), AddedColumn("b", "string")])
    told = [each["metadata"] for each in by_name(state.metadata["schemaString"]) if each["name"] in "ab"]
    assert [each["delta.columnMapping.id"] for each in told] == [8, 9]
    assert all(each["delta.columnMapping.physicalName"].startswith("col-") for each in told)
    assert state.properties["delta.columnMapping.maxColumnId"] == "9"


def by_name(schema: str) -> list[dict[str, Any]]:

    return list(json.loads(schema)["fields"])


def test_what_only_spark_could_commit_is_refused_in_s3_with_the_reason(bucket: str) -> None:
    with pytest.raises(LakeRefused, match=r"/t: only Spark could make this commit \(the table is partitioned\)"):
        leave_to_spark(f"{bucket}/t", "the table is partitioned")
    for elsewhere in ("/lake/t", "hdfs://name/t"):
        leave_to_spark(elsewhere, "the table is partitioned")


def test_no_statement_of_sparks_changes_a_table_in_s3(bucket: str, tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint, note string")
    put_there(table.path, f"{bucket}/t")
    log, session = open_log(f"{bucket}/t"), None
    assert log is not None
    with pytest.raises(LakeRefused, match=r"it sets delta.columnMapping.mode"):
        prepare(session, f"{bucket}/t", log, columns("my note string"))  # type: ignore[arg-type]
    with pytest.raises(LakeRefused, match="it widens id"):
        widen(session, f"{bucket}/t", [Retyped("id", "int", "bigint")])  # type: ignore[arg-type]
    with pytest.raises(LakeRefused, match="only Spark could make this commit"):
        add_columns(session, f"{bucket}/t", [("more", "array<int>")])  # type: ignore[arg-type]


def test_a_second_installation_is_refused_by_name(lake: str, tmp_path: Path) -> None:
    first, second = (Ownership(lake, SqlCheckpoints(f"sqlite:///{tmp_path}/{name}.db").installation) for name in "ab")
    first.check(ORDERS.id)
    first.check(ORDERS.id)
    with pytest.raises(
        LakeRefused, match=r"another installation writes this table .*/a\.db, last 20\d\d-.*--take-over"
    ):
        second.check(ORDERS.id)
    taken = second.take(ORDERS.id)
    assert taken is not None
    assert taken.checkpoints.endswith("/a.db")
    second.check(ORDERS.id)
    with pytest.raises(LakeRefused, match="another installation"):
        first.check(ORDERS.id)


def test_a_mark_of_an_owner_that_is_cut_is_named(bucket: str, tmp_path: Path) -> None:
    ours, store = Ownership(bucket, SqlCheckpoints(f"sqlite:///{tmp_path}/a.db").installation), opened.store_of(bucket)
    assert store is not None
    store.put(owner_path(bucket, ORDERS.id), b"{")
    with pytest.raises(LakeRefused, match="does not say which installation"):
        ours.check(ORDERS.id)


@pytest.mark.parametrize("end", [".parquet", ".bin"])
def test_a_file_that_is_gone_or_cut_is_named_with_the_cure(lake: str, path: str, end: str) -> None:
    store = opened.store_of(lake)
    assert store is not None
    assert damaged_file(ORDERS.id, lake) is None
    names = [name for name in store.list_from(path) if name.endswith(end)]
    name = max(names, key=lambda each: len(store.read(f"{path}/{each}")))
    store.put(f"{path}/{name}", store.read(f"{path}/{name}")[:-1])
    assert f"cut ({path}/{name} has " in str(damaged_file(ORDERS.id, lake))
    store.delete(f"{path}/{name}")
    assert f"gone ({path}/{name})" in str(damaged_file(ORDERS.id, lake))
