"""A rollback on Delta: rows, columns, deletion vectors and quarantine of an earlier version, in a commit of our own or of Spark's."""

from __future__ import annotations

import errno
import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta import commit
from incremental_assets.adapters.delta.quarantine import settling
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.core.errors import CommitMissing, LakeRefused, Refused
from incremental_assets.core.model.contract import ColumnRules, Contract
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.quarantine import NOTHING_HELD
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import CommitIds, RollBack
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.planning.target import Commit
from tests.adapters.batches import Desk, Row, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id bigint, note string, at bigint"
ORDERS, EVENTS = table(COLUMNS), table(COLUMNS, Strategy.APPEND)
FIRST: list[Row] = [(1, "a", 10), (2, "b", 20), (3, "c", 30)]

pytestmark = pytest.mark.spark


@pytest.fixture
def desk(tmp_path: Path, spark: SparkSession) -> Desk:
    return Desk(tmp_path / "lake", spark)


def back(desk: Desk, spec: TableSpec, to: Commit, seq: int | None = None) -> Commit:
    """To the version that a commit left, as the next sequence."""
    assert to.state is not None
    number = next(desk.sequences) if seq is None else seq
    names = CommitIds(to.state.app_id, number, f"back{number}")
    state = replace(to.state, seq=number, batch_id=names.batch_id)
    done = desk.lake.roll_back(spec, RollBack(names, "the-rollback", to.version, to.state.seq), state)
    desk.lake.roll_back_quarantine(spec, names, to.state.seq)
    desk.previous = state
    return done


