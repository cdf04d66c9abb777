"""When a copy was late: from the moments at which it came to be in step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from incremental_assets.core.model.kept import During
from incremental_assets.core.operations.lateness import Moved, lateness

FIVE = timedelta(minutes=5)


def at(minute: int) -> datetime:
    """So many minutes after nine."""
    return datetime(2026, 11, 28, 9, tzinfo=UTC) + timedelta(minutes=minute)


def during(begins: int, ends: int) -> During:
    return During(at(begins), at(ends))


def late(begins: int, ends: int, in_step: int | None, *moves: tuple[int, int | None]) -> list[During]:
    told = [Moved(at(when), None if known is None else at(known)) for when, known in moves]
    return [*lateness(during(begins, ends), None if in_step is None else at(in_step), told, FIVE)]


def test_a_copy_is_late_once_it_was_in_step_longer_ago_than_it_may_be() -> None:
    assert late(0, 5, 0) == []
    assert late(0, 20, 0) == [during(5, 20)]
    assert late(0, 20, -30) == [during(0, 20)]


def test_a_sync_ends_it_and_is_as_of_its_own_beginning() -> None:
    assert late(0, 20, 0, (12, 11)) == [during(5, 12), during(16, 20)]
    assert late(0, 20, 0, (12, 4)) == [during(5, 12), during(12, 20)], "what it read was old already"


def test_a_sync_that_began_before_the_look_takes_nothing_back() -> None:
    assert late(0, 8, 0, (1, -4)) == [during(5, 8)]


def test_a_copy_that_was_put_back_or_never_landed_is_late_until_it_lands() -> None:
    assert late(0, 20, None) == [during(0, 20)]
    assert late(0, 20, 0, (1, 0), (2, None), (9, 8)) == [during(2, 9), during(13, 20)]


def test_what_was_paused_is_cut_out() -> None:
    assert [*during(0, 10).without([during(2, 3), during(8, 20)])] == [during(0, 2), during(3, 8)]
    assert [*during(0, 10).without([during(-5, 2), during(1, 4), during(30, 40)])] == [during(4, 10)]
    assert [*during(0, 10).without([during(0, 10)])] == []
    assert [*during(0, 10).without([])] == [during(0, 10)]
