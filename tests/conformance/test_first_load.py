"""A big first load is not staged: its rows are in the target before their position is. What comes in between does no harm."""

from __future__ import annotations

import pytest

from incremental_assets.core.landing import first_load
from incremental_assets.core.planning.report import SyncReport
from tests.conformance.killing import killed
from tests.conformance.mart import NAMES, Marts, assert_healed, expire, struck
from tests.conformance.meddling import assert_told
from tests.conformance.points import Point, once
from tests.conformance.process import UNSTAGED
from tests.conformance.scenario import scenario

BETWEEN = (Point.READING, Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT)
"""Before its rows are there, when they have been counted, before and after they get their position."""
IN_TURN = [(point, NAMES[number % len(NAMES)]) for number, point in enumerate(BETWEEN)]
THEN_STAGED = [*((*each, False) for each in IN_TURN), *((*each, True) for each in IN_TURN[1:3])]
"""The load that comes after it, with and without a stage."""
SOME = {"orders": "id % 100 = 3", "visits": "who = 'guest 3'", "prices": "sku LIKE '%7'"}
"""Rows of each."""


@scenario(
    "T10",
    "kill -9 of the whole process in a first load that writes its rows straight to the target: before they are there, when they are counted, "
    "before and after they get their position; then rows of the same table are deleted in the source",
    holds="what has no position is replaced whole by the next sync, staged or not: every table equals the source, no row of the dead load is left",
    long=True,
)
@pytest.mark.parametrize(("point", "table", "stages"), THEN_STAGED, ids=str)
def test_a_killed_first_load_leaves_nothing_behind(
    marts: Marts, point: Point, table: str, stages: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with marts.running("first load") as desk:
        killed(desk, point, table, UNSTAGED)
        if point is not Point.AFTER_COMMIT:
            # Another table may have its position by now, and deletes are not followed here.
            desk.execute(f"DELETE FROM {table} WHERE {SOME[table]}")
        if not stages:
            monkeypatch.setattr(first_load, "WORTH_IT", 0)
        assert_healed(desk)


@scenario(
    "T11",
    "a first load that writes its rows straight to the target sleeps past its lease, before they are there or when they are; another one loads; the first wakes",
    holds="the sleeper replaces nothing and gives no position: it says that it lost its lease or was too late; all equal, nothing twice",
    long=True,
)
@pytest.mark.parametrize(("point", "table"), IN_TURN[:3], ids=str)
def test_a_first_load_that_sleeps_past_its_lease(
    marts: Marts, point: Point, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_load, "WORTH_IT", 0)
    other: dict[str, SyncReport] = {}
    with marts.running("first load") as desk:

        def sleep() -> None:
            expire(desk, table)
            other.update(desk.land(table))

        reports = struck(desk, "first load", once(point, table, sleep))

        assert other[table].status == "landed"
        assert_told(reports[table])
        assert_healed(desk)
