"""A table whose log is in a store: committed by ourselves, read from the last checkpoint on or from what is known, and never given up for an answer that was lost."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from deltalake import DeltaTable

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.commit_file import put_if_absent
from incremental_assets.adapters.delta.log.idle_look import last_commit
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.log.new_table import NewTable, create
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.renaming import Named, rename
from incremental_assets.adapters.delta.storage import names_in, remove_folder
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.delta.tasks.restore import VersionGone, restore
from incremental_assets.adapters.lake_store import opened
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import LakeRefused, Overtaken, StoreUnreachable, TargetChanged
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.planning.plan import CommitIds
from incremental_assets.core.planning.target import LastCommit
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.scenario import orders

SPEC = orders()
NEW = NewTable(
    (Column("id", "bigint", "bigint", Fidelity.EXACT),),
    {"incremental_assets.app_id": "app", "delta.enableDeletionVectors": "true"},
)


def never() -> Any:
    raise AssertionError("a lake in a store needs no Spark")


@dataclass
class Copy:
    """One table in a bucket."""

    relay: Relay
    path: str
    forget: Callable[[], None]

    def commit(self, seq: int, files: tuple[str, ...] = ()) -> None:
        """A version of ours with files, which are in the store already."""
        self.version(self.state(), seq, files).commit(SPEC)

    def version(self, state: LogState, seq: int, files: tuple[str, ...] = ()) -> NextVersion:
        note = CommitMetadata.of_maintenance(CommitIds("app", seq, uuid.uuid4().hex), "run", None, state.version)
        adds = [
            {"path": each, "size": 1, "modificationTime": 1, "partitionValues": {}, "dataChange": True}
            for each in files
        ]
        for each in files:
            assert store_for(self.path).put_if_absent(f"{self.path}/{each}", b"rows")
        return NextVersion(self.path, state, note, {"operation": "WRITE"}, [{"add": each} for each in adds], files)

    def state(self) -> LogState:
        seen = log_cache.latest(self.path)
        assert seen is not None
        return seen.state

    def asked(self, look: Callable[[], object]) -> list[str]:
        """What a look asks the store for: the method, and the last part of the address."""
        self.relay.asked.clear()
        look()
        return [f"{each.split()[0]} {each.rpartition('/')[2]}" for each in self.relay.asked]

    def files(self) -> set[str]:
        return set(store_for(self.path).list_from(self.path))


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(log_cache, "_cache", log_cache._Cache())


@pytest.fixture
def copy(relay: Relay, forget: Callable[[], None]) -> Iterator[Copy]:
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    copy = Copy(relay, f"{root}/lake/shop/public/orders", forget)
    create(copy.path, NEW)
    yield copy
    relay.faults.clear()


def test_a_table_is_made_once_and_only_in_an_empty_folder(copy: Copy) -> None:
    first = store_for(copy.path).read(f"{copy.path}/_delta_log/{0:020d}.json")
    create(copy.path, NEW)
    assert store_for(copy.path).read(f"{copy.path}/_delta_log/{0:020d}.json") == first
    assert open_log(f"{copy.path}2") is None
    assert last_commit(f"{copy.path}2") == LastCommit(-1)
    assert store_for(copy.path).put_if_absent(f"{copy.path}2/a.parquet", b"rows")
    with pytest.raises(NotByTasks, match="other files are in its folder"):
        create(f"{copy.path}2", NEW)


def test_what_is_committed_is_read_by_us_and_by_delta_rs(copy: Copy) -> None:
    copy.commit(1, ("a.parquet",))
    log = open_log(copy.path)
    assert log is not None
    assert (log.version, log.sequence, log.app_id) == (1, 1, "app")
    table = DeltaTable(copy.path, storage_options=options(copy.relay.address) | {"aws_allow_http": "true"})
    assert (table.version(), table.transaction_version("app")) == (1, 1)


@pytest.mark.parametrize("faults", [["500 after"], ["cut after"], ["409"], ["503", "503", "503"]], ids=" ".join)
def test_a_commit_lands_with_its_files_whatever_the_store_says(copy: Copy, faults: list[str]) -> None:
    version = copy.version(copy.state(), 1, ("a.parquet",))
    copy.relay.faults["PUT"] = faults
    version.commit(SPEC)
    assert copy.files() == {"_delta_log", "a.parquet"}
    assert set(copy.state().files) == {"a.parquet"}


def test_who_is_overtaken_removes_its_own_files_alone(copy: Copy) -> None:
    before = copy.state()
    copy.commit(1, ("theirs.parquet",))
    late = copy.version(before, 2, ("ours.parquet",))
    copy.relay.faults["PUT"] = ["cut after"]
    with pytest.raises(Overtaken):
        late.commit(SPEC)
    assert copy.files() == {"_delta_log", "theirs.parquet"}


def test_where_nobody_can_tell_whether_it_landed_nothing_is_removed(copy: Copy) -> None:
    version = copy.version(copy.state(), 1, ("a.parquet",))
    copy.relay.faults = {"PUT": ["cut after", *["503"] * 50], "GET": ["503"] * 50}
    with pytest.raises(StoreUnreachable, match="nothing was removed"):
        version.commit(SPEC)
    copy.relay.faults.clear()
    assert copy.files() == {"_delta_log", "a.parquet"}
    assert copy.state().version == 1


def test_two_commits_with_the_same_words_are_two(copy: Copy) -> None:
    before = copy.state()
    one, other = copy.version(before, 1), copy.version(before, 1)
    other = NextVersion(other.path, other.state, one.note, other.info, other.actions, other.files)
    assert one.put()
    assert not other.put()


def test_a_store_that_lets_both_writers_win_is_refused_at_the_first_commit(relay: Relay) -> None:
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    relay.faults["PUT"] = ["unconditional"]
    with pytest.raises(LakeRefused, match="does not mind the condition"):
        create(f"{root}/lake/shop/public/orders", NEW)
    assert store_for(root).list_from(f"{root}/lake") == {}


def test_a_look_at_a_table_that_stands_still_is_one_request(copy: Copy) -> None:
    copy.commit(1)
    copy.state()
    assert len(copy.asked(copy.state)) == 1
    assert copy.asked(lambda: last_commit(copy.path))[1:] == [f"GET {1:020d}.json"]
    assert last_commit(copy.path) == LastCommit(1, "app", 1)


def test_a_look_behind_commits_of_others_asks_for_these_alone(copy: Copy) -> None:
    copy.commit(1)
    seen = copy.state()
    for version in (2, 3):
        assert put_if_absent(copy.path, version, [{"commitInfo": {"operation": "OPTIMIZE", "txnId": str(version)}}])
    assert copy.asked(copy.state)[1:] == [f"GET {2:020d}.json", f"GET {3:020d}.json"]
    assert (seen.version, copy.state().version) == (1, 3)


def test_a_new_process_begins_at_the_last_checkpoint(copy: Copy) -> None:
    for seq in range(1, 13):
        copy.commit(seq, (f"{seq}.parquet",))
    copy.forget()
    asked = copy.asked(copy.state)
    assert len(copy.state().files) == 12
    assert copy.state().checkpoint == 10
    assert [each for each in asked if each.endswith(".json")] == [
        f"GET {version:020d}.json" for version in (10, 11, 12)
    ]


@pytest.mark.parametrize("hint", [b"", b'{"version":', b"[]", b'{"version":99}'])
def test_a_hint_at_the_last_checkpoint_is_only_a_hint(copy: Copy, hint: bytes) -> None:
    for seq in (1, 2):
        copy.commit(seq)
    copy.forget()
    assert store_for(copy.path).put_if_absent(f"{copy.path}/_delta_log/_last_checkpoint", hint)
    assert copy.state().version == 2


def test_another_table_in_its_place_is_read_anew(copy: Copy) -> None:
    for seq in (1, 2):
        copy.commit(seq, (f"{seq}.parquet",))
    assert len(copy.state().files) == 2
    remove_folder(copy.path, never)
    assert log_cache.latest(copy.path) is None
    create(copy.path, NEW)
    for seq in (1, 2):
        copy.commit(seq)
    assert (copy.state().version, copy.state().files) == (2, {})


def test_a_hole_in_the_log_is_named(copy: Copy) -> None:
    copy.commit(1)
    copy.state()
    assert put_if_absent(copy.path, 3, [{"commitInfo": {"txnId": "another"}}])
    with pytest.raises(TargetChanged, match=f"{2:020d}.json: this version is missing in the log, where 3 is there"):
        copy.state()
    with pytest.raises(TargetChanged, match=f"{2:020d}.json: this version is missing"):
        last_commit(copy.path)


def test_an_earlier_version_comes_again_while_its_files_are_there(copy: Copy) -> None:
    for seq, name in ((1, "a.parquet"), (2, "b.parquet")):
        copy.commit(seq, (name,))
    back = CommitMetadata.of_maintenance(CommitIds("app", 3, uuid.uuid4().hex), "run", None, 2)
    restore(SPEC, copy.path, 1, back)
    assert set(copy.state().files) == {"a.parquet"}
    store_for(copy.path).delete(f"{copy.path}/b.parquet")
    with pytest.raises(VersionGone, match="1 of its files have been removed"):
        restore(SPEC, copy.path, 2, back)


def test_a_column_is_renamed_in_a_commit_of_our_own(copy: Copy) -> None:
    note = CommitMetadata.of_maintenance(CommitIds("app", 1, uuid.uuid4().hex), "run", None, 0)
    rename(never, SPEC, Named(copy.path, (Rename("id", "number"),), note, ""))
    log = open_log(copy.path)
    assert log is not None
    assert [each.name for each in log.columns()] == ["number"]


def test_folders_are_listed_and_removed(copy: Copy) -> None:
    lake = copy.path.partition("/shop/")[0]
    assert names_in(lake, never) == ("shop",)
    assert names_in(f"{lake}/none", never) == ()
    remove_folder(lake, never)
    assert names_in(lake, never) == ()
