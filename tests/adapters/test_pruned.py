"""A copy whose old files were removed: every version that readers may ask for is whole, and syncs and rollbacks go on."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.core.errors import Refused
from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.target import Commit
from tests.adapters.batches import Desk, Row, table
from tests.adapters.history.chronicle import Chronicle, at
from tests.adapters.test_rollback import back

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = table("id bigint, note string, at bigint")
FIRST: list[Row] = [(1, "a", 10), (2, "b", 20), (3, "c", 30)]
SECOND: list[Row] = [(1, "AA", 39), (2, "B", 40), (3, "cc", 41), (4, "d", 42)]
WEEK = timedelta(days=7)

pytestmark = pytest.mark.spark


@pytest.fixture
def desk(tmp_path: Path, spark: SparkSession) -> Desk:
    return Desk(tmp_path / "lake", spark)


def aged(desk: Desk, days: int, spec: TableSpec = ORDERS) -> None:
    """Whatever lies there is so many days older from now on."""
    for place in (desk.path(spec), quarantine_path(str(desk.folder), spec.id)):
        for file in [each for each in Path(place).rglob("*") if each.is_file()]:
            at = file.stat().st_mtime - timedelta(days=days).total_seconds()
            os.utime(file, (at, at))


def pruned(desk: Desk, spec: TableSpec = ORDERS) -> int:
    """How many files were removed."""
    found = desk.lake.old_files(spec, WEEK, None)
    desk.lake.remove_files(spec, found)
    assert [each.left for each in found if each.left] == []
    return sum(len(each.files) for each in found)


def three_weeks(desk: Desk) -> tuple[Commit, Commit, Commit]:
    """The first is 15 days old, the second 10, which was the current one a week ago, and the third is of today."""
    first = desk.land(ORDERS, [*FIRST, (9, "bad", 31)], bad=[9])
    aged(desk, 5)
    second = desk.land(ORDERS, [*SECOND, (8, "bad", 43)], bad=[8])
    aged(desk, 10)
    third = desk.land(ORDERS, [(1, "A", 50), (2, "BB", 51), (3, "C", 52), (4, "D", 53)])
    return first, second, third


def test_the_copy_goes_back_to_what_was_current_a_week_ago_and_no_further(desk: Desk) -> None:
    first, second, _ = three_weeks(desk)
    assert pruned(desk) > 0
    assert desk.rows(ORDERS) == [(1, "A", 50), (2, "BB", 51), (3, "C", 52), (4, "D", 53)]
    back(desk, ORDERS, second)
    assert desk.rows(ORDERS) == SECOND
    assert sorted(row["id"] for row in desk.quarantined(ORDERS)) == ["8", "9"]
    with pytest.raises(Refused, match="can no longer be restored"):
        back(desk, ORDERS, first)
    desk.land(ORDERS, [(5, "e", 60)])
    assert desk.rows(ORDERS) == [*SECOND, (5, "e", 60)]


@pytest.mark.acceptance
def test_a_reader_of_a_version_that_may_be_read_finds_all_of_it(desk: Desk) -> None:
    three_weeks(desk)
    desk.land(ORDERS, [(6, "f", 61)])
    pruned(desk)
    aged(desk, 1)
    third = desk.spark.read.format("delta").option("versionAsOf", "3").load(desk.path(ORDERS))
    assert sorted(row["id"] for row in third.collect()) == [1, 2, 3, 4]


@pytest.mark.acceptance
def test_what_a_batch_is_about_to_commit_stays(desk: Desk) -> None:
    three_weeks(desk)
    plan, shown = desk.plan(ORDERS), desk.show(ORDERS, [(7, "g", 70)])
    staged = desk.stage.write(plan, shown)
    there = Path(desk.path(ORDERS), "part-of-a-long-writer.parquet")
    there.write_bytes(b"rows")
    pruned(desk)
    assert there.exists()
    desk.apply(plan, staged, shown)
    assert (7, "g", 70) in desk.rows(ORDERS)


@pytest.mark.acceptance
def test_what_could_not_land_goes_once_it_has_landed_and_the_copy_and_its_quarantine_go_on(desk: Desk) -> None:
    desk.land(ORDERS, [*FIRST, (8, "bad", 30), (9, "bad", 31)], bad=[8, 9])
    desk.land(ORDERS, [(9, "good", 40)])
    assert desk.previous is not None
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert desk.lake.forget_quarantined(ORDERS, tomorrow, "a-run", desk.previous) == 1
    assert [row["id"] for row in desk.quarantined(ORDERS)] == ["8"]
    unfit = desk.lake.unfit(ORDERS)
    assert unfit is not None
    assert unfit.rows == 1
    target = desk.lake.inspect(ORDERS, None)
    assert target is not None
    assert (target.foreign, target.lacks) == ("", "")
    desk.land(ORDERS, [(8, "bad", 50), (7, "bad", 51)], bad=[8, 7])
    desk.land(ORDERS, [(8, "good", 60)])
    assert desk.lake.forget_quarantined(ORDERS, tomorrow, "a-run", desk.previous) == 2
    assert [row["id"] for row in desk.quarantined(ORDERS)] == ["7"]


@pytest.mark.acceptance
@pytest.mark.parametrize("by", ["us", "Spark"])
def test_versions_that_ended_go_and_the_history_follows_and_is_whole(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 1.5, 1, at(0.5)), (2, "new", 1.5, 1, at(0.5))])
    desk.sync([(1, "paid", 1.5, 2, at(1.5))])
    desk.sync([(1, "sent", 1.5, 3, at(2.5)), (2, "new", 1.5, 3, at(2.5))], gone=[2])
    assert desk.previous is not None
    if by == "Spark":
        monkeypatch.setattr(eligible, "refused_by_table", lambda _: "it is to be Spark's")
    assert desk.lake.forget_versions(desk.spec, at(2), "a-run", desk.previous) == 1
    assert [each.row["note"] for each in desk.versions()[1]] == ["paid", "sent"]
    assert desk.lake.forget_versions(desk.spec, at(9), "a-run", desk.previous) == 3
    assert {key: len(found) for key, found in desk.versions().items()} == {1: 1}
    monkeypatch.undo()
    desk.rule = {1: desk.rule[1][-1:]}
    desk.sync([(1, "back", 1.5, 4, at(3.5)), (2, "again", 1.5, 4, at(3.6))])
    assert desk.versions() == desk.rule
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(0)
    assert desk.lake.overlapping_versions(desk.spec) == FaultyKeys(0)


@pytest.mark.acceptance
def test_a_second_time_nothing_is_left_to_remove(desk: Desk) -> None:
    three_weeks(desk)
    aged(desk, 30)
    assert pruned(desk) > 0
    assert pruned(desk) == 0
    assert len(desk.rows(ORDERS)) == 4
