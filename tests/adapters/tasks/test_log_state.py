"""The log as it is replayed: checkpoints of any kind that we know, and none of those that we do not."""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyroaring import BitMap64

from incremental_assets.adapters.delta.log import log_cache, z85
from incremental_assets.adapters.delta.log.checkpoint import checkpoint_if_due, checkpointed
from incremental_assets.adapters.delta.log.commit_text import ACTIONS
from incremental_assets.adapters.delta.log.idle_look import last_commit
from incremental_assets.adapters.delta.log.listing import listed
from incremental_assets.adapters.delta.log.log_state import file_path
from incremental_assets.adapters.delta.log.vector_file import file_of
from incremental_assets.adapters.delta.tasks.files import deletion_vector
from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import TargetChanged
from tests.adapters.tasks.tables import Table

UPSERT = Replacing((0,), compares=True)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    found = Table(tmp_path, "id bigint, d decimal(38,10), note string", {"delta.checkpointInterval": "3"})
    found.land(UPSERT, [(number, number, "a") for number in range(10)])
    found.land(UPSERT, [(3, 3, "b")])
    return found


def log(table: Table) -> Path:
    return table.path / "_delta_log"


def test_from_a_checkpoint_it_is_the_same_as_from_the_beginning(table: Table) -> None:
    whole = table.state
    DeltaTable(table.path).create_checkpoint()
    found = table.state
    assert (whole.checkpoint, found.checkpoint) == (-1, 2)
    assert found.sequences == whole.sequences == {"test": 2}
    assert found.properties == whole.properties
    assert set(found.protocol["readerFeatures"]) == set(whole.protocol["readerFeatures"])
    assert {path: add.get("deletionVector") for path, add in found.files.items()} == {
        path: add.get("deletionVector") for path, add in whole.files.items()
    }
    told = [[json.loads(add["stats"], parse_float=str) for add in each.files.values()] for each in (whole, found)]
    assert sorted(told[0], key=str) == sorted(told[1], key=str)


def test_a_checkpoint_is_written_when_it_is_due_and_again_after_another_hand_had_the_version(table: Table) -> None:
    checkpoint_if_due(str(table.path), 2, -1, table.state.properties)
    assert table.state.checkpoint == -1
    for note in ("c", "d"):
        table.land(UPSERT, [(3, 3, note)])
    checkpoint_if_due(str(table.path), 4, -1, table.state.properties)
    assert table.state.checkpoint == 4
    assert (log(table) / "_last_checkpoint").stat().st_mode & 0o777 == 0o640
    checkpoint_if_due(str(table.path), 5, 4, table.state.properties)
    assert table.state.checkpoint == 4


def test_a_hint_at_a_checkpoint_that_was_removed_goes_with_the_next_commit_so_that_others_can_read_the_table(
    table: Table,
) -> None:
    DeltaTable(table.path).create_checkpoint()
    next(log(table).glob("*.checkpoint.parquet")).unlink()
    with pytest.raises(DeltaError):
        DeltaTable(table.path)
    table.land(UPSERT, [(3, 3, "c")])
    version = table.state.version
    checkpoint_if_due(str(table.path), version, version, table.state.properties)
    assert DeltaTable(table.path).version() == version
    DeltaTable(table.path).create_checkpoint()
    table.land(UPSERT, [(3, 3, "d")])
    checkpoint_if_due(str(table.path), version + 1, version, table.state.properties)
    assert json.loads((log(table) / "_last_checkpoint").read_text())["version"] == version, "a true one stays"


@pytest.mark.parametrize(("cleans", "left"), [("true", [2]), ("false", [0, 1, 2])])
def test_a_log_is_cleaned_by_the_tables_own_terms(tmp_path: Path, cleans: str, left: list[int]) -> None:
    terms = {"delta.logRetentionDuration": "interval 0 seconds", "delta.enableExpiredLogCleanup": cleans}
    table = Table(tmp_path, "id bigint", terms | {"delta.checkpointInterval": "2"})
    for number in range(2):
        table.land(UPSERT, [(number,)])
    for path in log(table).glob("*.json"):
        os.utime(path, (0, 0))
    checkpoint_if_due(str(table.path), 2, -1, table.state.properties)
    assert sorted(int(path.stem) for path in log(table).glob("*.json")) == left
    assert table.state.sequences == {"test": 2}


