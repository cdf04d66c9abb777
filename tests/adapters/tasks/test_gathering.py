"""Files become one by a commit of our own: every row stays what it was, and what another writer does meanwhile is never undone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyroaring import BitMap64

from incremental_assets.adapters.delta.log.commit_file import put_if_absent
from incremental_assets.adapters.delta.log.log_state import commit_path
from incremental_assets.adapters.delta.tasks.compaction import gather_task
from incremental_assets.adapters.delta.tasks.files import data_file, deletion_vector
from incremental_assets.adapters.delta.tasks.files.marked_file import removed
from incremental_assets.adapters.delta.tasks.files.unit import Adding, Replacing
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import CommitMissing, Overtaken
from incremental_assets.core.model.compaction import How
from tests.adapters.dying import die_at, killed
from tests.adapters.tasks.tables import Row, Table

DDL = "id bigint, note string"
REPLACING = Replacing((0,), compares=True)
CHANGED = "another writer changed the files of .* so they stay as that writer left them"
ROWS: list[Row] = [(1, "one"), (2, "TWO"), (3, "THREE"), (4, "four"), (5, "FIVE")]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return ticked(tmp_path)


def ticked(folder: Path) -> Table:
    """Four files, of which the first has been marked three times."""
    found = Table(folder, DDL)
    found.land(REPLACING, [(1, "one"), (2, "two"), (3, "three"), (4, "four")])
    found.land(REPLACING, [(2, "TWO"), (5, "five")])
    found.land(REPLACING, [(3, "THREE")])
    found.land(REPLACING, [(5, "FIVE")])
    return found


def actions(table: Table, version: int) -> list[dict[str, dict[str, object]]]:
    return [json.loads(line) for line in Path(commit_path(str(table.path), version)).read_text().splitlines()]


@pytest.mark.parametrize("how", How)
def test_rows_stay_as_they_are_and_those_that_are_gone_leave(table: Table, how: How) -> None:
    version = table.compact(how)
    (info,) = [each["commitInfo"] for each in actions(table, version) if "commitInfo" in each]
    marked = [add for add in table.state.files.values() if "deletionVector" in add]

    assert table.rows() == ROWS
    assert (version, info["operation"]) == (5, "OPTIMIZE" if how is How.GATHER else "REORG")
    assert marked == []
    assert sum(json.loads(add["stats"])["numRecords"] for add in table.state.files.values()) == 5
    table.land(REPLACING, [(1, "ONE"), (4, "four")])
    assert table.rows() == [(1, "ONE"), *ROWS[1:]]


def test_readers_of_changes_see_none_and_no_sequence_is_taken(table: Table) -> None:
    found = actions(table, table.compact(How.GATHER))
    changes = {each[kind]["dataChange"] for each in found for kind in ("add", "remove") if kind in each}
    vectors = [bool(each["remove"].get("deletionVector")) for each in found if "remove" in each]

    assert changes == {False}
    assert sorted(vectors) == [False, False, True, True]
    assert not [each for each in found if "txn" in each]
    assert table.state.sequences == {"test": 4}


def test_a_purge_leaves_files_without_marks_as_they_are(table: Table) -> None:
    whole = {name for name, add in table.state.files.items() if "deletionVector" not in add}
    table.compact(How.PURGE)
    assert len(whole) == 2
    assert whole < set(table.state.files)
    assert len(table.state.files) == 3


def test_of_files_whose_rows_another_writer_has_all_marked_nothing_is_written(tmp_path: Path) -> None:
    table = Table(tmp_path, DDL)
    table.land(REPLACING, [(1, "a"), (2, "b")])
    ((_, add),) = table.state.files.items()
    (vector,), _ = deletion_vector.write(str(table.path), [BitMap64([0, 1])])
    assert put_if_absent(str(table.path), 2, [{"remove": removed(add, 1)}, {"add": {**add, "deletionVector": vector}}])
    table.compact(How.PURGE)
    assert (table.rows(), table.state.files) == ([], {})


def test_what_is_compacted_already_is_said_to_be(table: Table) -> None:
    table.compact(How.GATHER)
    with pytest.raises(
        CommitMissing,
        match=r"^shop\.public\.orders: the log of .* holds no such compaction: nothing was found to compact, ",
    ):
        table.compact(How.GATHER)


def test_the_statistics_of_the_new_file_are_those_of_its_rows(table: Table) -> None:
    table.compact(How.GATHER)
    (add,) = table.state.files.values()
    told = json.loads(add["stats"])
    assert (told["numRecords"], told["minValues"]["id"], told["maxValues"]["id"]) == (5, 1, 5)
    assert (told["minValues"]["note"], told["maxValues"]["note"], told["tightBounds"]) == ("FIVE", "one", True)


def test_a_new_file_has_row_groups_as_any_other_whatever_its_rows_lay_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(tmp_path, DDL)
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 2)
    for number in range(3):
        table.land(Adding(compares=False), [(number * 10 + each, "a") for each in range(3)])
    table.compact(How.GATHER)
    (name,) = table.state.files
    file = pq.read_metadata(table.path / name)
    assert [file.row_group(place).num_rows for place in range(file.num_row_groups)] == [2, 2, 2, 2, 1]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (2**20, [[0, 1, 2], [10, 11, 12], [20, 21, 22]]),
        (1, [[20, 21, 22], [10, 11, 12], [0, 1, 2]]),
    ],
    ids=["all in one run", "a run for each file"],
)
def test_rows_are_written_by_their_keys_as_many_as_are_held_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: int, expected: list[list[int]]
) -> None:
    table = Table(tmp_path, DDL)
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 3)
    monkeypatch.setattr(gather_task, "_RUN_BYTES", run)
    for tens in (2, 1, 0):
        table.land(Adding(compares=False), [(tens * 10 + each, "a") for each in (1, 2, 0)])
    table.compact(How.GATHER)
    (name,) = table.state.files
    file = pq.ParquetFile(table.path / name)
    assert [file.read_row_group(place).column("id").to_pylist() for place in range(file.num_row_groups)] == expected


def marks_a_row(table: Table) -> None:
    table.land(REPLACING, [(1, "ONE")])


def deletes_a_row(table: Table) -> None:
    DeltaTable(table.path).delete("id = 1")


def compacts(table: Table) -> None:
    DeltaTable(table.path).optimize.compact()


def changes_a_setting(table: Table) -> None:
    DeltaTable(table.path).alter.set_table_properties({"delta.logRetentionDuration": "interval 9 days"})


def marks_a_row_and_others_come(table: Table) -> None:
    marks_a_row(table)
    table.land(Adding(compares=False), [(9, "nine")])


@pytest.mark.parametrize(
    ("other", "after"),
    [
        (marks_a_row, [(1, "ONE"), *ROWS[1:]]),
        (deletes_a_row, ROWS[1:]),
        (compacts, ROWS),
        (changes_a_setting, ROWS),
        (marks_a_row_and_others_come, [(1, "ONE"), *ROWS[1:], (9, "nine")]),
    ],
)
def test_what_another_writer_has_done_to_the_files_meanwhile_stays_done(
    table: Table, other: Callable[[Table], None], after: list[Row]
) -> None:
    before = table.files()
    with pytest.raises(Overtaken, match=CHANGED):
        table.compact(How.GATHER, meanwhile=lambda: other(table))
    assert table.rows() == after
    named = {Path(add["path"]).name for add in table.state.files.values()}
    left = {name for name in table.files() - before - named if name.endswith(".parquet")}
    assert left == set(), "its own files are removed"


def test_rows_that_come_meanwhile_stay_beside_the_new_file(table: Table) -> None:
    def come() -> None:
        table.land(Adding(compares=False), [(8, "eight")])
        table.land(Adding(compares=False), [(9, "nine")])

    assert table.compact(How.GATHER, meanwhile=come) == 7
    assert table.rows() == [*ROWS, (8, "eight"), (9, "nine")]
    assert len(table.state.files) == 3


def test_a_mark_in_a_file_that_stays_is_no_obstacle(table: Table) -> None:
    # The file of (5, FIVE) has no marks, so that a purge leaves it alone.
    assert table.compact(How.PURGE, meanwhile=lambda: table.land(REPLACING, [(5, "5")])) == 6
    assert table.rows() == sorted([*ROWS[:4], (5, "5")], key=repr)


def test_a_table_with_a_feature_that_is_not_known_here_is_sparks(table: Table) -> None:
    state = table.state
    protocol = {**state.protocol, "writerFeatures": [*state.protocol["writerFeatures"], "rowTracking"]}
    assert put_if_absent(str(table.path), state.version + 1, [{"protocol": protocol}])
    with pytest.raises(NotByTasks, match="the table has rowTracking"):
        table.compact(How.GATHER)


def _compact_and_die(folder: Path, point: str) -> None:
    die_at(point)
    Table(folder, DDL, seq=4).compact(How.GATHER)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "point", ["half of the data file", "the data file", "the commit, without its name", "the commit"]
)
def test_a_process_that_is_killed_leaves_the_table_as_it_was_or_compacted(point: str, tmp_path: Path) -> None:
    table = ticked(tmp_path)
    before = set(table.state.files)
    killed(_compact_and_die, tmp_path, point)

    assert table.rows() == ROWS
    assert (set(table.state.files) == before) is (point != "the commit")
    if point != "the commit":
        table.compact(How.GATHER)
    assert (table.rows(), len(table.state.files)) == (ROWS, 1)
