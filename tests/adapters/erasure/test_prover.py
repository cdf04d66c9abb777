"""The prover finds what was planted, in each of the places where it can be, before it is believed that there is nothing."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from incremental_assets.core.model.erasure import Holds, Place
from tests.adapters.erasure.planted import PEOPLE, ROW, Planted, rows

MAIL = ROW["email"]
_COLUMNS = "source_table, source, schema_name, table_name, sync_id, event, run_id, at, batch_id, app_id, detail"
_EVENT = "'shop.public.people', 'shop', 'public', 'people', 's', 'failed', 'r', '2026-01-01 00:00:00.000', 'b', 'a'"


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    found = Planted(tmp_path)
    found.write(found.table())
    return found


def test_nothing_is_found_where_nothing_is(planted: Planted) -> None:
    planted.write(planted.table("people__history"))
    planted.write(planted.table(under="_quarantine"))
    with planted.open_database():
        assert planted.found() == {}


def test_a_row_is_found_in_a_file_of_an_older_version(planted: Planted) -> None:
    planted.write(planted.table(), ROW).delete("city = 'Ulm'")
    found = planted.found()
    assert Holds.ROW in found[Place.COPY]


def test_a_row_that_a_vector_marks_as_gone_is_still_in_its_file(planted: Planted) -> None:
    planted.put(planted.table() / "part-0-marked.parquet", rows(ROW))
    assert Holds.ROW in planted.found()[Place.COPY]


@pytest.mark.parametrize(("name", "place"), [("people__history", Place.HISTORY), ("_quarantine", Place.QUARANTINE)])
def test_a_row_is_found_in_the_tables_beside_the_copy(planted: Planted, name: str, place: Place) -> None:
    beside = planted.table(under=name) if name.startswith("_") else planted.table(name)
    planted.write(beside, ROW)
    assert planted.found()[place] == {Holds.ROW, Holds.DICTIONARY, Holds.TEXT}


def test_what_the_log_keeps_of_the_ends_of_a_file_is_found(planted: Planted) -> None:
    ends = {"numRecords": 1, "minValues": {"id": 900001}, "maxValues": {"id": 900001}, "nullCount": {}}
    planted.commit(planted.table(), {"remove": {"path": "x", "dataChange": True, "stats": json.dumps(ends)}})
    assert planted.found() == {Place.COPY_LOG: {Holds.STATISTICS}}


def test_a_long_text_is_known_by_what_the_log_keeps_of_it(planted: Planted) -> None:
    cut = {"minValues": {"email": "ann"}, "maxValues": {"id": 900001}}
    planted.commit(planted.table(), {"add": {"path": "x", "stats": json.dumps(cut), "partitionValues": {}}})
    assert planted.found() == {Place.COPY_LOG: {Holds.STATISTICS}}


def test_the_condition_of_a_statement_is_found(planted: Planted) -> None:
    planted.commit(
        planted.table(), {"commitInfo": {"operation": "DELETE", "operationParameters": {"predicate": "id = 900001"}}}
    )
    assert planted.found() == {Place.COPY_LOG: {Holds.TEXT}}


def test_a_part_of_the_table_is_found_by_its_value(planted: Planted) -> None:
    planted.commit(planted.table(), {"add": {"path": "id=900001/x", "partitionValues": {"id": "900001"}}})
    assert planted.found() == {Place.COPY_LOG: {Holds.TEXT}}


def test_our_state_in_a_commit_is_told_from_the_rest(planted: Planted) -> None:
    note = {"incremental_assets": 1, "kind": "upsert", "rows": 900001, "state": {"seq": 900001, "watermark": 5}}
    planted.commit(planted.table(), {"commitInfo": {"operation": "WRITE", "userMetadata": json.dumps(note)}})
    assert planted.found() == {}
    note["state"] = {"seq": 1, "watermark": {"type": "integer", "value": 900001}}
    planted.commit(planted.table(), {"commitInfo": {"operation": "WRITE", "userMetadata": json.dumps(note)}})
    assert planted.found() == {Place.COPY_LOG: {Holds.POSITION}}


def test_a_checkpoint_of_the_log_is_decoded(planted: Planted) -> None:
    ends = {"numRecords": 2, "minValues": {"id": 900001}, "maxValues": {"id": 900002}, "nullCount": {}}
    add = {"path": "x.parquet", "size": 9, "modificationTime": 0, "dataChange": True, "partitionValues": {}}
    planted.commit(planted.table(), {"add": {**add, "stats": json.dumps(ends)}})
    DeltaTable(str(planted.table())).create_checkpoint()
    for each in (planted.table() / "_delta_log").glob("*.json"):
        each.unlink()
    assert planted.found() == {Place.COPY_LOG: {Holds.STATISTICS}}


def test_the_last_checkpoint_checksums_and_what_dead_writers_left_are_read(planted: Planted) -> None:
    log = planted.table() / "_delta_log"
    ends = json.dumps({"minValues": {"id": 900001}, "maxValues": {"id": 900002}})
    files = [{"path": "x", "stats": ends, "partitionValues": {}}]
    for name, data in (
        ("00000000000000000000.crc", json.dumps({"allFiles": files})),
        (".00000000000000000001.json.d1f.tmp", json.dumps({"add": files[0]})),
        ("_last_checkpoint", json.dumps({"version": 1, "tags": {"by": MAIL}})),
    ):
        planted.put(log / name, data)
        assert planted.found().keys() == {Place.COPY_LOG}, name
        (log / name).unlink()


def test_files_that_hold_changes_are_read(planted: Planted) -> None:
    planted.put(planted.table() / "_change_data" / "cdc-0.parquet", rows(ROW))
    assert Holds.ROW in planted.found()[Place.COPY]


def test_a_batch_that_a_dead_run_has_staged_is_found(planted: Planted) -> None:
    staged = rows(ROW).rename_columns(["c0", "c1", "c2"])
    planted.put(planted.table(under="_staging") / "batch" / "part-0.parquet", staged)
    assert Holds.ROW in planted.found()[Place.STAGED]


def test_a_key_that_a_topic_has_deleted_is_found(planted: Planted) -> None:
    deleted = pa.table({"key0": pa.array([900001], pa.int64()), "place": [5], "at": [0]})
    planted.put(planted.table(under="_tombstones") / "topic" / "1.parquet", deleted)
    assert Holds.ROW in planted.found()[Place.TOMBSTONES]


def test_a_file_that_is_named_after_a_person_is_found(planted: Planted) -> None:
    landed = pa.table({"path": [f"{MAIL}.csv"], "size": [900001], "tag": ["t"]})
    planted.put(planted.table(under="_files") / "page.parquet", landed)
    assert Holds.OTHER_ROW in planted.found()[Place.LEDGER]


def test_a_change_in_a_segment_is_found_and_a_number_of_another_table_is_not(planted: Planted) -> None:
    segment = planted.lake / "_log" / "shop" / "segments" / "0000000001-0000000000000001"
    pieces = [{"schema": "public", "name": name, "file": {"name": f"{name}.parquet"}} for name in ("people", "orders")]
    planted.put(segment / "manifest.json", json.dumps({"pieces": pieces}))
    planted.put(segment / "orders.parquet", pa.table({"id": [900001]}))
    assert planted.found() == {}
    planted.put(segment / "people.parquet", pa.table({"id": [900001]}))
    assert Holds.ROW in planted.found()[Place.SEGMENTS]
    (segment / "people.parquet").unlink()
    planted.put(segment / "orders.parquet", pa.table({"id": [1], "note": [f"for {MAIL}"]}))
    assert planted.found()[Place.SEGMENTS] >= {Holds.OTHER_ROW}


@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO checkpoints ({_COLUMNS}) VALUES ({_EVENT}, 'the key 900001 is there twice')",
        f"INSERT INTO checkpoints ({_COLUMNS}, report) VALUES ({_EVENT}, '', '{{\"warnings\": [\"such as {MAIL}\"]}}')",
        (
            "INSERT INTO deeds (at, act, source, schema_name, table_name, done_by, reason, run_id) "
            f"VALUES ('2026-01-01', 'reset', 'shop', 'public', 'people', 'me', 'asked by {MAIL}', '')"
        ),
        (
            "INSERT INTO incidents (channel, about, source, schema_name, table_name, mark, sentence, begun_at) "
            f"VALUES ('c', 'failed', 'shop', 'public', 'people', 'm', 'the key {MAIL} is no number', '2026-01-01')"
        ),
        "INSERT INTO looks (source, behind) VALUES ('shop', '{\"people\": \"900001\"}')",
        (
            "INSERT INTO verifications (source_table, source, schema_name, table_name, drift, verified_at, drifted) "
            f"VALUES ('shop.public.people', 'shop', 'public', 'people', 1, '2026-01-01', '[\"{MAIL}\"]')"
        ),
        f"INSERT INTO pauses VALUES ('shop', 'public', 'people', 'me', 'until {MAIL} has answered', '2026-01-01')",
    ],
)
def test_each_table_of_the_checkpoint_database_is_read(planted: Planted, statement: str) -> None:
    with planted.open_database() as database:
        database.execute(statement)
        assert planted.found() == {Place.CHECKPOINTS: {Holds.TEXT}}


def test_what_a_deleted_row_has_left_in_the_database_is_found(planted: Planted) -> None:
    with planted.open_database() as database:
        database.execute("PRAGMA secure_delete = OFF")
        database.execute(f"INSERT INTO checkpoints ({_COLUMNS}) VALUES ({_EVENT}, 'the key 900001 is there twice')")
        database.execute("DELETE FROM checkpoints")
        assert planted.found() == {Place.CHECKPOINTS: {Holds.FREED}}
        # In the file alone, once the log of changes is empty.
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert planted.found() == {Place.CHECKPOINTS: {Holds.FREED}}
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert planted.found() == {}


def test_freed_pages_of_a_long_row_are_joined(planted: Planted) -> None:
    with planted.open_database() as database:
        database.execute("PRAGMA secure_delete = OFF")
        for shift in range(24):
            text = "x" * (3_000 + 4_092 * 2 + shift) + MAIL + "y" * 9_000
            database.execute(f"INSERT INTO checkpoints ({_COLUMNS}) VALUES ({_EVENT}, '{text}')")
        database.execute("DELETE FROM checkpoints")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert planted.found() == {Place.CHECKPOINTS: {Holds.FREED}}


def test_the_position_of_the_syncs_is_told_from_what_is_kept_of_a_person(planted: Planted) -> None:
    with planted.open_database() as database:
        database.execute(f"INSERT INTO checkpoints ({_COLUMNS}, new_watermark) VALUES ({_EVENT}, '', '900001')")
        assert planted.found() == {Place.CHECKPOINTS: {Holds.POSITION}}


def _events(home: Path) -> None:
    path = home / "history" / "runs" / "index.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE event_logs (id INTEGER PRIMARY KEY, event TEXT)")
        database.execute(
            "INSERT INTO event_logs (event) VALUES (?)", (json.dumps({"asset": PEOPLE.name, "samples": ["900001"]}),)
        )


def _output(home: Path) -> None:
    path = home / "storage" / "run" / "compute_logs" / "step.err"
    path.parent.mkdir(parents=True)
    path.write_text(f"ERROR: duplicate key ({MAIL})\n", encoding="utf-8")


@pytest.mark.parametrize("plant", [_events, _output])
def test_the_events_and_the_output_of_runs_are_read(planted: Planted, plant: Callable[[Path], None]) -> None:
    plant(planted.folder / "home")
    assert planted.found() == {Place.DAGSTER: {Holds.TEXT}}


def test_the_log_of_a_command_that_failed_is_read(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(planted.folder))
    (planted.folder / "incremental-assets-x1.log").write_text(f"ValueError: {MAIL}", encoding="utf-8")
    assert planted.found() == {Place.LOGS: {Holds.TEXT}}


def test_the_hash_by_which_a_verdict_names_a_key_is_found(planted: Planted) -> None:
    digest = hashlib.sha256(b"900001").hexdigest()[:16]
    with planted.open_database() as database:
        database.execute(f"INSERT INTO checkpoints ({_COLUMNS}) VALUES ({_EVENT}, 'such as {digest}')")
        assert planted.found() == {Place.CHECKPOINTS: {Holds.TEXT}}