@pytest.mark.parametrize("last", [None, '{"version":1', "[]", '{"version":7,"size":3}', '{"version":0,"size":3}'])
def test_a_checkpoint_is_found_by_its_name_whatever_the_hint_says(table: Table, last: str | None) -> None:
    whole = table.state
    DeltaTable(table.path).create_checkpoint()
    for version in range(2):
        (log(table) / f"{version:020d}.json").unlink()
    table.land(UPSERT, [(14, 4, "c")])
    hint = log(table) / "_last_checkpoint"
    hint.unlink() if last is None else hint.write_text(last)
    assert (table.state.checkpoint, table.state.version) == (2, 3)
    assert set(whole.files) < set(table.state.files)
    assert log_cache.latest(str(table.path)) is not None


@pytest.mark.parametrize(
    "names",
    [
        [f"{2:020d}.checkpoint.{1:010d}.{2:010d}.parquet", f"{2:020d}.checkpoint.{2:010d}.{2:010d}.parquet"],
        [f"{2:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet"],
        [f"{2:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"],
    ],
)
def test_a_checkpoint_in_several_files_is_sparks_to_read(table: Table, names: list[str]) -> None:
    for name in names:
        (log(table) / name).write_bytes(b"PAR1 ... PAR1")
    with pytest.raises(NotByTasks, match="several files"):
        log_cache.at(str(table.path), 2)


def test_a_checkpoint_that_lacks_one_of_its_files_is_none(table: Table) -> None:
    (log(table) / f"{2:020d}.checkpoint.{1:010d}.{2:010d}.parquet").write_bytes(b"")
    assert (table.state.checkpoint, table.state.version) == (-1, 2)


@pytest.mark.parametrize(("cleaned", "cure"), [(0, "or remove it: the log is complete without"), (2, "or move ")])
@pytest.mark.parametrize("damage", ["empty", "cut"])
def test_a_damaged_checkpoint_is_named_with_what_helps(table: Table, damage: str, cleaned: int, cure: str) -> None:
    DeltaTable(table.path).create_checkpoint()
    for version in range(cleaned):
        (log(table) / f"{version:020d}.json").unlink()
    checkpoint = log(table) / f"{2:020d}.checkpoint.parquet"
    checkpoint.write_bytes(checkpoint.read_bytes()[:-20] if damage == "cut" else b"")
    for look in (lambda: log_cache.latest(str(table.path)), lambda: last_commit(str(table.path))):
        with pytest.raises(TargetChanged, match=rf"{checkpoint}: .*{cure}"):
            look()


@pytest.mark.parametrize(("cleaned", "cure"), [(0, "or remove it: the log is complete without"), (2, "or move ")])
def test_an_older_checkpoint_in_the_place_of_a_newer_one_is_named(table: Table, cleaned: int, cure: str) -> None:
    DeltaTable(table.path, version=1).create_checkpoint()
    older = log(table) / f"{1:020d}.checkpoint.parquet"
    older.rename(log(table) / f"{2:020d}.checkpoint.parquet")
    for version in range(cleaned):
        (log(table) / f"{version:020d}.json").unlink()
    with pytest.raises(TargetChanged, match=rf"{2:020d}.checkpoint.parquet: .* lacks what {2:020d}.json .*{cure}"):
        log_cache.latest(str(table.path))


def test_a_checkpoint_of_which_this_is_only_the_first_file_is_sparks_to_read(table: Table) -> None:
    sidecar = pa.array([{"path": "x.parquet", "sizeInBytes": 1}])
    pq.write_table(pa.table({"sidecar": sidecar}), log(table) / f"{2:020d}.checkpoint.parquet")
    (log(table) / "_last_checkpoint").write_text('{"version":2,"size":3}')
    with pytest.raises(NotByTasks, match="several files"):
        log_cache.at(str(table.path), 2)


def test_of_a_checkpoint_an_absent_map_and_an_empty_one_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    add = pa.struct({"path": pa.string(), "tags": pa.map_(pa.string(), pa.string())})
    rows = pa.array([{"path": "a", "tags": None}, {"path": "b", "tags": []}, None], add)
    pq.write_table(pa.table({"add": rows}), tmp_path / "_delta_log" / f"{0:020d}.checkpoint.parquet")
    number, actions = checkpointed(listed(str(tmp_path)), 0)
    assert (number, list(actions)) == (0, [{"add": {"path": "a"}}, {"add": {"path": "b", "tags": {}}}])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("damage", ["empty", "cut", "blank", "no actions"])