@pytest.mark.parametrize("by", ["us", pytest.param("Spark", marks=pytest.mark.acceptance)])
def test_rows_come_back_as_they_were_and_what_lands_after_it_goes_on_from_there(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    first = desk.land(ORDERS, FIRST)
    second = desk.land(ORDERS, [(2, "B", 40), (4, "d", 41)])
    desk.land(ORDERS, [(1, "A", 50), (2, "BB", 51)])
    after_second = [(1, "a", 10), (2, "B", 40), (3, "c", 30), (4, "d", 41)]
    if by == "Spark":
        monkeypatch.setattr(eligible, "refused_by_table", lambda _: "it is to be Spark's")
    done = back(desk, ORDERS, second)
    assert desk.rows(ORDERS) == after_second
    assert desk.lake.find(ORDERS, done.state.batch_id if done.state else "") == done
    assert done.rolled_back_to == 2
    target = desk.lake.inspect(ORDERS, None)
    assert target is not None
    assert (target.seq, target.state, target.foreign) == (4, done.state, "")
    again = desk.land(ORDERS, [(1, "A", 50), (2, "BB", 51)])
    assert again.rows == RowCounts(read=2, updated=2)
    back(desk, ORDERS, first)
    assert desk.rows(ORDERS) == FIRST


@pytest.mark.acceptance
def test_what_was_resolved_after_a_run_is_held_again_and_what_was_before_stays_resolved(desk: Desk) -> None:
    held = replace(ORDERS, contract=Contract(rules=(ColumnRules("note", nullable=False),), file="sources.yaml", line=7))
    desk.land(held, [(1, "a", 10), (2, None, 20), (3, None, 30)])
    second = desk.land(held, [(2, "b", 40)])
    desk.land(held, [(3, "c", 50)])
    assert desk.lake.held(held) == NOTHING_HELD
    back(desk, held, second)
    still = desk.lake.held(held)
    assert (still.rows, desk.rows(held)) == (1, [(1, "a", 10), (2, "b", 40)])
    desk.land(held, [(3, "c", 50)])
    assert (desk.lake.held(held), desk.rows(held)) == (NOTHING_HELD, [(1, "a", 10), (2, "b", 40), (3, "c", 50)])


@pytest.mark.acceptance
def test_what_a_killed_run_had_overtaken_is_not_held_again_where_its_rows_stay(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sequence was fenced before anybody said what became of the rows, and the copy is taken back to just what it left."""
    held = replace(ORDERS, contract=Contract(rules=(ColumnRules("note", nullable=False),), file="sources.yaml", line=7))
    desk.land(held, [(1, "a", 10), (2, None, 20)])
    with monkeypatch.context() as killed:
        killed.setattr(settling, "settle", lambda *_: None)
        second = desk.land(held, [(2, "b", 40)])
    assert second.state is not None
    desk.lake.fence(held, CommitIds(second.state.app_id, next(desk.sequences), "fence"), None)
    desk.lake.settle_landed(held, second.state.batch_id)
    assert desk.lake.held(held) == NOTHING_HELD
    desk.land(held, [(3, "c", 50)])
    back(desk, held, second)
    assert (desk.lake.held(held), desk.rows(held)) == (NOTHING_HELD, [(1, "a", 10), (2, "b", 40)])


def test_an_own_commit_writes_nothing_but_the_log(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    second = desk.land(ORDERS, [(2, "B", 40)])
    desk.land(ORDERS, [(2, "BB", 41), (3, "C", 42)])
    folder = Path(desk.path(ORDERS))
    before = {*folder.iterdir()}
    back(desk, ORDERS, second)
    assert {*folder.iterdir()} == before
    operation = desk.spark.sql(f"DESCRIBE HISTORY delta.`{folder}` LIMIT 1").first()
    assert operation is not None
    assert operation["operation"] == "RESTORE"


@pytest.mark.acceptance
def test_columns_that_came_since_go_and_may_come_again(desk: Desk) -> None:
    first = desk.land(ORDERS, FIRST)
    wider = table("id bigint, note string, at bigint, more string")
    desk.land(wider, [(4, "d", 40, "new")])
    back(desk, ORDERS, first)
    assert desk.rows(ORDERS) == FIRST
    assert [name for name, _ in desk.lake.columns(ORDERS)] == ["id", "note", "at"]
    desk.land(wider, [(4, "d", 40, "new")])
    assert len(desk.rows(wider)) == 4


@pytest.mark.acceptance
def test_a_version_below_a_checkpoint_of_the_log_is_found(desk: Desk) -> None:
    commits = [desk.land(EVENTS, [(number, "x", number)]) for number in range(1, 16)]
    back(desk, EVENTS, commits[2])
    assert [row[0] for row in desk.rows(EVENTS)] == [1, 2, 3]


@pytest.mark.acceptance
def test_a_quarantine_is_taken_back_as_well_and_once(desk: Desk) -> None:
    desk.land(ORDERS, [*FIRST, (8, "bad", 31)], bad=["bad"])
    second = desk.land(ORDERS, [(4, "d", 40)])
    desk.land(ORDERS, [(5, "worse", 50), (6, "f", 51)], bad=["worse"])
    assert sorted(row["note"] for row in desk.quarantined(ORDERS)) == ["bad", "worse"]
    done = back(desk, ORDERS, second)
    assert [row["note"] for row in desk.quarantined(ORDERS)] == ["bad"]
    names = CommitIds(done.state.app_id, done.state.seq, "again") if done.state else CommitIds("", 0, "")
    quarantine = desk.folder / "_quarantine"
    commits = sorted(path.name for path in quarantine.rglob("_delta_log/*.json"))
    desk.lake.roll_back_quarantine(ORDERS, names, 2)
    assert sorted(path.name for path in quarantine.rglob("_delta_log/*.json")) == commits
    desk.land(ORDERS, [(5, "worse", 50)], bad=["worse"])
    assert sorted(row["note"] for row in desk.quarantined(ORDERS)) == ["bad", "worse"]


@pytest.mark.acceptance
def test_a_copy_is_taken_back_though_the_quarantine_of_then_was_vacuumed(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    held = replace(ORDERS, contract=Contract(rules=(ColumnRules("note", nullable=False),), file="sources.yaml", line=7))
    desk.land(held, [(1, "a", 10), (2, None, 20), (3, None, 30)])
    second = desk.land(held, [(2, "b", 40)])
    desk.land(held, [(3, "c", 50)])
    quarantine = Path(quarantine_path(str(desk.folder), held.id))
    live = desk.spark.read.format("delta").load(str(quarantine)).inputFiles()
    for file in quarantine.glob("*.parquet"):
        if not any(name.endswith(file.name) for name in live):
            file.unlink()
    back(desk, held, second)
    assert (desk.lake.held(held), desk.rows(held)) == (NOTHING_HELD, [(1, "a", 10), (2, "b", 40)])
    assert "its quarantine stays as it is" in caplog.text
    desk.land(held, [(3, "c", 50)])
    assert (desk.lake.held(held), desk.rows(held)) == (NOTHING_HELD, [(1, "a", 10), (2, "b", 40), (3, "c", 50)])


@pytest.mark.acceptance
@pytest.mark.parametrize("by", ["us", "Spark"])
def test_a_version_whose_files_were_vacuumed_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    first = desk.land(ORDERS, FIRST)
    desk.land(ORDERS, [(number, "z", 40 + number) for number in range(1, 5)])
    for file in Path(desk.path(ORDERS)).glob("*.parquet"):
        live = desk.read(ORDERS).inputFiles()
        if not any(name.endswith(file.name) for name in live):
            file.unlink()
    if by == "Spark":
        monkeypatch.setattr(eligible, "refused_by_table", lambda _: "it is to be Spark's")
    rows = desk.rows(ORDERS)
    with pytest.raises(Refused, match=f"version {first.version} of the copy can no longer be restored"):
        back(desk, ORDERS, first)
    assert desk.rows(ORDERS) == rows


@pytest.mark.acceptance
@pytest.mark.parametrize("by", ["us", "Spark"])
def test_a_sequence_that_a_later_one_has_overtaken_takes_nothing_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    desk.sequences = itertools.count(10)
    first = desk.land(ORDERS, FIRST)
    desk.land(ORDERS, [(2, "B", 40)])
    rows = desk.rows(ORDERS)
    if by == "Spark":
        monkeypatch.setattr(eligible, "refused_by_table", lambda _: "it is to be Spark's")
    with pytest.raises(CommitMissing):
        back(desk, ORDERS, first, seq=5)
    assert desk.rows(ORDERS) == rows


@pytest.mark.acceptance
def test_a_disk_that_is_full_is_told_and_not_taken_for_a_version_that_is_gone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    first = desk.land(ORDERS, FIRST)
    desk.land(ORDERS, [(2, "B", 40)])
    rows = desk.rows(ORDERS)
    monkeypatch.setattr(eligible, "refused_by_table", lambda _: "it is to be Spark's")
    monkeypatch.setattr(commit, "write", full)
    with pytest.raises(LakeRefused, match="its disk is full; make room there"):
        back(desk, ORDERS, first)
    assert desk.rows(ORDERS) == rows
