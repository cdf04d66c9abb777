"""A row that is gone takes its key out of the copy, and nothing else: the same of the fake lake and of Delta."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import CLOCK, Desk, Row, table
from tests.fakes import FakeLake, FakeStage

COLUMNS = "id bigint, note string, at bigint"
ORDERS, EVENTS = table(COLUMNS), table(COLUMNS, Strategy.APPEND)
GONE = "gone"
"""What a row holds that is no more."""
FIRST: list[Row] = [(1, "a", 10), (2, "b", 20), (3, "c", 30), (4, "d", 40)]


@dataclass
class FakeDesk(Desk):
    """The same desk over the fakes."""

    fake: FakeLake = field(default_factory=lambda: FakeLake(FakeStage()))

    @property
    def lake(self) -> Any:
        return self.fake

    @property
    def stage(self) -> Any:
        return self.fake.stage

    def show(
        self,
        spec: TableSpec,
        rows: Sequence[Row],
        late: Sequence[object] = (),
        bad: Sequence[object] = (),
        gone: Sequence[object] = (),
    ) -> Any:
        frame = [
            {
                **dict(zip(spec.shape.names, ("unfit" if value in bad else value for value in row), strict=True)),
                **({"_sync_op": "gone" if set(row) & set(gone) else "put"} if gone else {}),
            }
            for row in rows
        ]
        return Shown(frame, len(rows), highest=self._highest(spec, rows))

    def rows(self, spec: TableSpec) -> list[Row]:
        return sorted((tuple(row.values()) for row in self.fake.landed(spec.id)), key=str)


@dataclass(frozen=True)
class Shown:
    """A snapshot of the fake's rows."""

    frame: list[dict[str, object]]
    rows: int
    highest: Any = None


@pytest.fixture(params=("fake", pytest.param("delta", marks=pytest.mark.spark)))
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    """One lake and one stage."""
    if request.param == "fake":
        return FakeDesk(tmp_path, None, sequences=itertools.count(1))  # type: ignore[arg-type]
    return Desk(tmp_path / "lake", request.getfixturevalue("spark"))