def test_a_commit_that_is_not_whole_is_named_and_no_commit_of_nothing(table: Table, damage: str, version: int) -> None:
    commit = log(table) / f"{version:020d}.json"
    whole = commit.read_bytes()
    commit.write_bytes({"empty": b"", "cut": whole[:-20], "blank": b"\n \n", "no actions": b"[]\n"}[damage])
    for look in (lambda: log_cache.latest(str(table.path)), lambda: last_commit(str(table.path))):
        with pytest.raises(TargetChanged, match=rf"{commit}: this version .*restore that file .*move .*/table away"):
            look()


def test_a_commit_that_ends_between_two_of_its_actions_is_named(table: Table) -> None:
    commit = log(table) / f"{2:020d}.json"
    lines = commit.read_text().splitlines(keepends=True)
    info = json.dumps({"commitInfo": {ACTIONS: 1 + len(lines)}}) + "\n"
    commit.write_text(info + "".join(lines))
    assert table.state.version == 2
    commit.write_text(info + "".join(lines[:-1]))
    with pytest.raises(TargetChanged, match=rf"{commit}: .* holds {len(lines)} of its {1 + len(lines)} actions"):
        log_cache.latest(str(table.path))


def test_a_commit_that_is_not_what_its_checksum_on_disk_says_is_named(table: Table) -> None:
    commit = log(table) / f"{2:020d}.json"
    data = commit.read_bytes()
    sums = b"".join(struct.pack(">I", zlib.crc32(data[at : at + 512])) for at in range(0, len(data), 512))
    commit.with_name(f".{commit.name}.crc").write_bytes(b"crc\0" + struct.pack(">i", 512) + sums)
    assert table.state.version == 2
    commit.write_bytes(data.replace(b'"seq":2', b'"seq":3').replace(b'"version":2', b'"version":3'))
    with pytest.raises(TargetChanged, match=rf"{commit}: .* not what its checksum"):
        log_cache.latest(str(table.path))


def test_a_version_whose_files_are_not_those_of_its_checksum_is_named(table: Table) -> None:
    state = table.state
    told = {"numFiles": len(state.files), "tableSizeBytes": sum(each["size"] for each in state.files.values())}
    checksum = log(table) / f"{2:020d}.crc"
    checksum.write_text(json.dumps(told))
    assert table.state.files == state.files
    commit = log(table) / f"{2:020d}.json"
    actions = [each for each in map(json.loads, commit.read_text().splitlines()) if "commitInfo" not in each]
    adds = [each for each in actions if "add" in each]
    # As another writer's, which does not say how many actions it has.
    commit.write_text("".join(json.dumps(each) + "\n" for each in actions if each is not adds[-1]))
    with pytest.raises(TargetChanged, match=rf"names {told['numFiles'] - 1} files .* where its checksum"):
        log_cache.latest(str(table.path))


@pytest.mark.parametrize("missing", [0, 1])
def test_a_hole_in_the_log_is_named_and_not_the_end_of_it(table: Table, missing: int) -> None:
    (log(table) / f"{missing:020d}.json").unlink()
    for look in (lambda: log_cache.latest(str(table.path)), lambda: last_commit(str(table.path))):
        with pytest.raises(TargetChanged, match=f"{missing:020d}.json: .*(lacks its first version|missing in the log)"):
            look()


def test_a_hole_that_comes_while_the_process_knows_the_table_is_named(table: Table) -> None:
    assert log_cache.latest(str(table.path)) is not None
    for number in (4, 5):
        table.land(UPSERT, [(number, number, "c")])
    (log(table) / f"{3:020d}.json").unlink()
    with pytest.raises(TargetChanged, match=f"{3:020d}.json: this version is missing in the log, where 4 is there"):
        log_cache.latest(str(table.path))


def test_a_log_that_is_no_text_is_sparks_to_read(table: Table) -> None:
    (log(table) / f"{1:020d}.json").write_bytes(b"\xff\xfe")
    with pytest.raises(NotByTasks, match="version 1"):
        log_cache.at(str(table.path), 2)


def test_versions_that_are_put_together_besides_are_not_needed(table: Table) -> None:
    (log(table) / f"{1:020d}.{2:020d}.compacted.json").write_text("{}")
    seen = log_cache.latest(str(table.path))
    assert seen is not None
    last = last_commit(str(table.path))
    assert last is not None
    assert seen.state.version == last.version == 2


