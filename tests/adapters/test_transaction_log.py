"""A Delta log is read without Spark, whatever happened to it. The logs here are written by hand or by delta-rs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind, read_commit_metadata
from incremental_assets.adapters.delta.counts import check_sums, row_counts
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.delta.log.transaction_log import HARMLESS, Committed, TableLog, open_log
from incremental_assets.core.errors import CommitMissing, TargetChanged
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.schema_drift import Reached, TargetColumn
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import ORDERS
from tests.waiting import until

FIELDS = [
    {"name": "id", "type": "long", "nullable": True, "metadata": {}},
    {
        "name": "tags",
        "type": {"type": "array", "elementType": "string", "containsNull": True},
        "nullable": True,
        "metadata": {},
    },
    {
        "name": "size",
        "type": "integer",
        "nullable": True,
        "metadata": {"incremental_assets.since": 7, "incremental_assets.since_cursor": "a=b:integer=42"},
    },
]
NOTE = CommitMetadata(Kind.APPEND, "app", 1, "b1", "run", seen=0, rows=3)


def begin(folder: Path, properties: Mapping[str, str] | None = None) -> None:
    """Version 0: an empty table with the features of ours."""
    metadata = {
        "id": "11111111-2222-3333-4444-555555555555",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": FIELDS}),
        "partitionColumns": [],
        "configuration": {
            "incremental_assets.app_id": "app",
            "delta.enableDeletionVectors": "true",
            **(properties or {}),
        },
        "createdTime": 1,
    }
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    commit(folder, 0, "CREATE TABLE", None, {"protocol": protocol}, {"metaData": metadata})


def commit(
    folder: Path,
    version: int,
    operation: str,
    note: str | None,
    *actions: Mapping[str, Any],
    metrics: Mapping[str, str] | None = None,
) -> None:
    info = {
        "timestamp": 1,
        "operation": operation,
        "operationParameters": {},
        "operationMetrics": metrics or {},
        "engineInfo": "by hand",
    }
    lines = [{"commitInfo": info | ({"userMetadata": note} if note else {})}, *actions]
    log = folder / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{version:020d}.json").write_text("\n".join(json.dumps(line) for line in lines))


def ours(folder: Path, version: int, seq: int) -> None:
    note = replace(NOTE, seq=seq, batch_id=f"b{seq}").to_json()
    commit(folder, version, "WRITE", note, {"txn": {"appId": "app", "version": seq}}, metrics={"numOutputRows": "3"})


def opened(folder: Path) -> TableLog:
    log = open_log(str(folder))
    assert log is not None
    return log


def test_no_table_is_no_log(tmp_path: Path) -> None:
    assert open_log(str(tmp_path / "none")) is None
    (tmp_path / "empty" / "_delta_log").mkdir(parents=True)
    assert open_log(str(tmp_path / "empty")) is None


def test_a_log_tells_who_made_the_table_what_it_holds_and_what_was_committed(tmp_path: Path) -> None:
    begin(tmp_path)
    ours(tmp_path, 1, 5)
    log = opened(tmp_path)
    assert (log.app_id, log.table_id, log.version) == ("app", "11111111-2222-3333-4444-555555555555", 1)
    assert (log.last_sequence("app"), log.last_sequence("other")) == (5, -1)
    assert log.columns() == (
        TargetColumn("id", "long"),
        TargetColumn("tags", "array<string>"),
        TargetColumn("size", "integer", 7, Reached("a=b:integer", "42")),
    )
    (only,) = log.commits(0)
    assert (only.version, only.operation, only.metrics, only.note) == (
        1,
        "WRITE",
        {"numOutputRows": 3},
        replace(NOTE, seq=5, batch_id="b5"),
    )


def test_the_first_commit_of_another_hand_is_told(tmp_path: Path) -> None:
    begin(tmp_path)
    ours(tmp_path, 1, 1)
    commit(tmp_path, 2, "OPTIMIZE", None)
    assert opened(tmp_path).foreign(1) is None
    commit(tmp_path, 3, "DELETE", None)
    commit(tmp_path, 4, "A LATER ENGINE'S INVENTION", "{}")
    ours(tmp_path, 5, 2)
    log = opened(tmp_path)
    assert [log.foreign(after) and log.foreign(after).version for after in range(1, 6)] == [3, 3, 4, None, None]  # type: ignore[union-attr]
    assert [commit.version for commit in log.ours()] == [5, 1]


def test_a_commit_under_another_app_id_is_another_hand(tmp_path: Path) -> None:
    begin(tmp_path)
    commit(tmp_path, 1, "WRITE", replace(NOTE, app_id="other").to_json())
    assert opened(tmp_path).foreign(0) is not None


@pytest.mark.parametrize(
    "operation",
    [
        "WRITE",
        "MERGE",
        "DELETE",
        "UPDATE",
        "RESTORE",
        "TRUNCATE",
        "CREATE OR REPLACE TABLE",
        "STREAMING UPDATE",
        "CLONE",
    ],
)
def test_what_may_change_rows_is_not_harmless(operation: str) -> None:
    assert operation not in HARMLESS


def test_a_cleaned_log_keeps_the_last_sequence_and_loses_the_rest(tmp_path: Path) -> None:
    begin(tmp_path)
    for version in range(1, 6):
        ours(tmp_path, version, version)
    DeltaTable(str(tmp_path)).create_checkpoint()
    for version in range(6):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()
    commit(tmp_path, 6, "OPTIMIZE", None)
    log = opened(tmp_path)
    assert (log.version, log.last_sequence("app"), log.app_id) == (6, 5, "app")
    assert list(log.ours()) == []
    assert log.foreign(0) is None


ADD = {"path": "a.parquet", "size": 9, "modificationTime": 1, "partitionValues": {}, "dataChange": True}


def _forgetful(folder: Path, version: int, *actions: Mapping[str, Any]) -> None:
    """What is left of a table of ours once a checkpoint has left out its sequences: here no commit names one."""
    note = replace(NOTE, seq=7, batch_id="b7").to_json()
    commit(folder, version, "WRITE", note, *actions)


def test_a_table_that_has_forgotten_its_sequences_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    begin(tmp_path)
    assert (opened(tmp_path).landed(), opened(tmp_path).sequence) == (False, -1)
    _forgetful(tmp_path, 1, {"add": ADD})
    log = opened(tmp_path)
    assert (log.last_sequence("app"), log.landed(), log.sequence) == (-1, True, 7)


def test_rows_alone_tell_that_something_has_landed(tmp_path: Path) -> None:
    begin(tmp_path)
    commit(tmp_path, 1, "WRITE", None, {"add": ADD})
    assert opened(tmp_path).landed()


def test_a_cleaned_log_alone_tells_that_something_has_landed(tmp_path: Path) -> None:
    begin(tmp_path)
    for version in range(1, 3):
        commit(tmp_path, version, "OPTIMIZE", None)
    DeltaTable(str(tmp_path)).create_checkpoint()
    for version in range(2):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()
    assert opened(tmp_path).landed()


def test_a_version_that_was_removed_before_anybody_looked_is_told(tmp_path: Path) -> None:
    begin(tmp_path)
    for version in range(1, 6):
        commit(tmp_path, version, "DELETE" if version == 3 else "OPTIMIZE", None)
    DeltaTable(str(tmp_path)).create_checkpoint()
    for version in range(4):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()
    log = opened(tmp_path)
    assert [log.lost(after) for after in range(6)] == [3, 3, 3, None, None, None]


@pytest.mark.parametrize("feature", ["catalogManaged", "coordinatedCommits-preview"])
def test_a_table_whose_newest_commits_may_be_elsewhere_is_refused(tmp_path: Path, feature: str) -> None:
    begin(tmp_path)
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["deletionVectors", feature]}
    commit(tmp_path, 1, "UPGRADE PROTOCOL", None, {"protocol": protocol})
    with pytest.raises(TargetChanged, match=f"the table has {feature}, by which a catalogue keeps its newest commits"):
        opened(tmp_path).check_remembers(str(tmp_path))


def test_what_was_removed_before_a_sync_looked_at_it_may_have_changed_rows(tmp_path: Path) -> None:
    folder = Path(table_path(str(tmp_path), ORDERS.id))
    begin(folder)
    ours(folder, 1, 1)
    commit(folder, 2, "WRITE", None)
    commit(folder, 3, "OPTIMIZE", None)
    DeltaTable(str(folder)).create_checkpoint()
    for version in range(3):
        (folder / "_delta_log" / f"{version:020d}.json").unlink()
    lake = DeltaLake(str(tmp_path), lambda: pytest.fail("a session"))
    found = [lake.inspect(ORDERS, since) for since in (1, 2, 3)]
    assert [target.foreign if target else None for target in found] == [
        "maybe: version 2 was removed from the log before anybody could see what it did",
        "",
        "",
    ]


def test_a_table_whose_property_makes_it_forget_its_sequences_is_refused_with_the_cure(tmp_path: Path) -> None:
    begin(tmp_path, {"delta.setTransactionRetentionDuration": "interval 1 days"})
    cure = r"delta.setTransactionRetentionDuration` \(interval 1 days\).* UNSET TBLPROPERTIES"
    with pytest.raises(TargetChanged, match=cure):
        opened(tmp_path).check_remembers(str(tmp_path))


def test_ours_is_found_however_many_commits_came_after_it(tmp_path: Path) -> None:
    begin(tmp_path)
    ours(tmp_path, 1, 1)
    for version in range(2, 40):
        commit(tmp_path, version, "OPTIMIZE", None)
    assert [found.version for found in opened(tmp_path).ours()] == [1]


def test_reading_a_log_takes_milliseconds(tmp_path: Path) -> None:
    begin(tmp_path)
    for version in range(1, 200):
        ours(tmp_path, version, version)

    def seconds() -> float:
        begun = time.perf_counter()
        assert next(opened(tmp_path).ours()).version == 199
        return time.perf_counter() - begun

    # 5 ms on an idle machine. Now and then a busy one has nothing else to do.
    until(lambda: seconds() < 0.5)


@pytest.mark.parametrize(
    "feature", ["columnMapping", "v2Checkpoint", "typeWidening", "timestampNtz", "variantType", "vacuumProtocolCheck"]
)
def test_features_by_which_data_is_hard_to_read_leave_the_log_readable(tmp_path: Path, feature: str) -> None:
    begin(tmp_path, {"delta.columnMapping.mode": "none"})
    features = ["deletionVectors", feature]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    commit(tmp_path, 1, "UPGRADE PROTOCOL", None, {"protocol": protocol})
    ours(tmp_path, 2, 1)
    assert (opened(tmp_path).version, opened(tmp_path).foreign(0)) == (2, None)


def test_a_damaged_log_is_told_with_its_place(tmp_path: Path) -> None:
    begin(tmp_path)
    commit_file = tmp_path / "_delta_log" / f"{1:020d}.json"
    commit_file.write_text("no json")
    with pytest.raises(TargetChanged, match=f"{commit_file}: this version of the log is cut, or is no JSON"):
        open_log(str(tmp_path))
    commit_file.write_bytes(b"\xff")
    with pytest.raises(TargetChanged, match=f"{tmp_path}: there is a Delta table here whose log cannot be read"):
        open_log(str(tmp_path))


# --- what a commit says about itself ------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [None, "", "no json", "[]", "{}", '{"incremental_assets": 1}', '{"incremental_assets": 1, "kind": "other"}']
)
def test_what_others_write_into_a_commit_is_no_note(text: str | None) -> None:
    assert read_commit_metadata(text) is None


@pytest.mark.parametrize("note", [NOTE, replace(NOTE, rows_before=0), replace(NOTE, rows_before=12)])
def test_a_note_comes_back_as_it_was_written(note: CommitMetadata) -> None:
    assert read_commit_metadata(note.to_json()) == note


def test_a_note_of_before_tables_were_written_anew_is_read() -> None:
    told = json.loads(NOTE.to_json())
    del told["rows_before"]
    assert read_commit_metadata(json.dumps(told)) == NOTE


@pytest.mark.parametrize(
    ("kind", "metrics", "rows"),
    [
        (
            Kind.UPSERT,
            {"numOutputRows": 750_000, "numCopiedRows": 749_997, "numDeletedRows": 1},
            RowCounts(9, inserted=2, updated=1, unchanged=4, quarantined=1),
        ),
        (Kind.UPSERT, {"numFiles": 0}, RowCounts(9, unchanged=7, quarantined=1)),
        (Kind.APPEND, {"numOutputRows": 3}, RowCounts(9, inserted=3, unchanged=4, quarantined=1)),
        (Kind.OVERWRITE, {"numOutputRows": 7, "numDeletedRows": 5}, RowCounts(9, inserted=7, quarantined=1)),
    ],
)
def test_counts_are_what_the_log_says_less_the_rows_that_only_moved(
    kind: Kind, metrics: dict[str, int], rows: RowCounts
) -> None:
    note = replace(NOTE, kind=kind, rows=9, rejected=1, duplicates=1)
    assert row_counts(Committed(1, "WRITE", metrics, "spark", note), note) == rows


@pytest.mark.parametrize(
    ("rows_before", "output", "rows"),
    [
        pytest.param(10, 12, RowCounts(9, inserted=2, updated=5, quarantined=1), id="five of ten gave way to seven"),
        pytest.param(7, 7, RowCounts(9, updated=7, quarantined=1), id="all did"),
        pytest.param(3, 10, RowCounts(9, inserted=7, quarantined=1), id="none did"),
    ],
)
def test_counts_of_a_table_written_anew_follow_from_how_many_rows_it_had(
    rows_before: int, output: int, rows: RowCounts
) -> None:
    note = replace(NOTE, kind=Kind.UPSERT, rows=9, rejected=1, duplicates=1, rows_before=rows_before)
    done = Committed(1, "WRITE", {"numOutputRows": output}, "spark", note)
    assert row_counts(done, note) == rows
    check_sums(TableId("shop", "public", "orders"), done, note, into_nothing=False, landed=7)


@pytest.mark.parametrize(
    ("output", "landed", "told"),
    [
        (12, 8, "holds 8 rows of a batch of 7"),
        (12, 6, "holds 6 rows of a batch of 7"),
        (18, 7, "left 11 of 10 rows as they were, with a batch of 7"),
        (9, 7, "left 2 of 10 rows as they were, with a batch of 7"),
    ],
)
def test_a_table_written_anew_holds_its_batch_and_no_more_rows_than_it_had(output: int, landed: int, told: str) -> None:
    note = replace(NOTE, kind=Kind.UPSERT, rows=9, rejected=1, duplicates=1, rows_before=10)
    done = Committed(5, "WRITE", {"numOutputRows": output}, "spark", note)
    with pytest.raises(CommitMissing, match=f"orders: version 5 {told}"):
        check_sums(TableId("shop", "public", "orders"), done, note, into_nothing=False, landed=landed)


@pytest.mark.parametrize(
    ("written", "into_nothing", "adds_up"),
    [(7, True, True), (6, True, False), (8, True, False), (8, False, False), (7, False, True), (0, False, True)],
)
def test_a_commit_holds_its_batch_and_no_more(written: int, into_nothing: bool, adds_up: bool) -> None:
    note = replace(NOTE, rows=9, rejected=1, duplicates=1)
    metrics = {"numOutputRows": written + 100, "numCopiedRows": 100}
    committed = Committed(5, "WRITE", metrics, "spark", note)
    if adds_up:
        check_sums(TableId("shop", "public", "orders"), committed, note, into_nothing=into_nothing)
        return
    with pytest.raises(CommitMissing, match=rf"orders: version 5 holds {written} rows of a batch of 7"):
        check_sums(TableId("shop", "public", "orders"), committed, note, into_nothing=into_nothing)