def test_a_row_that_is_gone_takes_exactly_its_key_away_in_the_commit_of_its_batch(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    before = version(desk, ORDERS)
    rows = [(1, "A", 50), (2, GONE, None), (5, "e", 51), (9, GONE, None)]
    second = desk.land(ORDERS, rows, gone=[GONE])
    assert desk.rows(ORDERS) == [(1, "A", 50), (3, "c", 30), (4, "d", 40), (5, "e", 51)]
    assert second.rows == RowCounts(read=4, inserted=1, updated=1, deleted=1)
    assert (second.version, version(desk, ORDERS)) == (before + 1, before + 1)
    assert second.warnings == ()
    assert desk.lake.find(ORDERS, "batch2") == second


@pytest.mark.acceptance
def test_a_batch_of_rows_that_are_gone_alone_leaves_the_others(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    rows = [(2, GONE, None), (4, GONE, None)]
    assert desk.land(ORDERS, rows, gone=[GONE]).rows == RowCounts(read=2, deleted=2)
    assert desk.rows(ORDERS) == [(1, "a", 10), (3, "c", 30)]
    # A second time there is nothing to take away.
    assert desk.land(ORDERS, rows, gone=[GONE]).rows == RowCounts(read=2)
    assert desk.rows(ORDERS) == [(1, "a", 10), (3, "c", 30)]


@pytest.mark.acceptance
def test_a_key_that_goes_and_comes_in_one_batch_stays_with_the_row_that_came(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    second = desk.land(ORDERS, [(2, GONE, None), (2, "again", 50)], gone=[GONE])
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "again", 50), (3, "c", 30), (4, "d", 40)]
    assert second.rows == RowCounts(read=2, updated=1)


def test_rows_that_are_gone_never_come_into_a_copy_that_holds_none(desk: Desk) -> None:
    first = desk.land(ORDERS, [(1, "a", 10), (2, GONE, None)], gone=[GONE])
    assert desk.rows(ORDERS) == [(1, "a", 10)]
    assert first.rows == RowCounts(read=2, inserted=1)


@pytest.mark.acceptance
def test_a_row_leaves_beside_one_that_can_no_longer_land_and_people_are_told_of_the_latter(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    rows = [(2, "bad", 50), (3, GONE, None), (4, "D", 52)]
    second = desk.land(ORDERS, rows, bad=["bad"], gone=[GONE])
    assert desk.rows(ORDERS) == [(1, "a", 10), (4, "D", 52)]
    assert second.rows == RowCounts(read=3, updated=1, deleted=2, quarantined=1)
    # The fake says nothing to people.
    assert isinstance(desk, FakeDesk) or [told[:22] for told in second.warnings] == ["1 row was taken out of"]


@pytest.mark.acceptance
def test_versions_that_landed_stay_in_a_copy_that_keeps_them(desk: Desk) -> None:
    desk.land(EVENTS, FIRST)
    second = desk.land(EVENTS, [(1, "A", 50), (2, GONE, None)], gone=[GONE])
    assert desk.rows(EVENTS) == sorted([(1, "A", 50), *FIRST])
    assert second.rows == RowCounts(read=2, inserted=1)


def version(desk: Desk, spec: TableSpec) -> int:
    target = desk.lake.inspect(spec, None)
    assert target is not None
    return target.version


MARKING = replace(ORDERS, deletes=Deletes(DeleteMode.DIFF, Then.MARK))


def marked(desk: Desk) -> dict[object, object]:
    """Keys of the rows that say that they are gone, and when they were found so."""
    if isinstance(desk, FakeDesk):
        rows = desk.fake.tables[MARKING.id].rows
        return {row["id"]: row["_sync_deleted_at"] for row in rows if row.get("_sync_deleted_at")}
    found = desk.read(MARKING).where("_sync_deleted_at IS NOT NULL").collect()
    return {row["id"]: row["_sync_deleted_at"].astimezone(UTC) for row in found}


@pytest.mark.acceptance
def test_where_deletes_are_marked_the_row_stays_and_only_its_key_coming_back_takes_the_mark_away(desk: Desk) -> None:
    desk.land(MARKING, FIRST)
    second = desk.land(MARKING, [(1, "A", 50), (2, GONE, None), (4, GONE, None), (9, GONE, None)], gone=[GONE])
    assert desk.rows(MARKING) == sorted([(1, "A", 50), *FIRST[1:]], key=str)
    assert (second.rows.updated, second.rows.deleted, second.rows.inserted) == (1, 2, 0)
    assert marked(desk) == {2: CLOCK, 4: CLOCK}
    # As it was: it lands all the same, and beside one that is gone and one that was gone already.
    third = desk.land(MARKING, [(2, "b", 20), (3, GONE, None), (4, GONE, None)], gone=[GONE])
    assert (third.rows.updated, third.rows.deleted) == (1, 1)
    assert marked(desk) == {3: CLOCK, 4: CLOCK}
    assert desk.rows(MARKING) == sorted([(1, "A", 50), *FIRST[1:]], key=str)


@pytest.mark.acceptance
def test_a_row_that_can_no_longer_land_leaves_a_copy_whose_deletes_are_marked(desk: Desk) -> None:
    desk.land(MARKING, FIRST)
    second = desk.land(MARKING, [(2, "bad", 50), (3, GONE, None), (4, "D", 52)], bad=["bad"], gone=[GONE])
    assert desk.rows(MARKING) == [(1, "a", 10), (3, "c", 30), (4, "D", 52)]
    assert (second.rows.updated, second.rows.deleted, second.rows.quarantined) == (1, 2, 1)
    assert marked(desk) == {3: CLOCK}


@pytest.mark.acceptance
def test_a_copy_that_is_marked_from_now_on_gets_the_column_and_keeps_its_rows(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    second = desk.land(MARKING, [(2, GONE, None)], gone=[GONE])
    assert (second.rows.updated, second.rows.deleted, second.rows.inserted) == (0, 1, 0)
    assert (marked(desk), desk.rows(MARKING)) == ({2: CLOCK}, FIRST)


@pytest.mark.acceptance
def test_a_marked_row_leaves_once_rows_that_are_gone_are_to_leave(desk: Desk) -> None:
    desk.land(MARKING, FIRST)
    desk.land(MARKING, [(2, GONE, None), (4, GONE, None)], gone=[GONE])
    third = desk.land(ORDERS, [(1, "A", 50), (2, GONE, None), (3, GONE, None)], gone=[GONE])
    assert (third.rows.updated, third.rows.deleted) == (1, 2)
    assert (marked(desk), desk.rows(MARKING)) == ({4: CLOCK}, [(1, "A", 50), (4, "d", 40)])


TELLING = replace(EVENTS, deletes=MARKING.deletes)


@pytest.mark.acceptance
def test_an_append_says_by_one_more_version_that_a_row_is_gone_and_by_another_that_it_is_back(desk: Desk) -> None:
    desk.land(TELLING, FIRST)
    second = desk.land(TELLING, [(1, "A", 50), (2, GONE, None), (9, GONE, None)], gone=[GONE])
    assert desk.rows(TELLING) == sorted([(1, "A", 50), (2, "b", 20), *FIRST], key=str)
    assert (second.rows.inserted, second.rows.deleted, second.rows.updated) == (1, 1, 0)
    assert marked(desk) == {2: CLOCK}
    keys = desk.lake.keys(TELLING)
    assert keys.spread().rows == 3
    # As it was: a version of its own all the same.
    third = desk.land(TELLING, [(2, "b", 20), (1, "A", 50), (2, GONE, None)], gone=[GONE])
    assert (third.rows.inserted, third.rows.deleted, third.rows.unchanged) == (1, 0, 1)
    assert desk.lake.keys(TELLING).spread().rows == 4