def test_names_that_two_writers_encode_differently_are_one_file(tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint")
    add = {"path": "a%20b%2Bc.parquet", "size": 1, "modificationTime": 1, "partitionValues": {}, "dataChange": True}
    state = table.state
    state.apply([{"add": add}])
    state.apply([{"remove": {"path": "a%20b+c.parquet"}}])
    assert state.files == {}
    assert file_path("/t", "a%20b%2Bc.parquet") == "/t/a b+c.parquet"


def test_a_file_that_gets_another_vector_stays_whichever_action_stands_first(table: Table) -> None:
    ((path, add),) = [each for each in table.state.files.items() if each[1].get("deletionVector")]
    again = add | {"deletionVector": add["deletionVector"] | {"cardinality": 2}}
    for actions in ([{"remove": add}, {"add": again}], [{"add": again}, {"remove": add}]):
        state = table.state
        state.apply(actions)
        assert state.files[path] == again


def test_rows_that_were_marked_before_stay_so_until_a_file_has_none_left(table: Table) -> None:
    for number in (4, 5):
        table.land(UPSERT, [(number, number, "b")])
    changed = {3: "b", 4: "b", 5: "b"}
    assert [(row[0], row[2]) for row in table.rows()] == [(number, changed.get(number, "a")) for number in range(10)]
    assert len(table.state.files) == 4
    table.land(UPSERT, [(number, number, "c") for number in range(10)])
    assert len(table.state.files) == 1


@pytest.mark.parametrize("path", ["/elsewhere/f", "file:/elsewhere/f", "s3://b/f", "../f", "%2Felsewhere/f"])
def test_a_file_outside_of_the_table_is_sparks(path: str) -> None:
    with pytest.raises(NotByTasks, match="outside"):
        file_path("/t", path)


@pytest.mark.parametrize("numbers", [[], [0], range(5000), [2**32 - 1, 2**32, 2**33 + 7], range(0, 200_000, 3)])
def test_a_vector_is_read_as_it_was_written(tmp_path: Path, numbers: Any) -> None:
    marked = BitMap64(numbers)
    (descriptor,), name = deletion_vector.write(str(tmp_path), [marked])
    assert deletion_vector.read(str(tmp_path), descriptor) == marked
    assert (name is None) == (descriptor["storageType"] == "i")
    assert len(list(tmp_path.iterdir())) == (name is not None)


def test_the_vectors_of_several_files_lie_in_one_file(tmp_path: Path) -> None:
    every = [BitMap64(range(0, 200_000, 3)), BitMap64([7]), BitMap64(range(9000)), BitMap64(range(1, 90_000, 2))]
    described, name = deletion_vector.write(str(tmp_path), every)
    assert [each["storageType"] for each in described] == ["u", "i", "i", "u"], "few rows, or one run, are in the log"
    assert [deletion_vector.read(str(tmp_path), each) for each in described] == every
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert {file_of(each) for each in described} == {name, None}


@pytest.mark.parametrize(
    "changed",
    [
        {"storageType": "p", "pathOrInlineDv": "/x"},
        {"storageType": "i", "pathOrInlineDv": "no"},
        {"storageType": "i", "pathOrInlineDv": "\x00" * 20},
        {"storageType": "i", "pathOrInlineDv": z85.encoded(b"\0" * 40), "sizeInBytes": 40},
        {"cardinality": 7},
        {"sizeInBytes": 7},
        {"offset": 5},
        {"offset": 5_000_000},
    ],
    ids=str,
)
def test_a_vector_that_is_not_as_the_log_says_is_sparks_to_read(tmp_path: Path, changed: dict[str, Any]) -> None:
    (descriptor,), _ = deletion_vector.write(str(tmp_path), [BitMap64(range(0, 200_000, 3))])
    with pytest.raises(NotByTasks):
        deletion_vector.read(str(tmp_path), descriptor | changed)


def test_a_vector_with_a_flipped_bit_is_sparks_to_read(tmp_path: Path) -> None:
    (descriptor,), name = deletion_vector.write(str(tmp_path), [BitMap64(range(0, 200_000, 3))])
    raw = bytearray((tmp_path / str(name)).read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / str(name)).write_bytes(raw)
    with pytest.raises(NotByTasks, match="damaged"):
        deletion_vector.read(str(tmp_path), descriptor)
