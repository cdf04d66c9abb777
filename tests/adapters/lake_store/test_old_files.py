"""Files that no version needs which readers may ask for are removed, in a folder and in a store, and no other file is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from incremental_assets.adapters.delta import old_files as module
from incremental_assets.adapters.delta.log.commit_file import put_if_absent
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.old_files import clock_of, old_files, remove
from incremental_assets.adapters.lake_store import opened
from incremental_assets.adapters.lake_store.local import LocalStore
from incremental_assets.adapters.lake_store.store import Head
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from tests.adapters.lake_store.bucket import new_bucket, options
from tests.adapters.lake_store.test_referenced import COLUMNS, ITS_FILE, PROTOCOL, VECTOR, add, commit
from tests.adapters.lake_store.test_referenced import remove as gone

NOW = datetime(2026, 3, 30, tzinfo=UTC)
WEEK = timedelta(days=7)


def put(path: str, *names: str) -> None:
    store = store_for(path)
    for name in names:
        store.make_folder(f"{path}/{name}".rpartition("/")[0])
        store.put(f"{path}/{name}", b"rows")


def names(path: str) -> set[str]:
    return {name for name, _ in store_for(path).files_in(path) if not name.startswith("_delta_log/")}


def pruned(path: str, now: datetime = NOW, files: timedelta = WEEK, **more: Any) -> set[str]:
    """What is there afterwards."""
    remove(old_files(path, files, now, **more))
    return names(path)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "t/_delta_log").mkdir(parents=True)
    return f"{tmp_path}/t"


@pytest.fixture(params=["folder", "store"])
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "folder":
        yield request.getfixturevalue("folder")
        return
    server = request.getfixturevalue("object_server")
    root = new_bucket(server)
    opened.configure(root, lambda: options(server))
    yield f"{root}/t"


def versions(path: str) -> None:
    """Four of them: `1` is replaced by `2`, `2` is marked and written again as `3`."""
    put(path, "1.parquet", "2.parquet", ITS_FILE, "3.parquet", "dead.parquet")
    commit(
        path,
        [PROTOCOL, COLUMNS, add("1.parquet")],
        [gone("1.parquet"), add("2.parquet")],
        [gone("2.parquet"), add("2.parquet", deletionVector=VECTOR)],
        [gone("2.parquet", deletionVector=VECTOR), add("3.parquet")],
    )


def aged(path: str, **days: int) -> None:
    """Of a folder: how many days before now a file, or a version, was written; everything else was a year before."""
    log, told = Path(path, "_delta_log"), {name.replace("_", "."): number for name, number in days.items()}
    for file in [each for each in Path(path).rglob("*") if each.is_file()]:
        name = f"v{int(file.stem)}" if file.parent == log and file.suffix == ".json" else file.name
        at = (NOW - timedelta(days=told.get(name, 365))).timestamp()
        os.utime(file, (at, at))


def test_once_all_versions_are_old_the_files_of_the_last_one_stay(path: str) -> None:
    versions(path)
    later = clock_of(path) + timedelta(days=8)
    assert pruned(path, later - timedelta(days=2)) == {"1.parquet", "2.parquet", ITS_FILE, "3.parquet", "dead.parquet"}
    found = old_files(path, WEEK, later)
    assert (found.version, found.begun, len(found.files), found.bytes) == (3, None, 4, 16)
    assert pruned(path, later) == {"3.parquet"}
    assert old_files(path, WEEK, later).files == ()


@pytest.mark.parametrize(
    ("days", "oldest", "kept"),
    [
        ({"v3": 5, "v2": 6, "v1": 6}, 0, {"1.parquet", "2.parquet", ITS_FILE, "3.parquet"}),
        ({"v3": 5, "v2": 6}, 1, {"2.parquet", ITS_FILE, "3.parquet"}),
        ({"v3": 5}, 2, {"2.parquet", ITS_FILE, "3.parquet"}),
        ({"v3": 7}, 3, {"3.parquet"}),
        ({"v3": 5, "v2": 5, "v1": 5, "v0": 5}, 0, {"1.parquet", "2.parquet", ITS_FILE, "3.parquet"}),
        ({"v0": 5}, 0, {"1.parquet", "2.parquet", ITS_FILE, "3.parquet"}),
    ],
)
def test_the_version_that_was_current_a_week_ago_and_all_later_ones_stay_readable(
    folder: str, days: dict[str, int], oldest: int, kept: set[str]
) -> None:
    versions(folder)
    aged(folder, **days)
    assert old_files(folder, WEEK, NOW).version == oldest
    assert pruned(folder) == kept


def test_a_file_that_was_not_committed_stays_while_it_is_young(folder: str) -> None:
    versions(folder)
    aged(folder, dead_parquet=6)
    assert pruned(folder) == {"3.parquet", "dead.parquet"}
    aged(folder, dead_parquet=8)
    assert pruned(folder) == {"3.parquet"}


def test_a_file_that_is_committed_once_files_were_listed_stays(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    versions(folder)
    aged(folder)
    listing = LocalStore.files_in

    def files_in(store: LocalStore, key: str) -> Iterator[tuple[str, Head]]:
        yield from listing(store, key)
        if key == folder:
            monkeypatch.undo()
            assert put_if_absent(folder, 4, [{"commitInfo": {"operation": "WRITE"}}, add("dead.parquet")])

    monkeypatch.setattr(LocalStore, "files_in", files_in)
    assert pruned(folder) == {"3.parquet", "dead.parquet"}


def test_files_stay_as_long_as_the_table_promises_its_readers(folder: str) -> None:
    promise = {
        "metaData": {**COLUMNS["metaData"], "configuration": {"delta.deletedFileRetentionDuration": "interval 30 days"}}
    }
    put(folder, "1.parquet", "2.parquet")
    commit(folder, [PROTOCOL, promise, add("1.parquet")], [gone("1.parquet"), add("2.parquet")])
    aged(folder, v1=20)
    assert pruned(folder) == {"1.parquet", "2.parquet"}
    aged(folder, v1=31)
    assert pruned(folder, files=timedelta(hours=1)) == {"2.parquet"}


def test_a_promise_that_is_not_understood_leaves_the_table_alone(folder: str) -> None:
    promise = {"metaData": {**COLUMNS["metaData"], "configuration": {"delta.deletedFileRetentionDuration": "a while"}}}
    commit(folder, [PROTOCOL, promise])
    with pytest.raises(NotByTasks, match=r"its property delta\.deletedFileRetentionDuration is 'a while'"):
        old_files(folder, WEEK, NOW)


def test_a_feature_that_is_not_known_leaves_the_table_alone(folder: str) -> None:
    asks = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": [],
            "writerFeatures": ["hiddenFiles"],
        }
    }
    commit(folder, [asks, COLUMNS])
    with pytest.raises(NotByTasks, match="the table has hiddenFiles"):
        old_files(folder, WEEK, NOW)


def test_what_is_no_file_of_the_table_is_left_alone(path: str) -> None:
    versions(path)
    others = {
        "_SUCCESS", "_side/a.parquet", ".hidden.parquet", "README.md", "inner/a.parquet", "inner/b/c.parquet",
        "_change_data/_side/a.parquet",
    }  # fmt: skip
    put(path, *others, "inner/_delta_log/00000000000000000000.json", "x=1/old.parquet", "_change_data/old.parquet")
    kept = pruned(path, clock_of(path) + timedelta(days=8))
    assert kept == {*others, "3.parquet", "inner/_delta_log/00000000000000000000.json"}


def test_a_version_that_lies_beside_and_must_still_be_read_keeps_its_files(folder: str) -> None:
    versions(folder)
    aged(folder)
    assert old_files(folder, WEEK, NOW, until=NOW - timedelta(days=366)).version == 0
    aged(folder, v3=100, v2=200)
    assert pruned(folder, until=NOW - timedelta(days=150)) == {"2.parquet", ITS_FILE, "3.parquet"}


def test_files_that_the_log_has_forgotten_are_kept_as_long_as_its_checkpoint_remembers_them(folder: str) -> None:
    put(folder, "1.parquet", "2.parquet", "3.parquet", "longer.parquet")
    removed = int((NOW - timedelta(days=3)).timestamp() * 1000)
    before = int((NOW - timedelta(days=9)).timestamp() * 1000)
    named = {
        "metaData": {
            **COLUMNS["metaData"],
            "format": {"provider": "parquet", "options": {}},
            "schemaString": '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}',
            "configuration": {"delta.deletedFileRetentionDuration": "interval 1000 weeks"},
            "createdTime": 1,
        }
    }
    commit(
        folder,
        [PROTOCOL, named, add("1.parquet"), add("longer.parquet")],
        [{"remove": {**gone("1.parquet")["remove"], "deletionTimestamp": before}}, add("2.parquet")],
        [{"remove": {**gone("longer.parquet")["remove"], "deletionTimestamp": removed}}, add("3.parquet")],
    )
    DeltaTable(folder).create_checkpoint()
    for version in (0, 1, 2):
        Path(folder, "_delta_log", f"{version:020d}.json").unlink()
    aged(folder)
    for file in Path(folder, "_delta_log").iterdir():
        os.utime(file, (NOW.timestamp(), NOW.timestamp()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "interval", lambda _: WEEK)
        assert pruned(folder) == {"2.parquet", "3.parquet", "longer.parquet"}


def test_whoever_is_killed_while_files_go_leaves_the_others_for_the_next_time(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions(folder)
    aged(folder)
    delete = LocalStore.delete
    for lives in range(8):
        left = iter(range(lives))

        def dying(store: LocalStore, key: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt
            delete(store, key)

        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(LocalStore, "delete", dying)
            pruned(folder)
        assert "3.parquet" in names(folder)
    assert pruned(folder) == {"3.parquet"}


def test_the_sums_that_hadoop_keeps_beside_a_file_go_with_it(folder: str) -> None:
    versions(folder)
    put(folder, ".1.parquet.crc", ".3.parquet.crc")
    aged(folder)
    assert pruned(folder) == {"3.parquet", ".3.parquet.crc"}
