"""What is remembered of a copy's drift: a partial check proves its windows and no more."""

from __future__ import annotations

import pytest

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window


def number(value: int | None) -> CursorValue | None:
    return None if value is None else CursorValue.of(CursorType.INTEGER, value)


def between(lower: int | None, upper: int | None) -> Window:
    return Window(number(lower), number(upper))


def drifted(lower: int | None, upper: int | None, rows: int = 1) -> Drifted:
    return Drifted(between(lower, upper), rows)


KNOWN = Verified("10", (drifted(10, 20, 3), drifted(40, 50, 2)))


@pytest.mark.parametrize(
    ("window", "left"),
    [
        (between(10, 20), (drifted(40, 50, 2),)),
        (between(None, None), ()),
        (between(15, None), (drifted(10, 15, 3),)),
        (between(12, 15), (drifted(10, 20, 3), drifted(40, 50, 2))),
        (between(20, 40), KNOWN.drifted),
    ],
)
def test_what_was_read_again_is_no_longer_drift_and_not_yet_verified(window: Window, left: tuple[Drifted, ...]) -> None:
    assert KNOWN.read_again(window) == Verified("10", left)


def test_a_check_of_some_windows_replaces_what_was_known_of_them_and_keeps_the_rest() -> None:
    found = KNOWN.looked_at((between(10, 20), between(30, 40)), (drifted(30, 40, 7),))
    assert set(found.drifted) == {drifted(40, 50, 2), drifted(30, 40, 7)}
    assert (found.through, found.drift) == ("20", 9)


@pytest.mark.parametrize(
    ("known", "windows", "found", "through"),
    [
        (Verified("10"), (between(10, 20), between(20, 30)), (), "30"),
        (Verified("10"), (between(20, 30),), (), "10"),
        (Verified("10"), (between(0, 5),), (drifted(0, 5),), "0"),
        (Verified("10"), (between(None, 5),), (drifted(None, 5),), None),
        (Verified(None), (between(0, 5),), (), None),
    ],
)
def test_verified_is_what_is_equal_without_a_break(
    known: Verified, windows: tuple[Window, ...], found: tuple[Drifted, ...], through: str | None
) -> None:
    assert known.looked_at(windows, found).through == through


def test_what_is_known_under_a_cursor_of_another_type_is_forgotten_once_it_is_read_again() -> None:
    day = CursorValue.parse(CursorType.DATE, "2024-01-01")
    assert KNOWN.read_again(Window(day, None)) == Verified(None)
    assert Verified("10").looked_at((Window(day, None),), ()).through is None


def test_drift_of_an_older_program_may_lie_anywhere() -> None:
    assert Verified(None, (drifted(None, None, 4),)).read_again(between(5, 9)).drift == 4
    assert Verified(None, (drifted(None, None, 4),)).read_again(between(None, None)).drift == 0
