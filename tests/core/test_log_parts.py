"""Which partitions have come with rows, or left, since a table was last read from the log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.captures.database.observation import Parts
from incremental_assets.core.captures.log import LOG
from incremental_assets.core.captures.log.observation import LogObservation
from incremental_assets.core.captures.log.parts import moved_parts, strayed
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, SyncPlan
from tests.core.test_log_capture import SEEN, SPEC, look

FIRST, AGAIN, SECOND = 7 | 1 << 32, 7 | 2 << 32, 8 | 1 << 32
"""The partition of the number 7, the same when it was detached and attached again, and another."""


def landed(members: tuple[int, ...] | None) -> State:
    return State("app", 1, "batch", SPEC.terms, LogPosition(members=members))


@pytest.mark.parametrize(
    ("known", "now", "empty", "told"),
    [
        ((FIRST,), (FIRST,), (), ""),
        ((FIRST,), (FIRST, SECOND), (), "1 partition came with rows"),
        ((FIRST,), (FIRST, SECOND), (8,), ""),
        ((FIRST, SECOND), (FIRST,), (), "1 partition left"),
        ((FIRST,), (AGAIN,), (), "1 partition came with rows"),
        ((FIRST,), (AGAIN,), (7,), "1 partition came with rows"),
        ((FIRST,), (SECOND,), (), "1 partition came with rows and 1 partition left"),
        ((FIRST, SECOND), (), (), "2 partitions left"),
    ],
)
def test_what_came_and_left(known: tuple[int, ...], now: tuple[int, ...], empty: tuple[int, ...], told: str) -> None:
    assert moved_parts(landed(known), Parts(now), frozenset(empty)) == told


PARTED = replace(SPEC, shape=replace(SPEC.shape, row_versions=True, splits=False))


@pytest.mark.parametrize(
    ("known", "now", "written", "strays"),
    [
        ((FIRST, SECOND), (FIRST, SECOND), {7, 8}, 0),
        ((FIRST, SECOND), (AGAIN, SECOND), {7, 8}, 0),
        ((FIRST,), (FIRST,), {7, 8}, 1),
        ((FIRST, SECOND), (FIRST,), {7, 8}, 1),
        # Without a row at the look, and had one before.
        ((FIRST,), (FIRST, SECOND), {7, 8}, 1),
        ((FIRST,), (FIRST, SECOND), {7}, 0),
        (None, (FIRST,), {7, 8}, 0),
    ],
)
def test_which_partitions_were_written_that_were_not_there_at_both_looks(
    known: tuple[int, ...] | None, now: tuple[int, ...], written: set[int], strays: int
) -> None:
    for spec, told in ((PARTED, strays), (SPEC, 0)):
        seen = LogObservation(bound=look().bound, log=SEEN, parts=Parts(now))
        plan = LOG.plan(spec, Request("run", Mode.SYNC), landed(known), CommitIds("app", 2, "batch"), seen)
        assert isinstance(plan, SyncPlan)
        assert strayed(plan, written) == told


def test_without_a_look_at_them_nothing_is_said() -> None:
    assert moved_parts(landed(None), Parts((FIRST,)), frozenset()) == ""
    assert moved_parts(None, Parts((FIRST,)), frozenset()) == ""
    assert moved_parts(landed((FIRST,)), None, frozenset()) == ""
    assert LogPosition.from_json(LogPosition(members=(FIRST,)).to_json()).members == (FIRST,)
