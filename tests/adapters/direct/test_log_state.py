"""The log as it is replayed: checkpoints of any kind that we know, and none of those that we do not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyroaring import BitMap64

from incremental_assets.adapters.delta.direct.files import deletion_vector, z85
from incremental_assets.adapters.delta.direct.files.unit import Replacing
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.checkpoint import checkpoint_if_due
from incremental_assets.adapters.delta.log.log_state import file_path
from incremental_assets.adapters.delta.log.not_direct import NotDirect
from tests.adapters.direct.tables import Table

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


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ('{"version":2,"size":3,"parts":2}', "several files"),
        ('{"version":2,"v2Checkpoint":{"path":"x"}}', "several files"),
        ('{"version":1', "cannot be read"),
        ("[]", "cannot be read"),
        ('{"version":7,"size":3}', "of version 7"),
        ('{"version":2,"size":3}', "cannot be read here"),
    ],
)
def test_a_checkpoint_that_is_not_known_here_is_sparks_to_read(table: Table, last: str, why: str) -> None:
    (log(table) / "_last_checkpoint").write_text(last)
    with pytest.raises(NotDirect, match=why):
        log_cache.at(str(table.path), 2)


def test_a_checkpoint_of_which_this_is_only_the_first_file_is_sparks_to_read(table: Table) -> None:
    sidecar = pa.array([{"path": "x.parquet", "sizeInBytes": 1}])
    pq.write_table(pa.table({"sidecar": sidecar}), log(table) / f"{2:020d}.checkpoint.parquet")
    (log(table) / "_last_checkpoint").write_text('{"version":2,"size":3}')
    with pytest.raises(NotDirect, match="several files"):
        log_cache.at(str(table.path), 2)


@pytest.mark.parametrize("damage", ["absent", "cut", "not text"])
def test_a_log_that_is_not_whole_is_sparks_to_read(table: Table, damage: str) -> None:
    commit = log(table) / f"{1:020d}.json"
    if damage == "absent":
        commit.unlink()
    else:
        commit.write_bytes(commit.read_bytes()[:-20] if damage == "cut" else b"\xff\xfe")
    with pytest.raises(NotDirect, match="version 1"):
        log_cache.at(str(table.path), 2)


def test_names_that_two_writers_encode_differently_are_one_file(tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint")
    add = {"path": "a%20b%2Bc.parquet", "size": 1, "modificationTime": 1, "partitionValues": {}, "dataChange": True}
    state = table.state
    state.apply([{"add": add}])
    state.apply([{"remove": {"path": "a%20b+c.parquet"}}])
    assert state.files == {}
    assert file_path("/t", "a%20b%2Bc.parquet") == Path("/t/a b+c.parquet")


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
    with pytest.raises(NotDirect, match="outside"):
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
    assert {deletion_vector.file_of(each) for each in described} == {name, None}


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
    with pytest.raises(NotDirect):
        deletion_vector.read(str(tmp_path), descriptor | changed)


def test_a_vector_with_a_flipped_bit_is_sparks_to_read(tmp_path: Path) -> None:
    (descriptor,), name = deletion_vector.write(str(tmp_path), [BitMap64(range(0, 200_000, 3))])
    raw = bytearray((tmp_path / str(name)).read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / str(name)).write_bytes(raw)
    with pytest.raises(NotDirect, match="damaged"):
        deletion_vector.read(str(tmp_path), descriptor)
