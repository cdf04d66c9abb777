"""Windows are half-open: what is covered and what is missing share no value and leave none out."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.window import Window, disjoint, gaps, merge


def value(number: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(number))


def window(lower: int | None, upper: int | None) -> Window:
    return Window(None if lower is None else value(lower), None if upper is None else value(upper))


ends = st.none() | st.integers(0, 20)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    lower, upper = draw(ends), draw(ends)
    if lower is not None and upper is not None and upper < lower:
        lower, upper = upper, lower
    return window(lower, upper)


many = st.lists(windows(), max_size=6)
PROBES = [value(number) for number in range(-2, 24)]


def covered(probe: CursorValue, parts: list[Window] | tuple[Window, ...]) -> bool:
    return any(part.contains(probe) for part in parts)


@given(many)
def test_merging_changes_nothing_that_is_covered(parts: list[Window]) -> None:
    assert [covered(probe, merge(parts)) for probe in PROBES] == [covered(probe, parts) for probe in PROBES]


@given(many)
def test_merged_windows_are_ascending_and_do_not_touch(parts: list[Window]) -> None:
    merged = merge(parts)
    assert not any(part.is_empty for part in merged)
    for first, second in itertools.pairwise(merged):
        assert first.upper is not None
        assert second.lower is not None
        assert first.upper < second.lower


@given(many)
def test_merging_twice_is_merging_once(parts: list[Window]) -> None:
    assert merge(merge(parts)) == merge(parts)


@given(many, windows())
def test_a_value_of_the_wanted_window_is_either_covered_or_in_a_gap(parts: list[Window], wanted: Window) -> None:
    missing = gaps(parts, wanted)
    for probe in PROBES:
        assert covered(probe, missing) == (wanted.contains(probe) and not covered(probe, parts))


@given(many, windows())
def test_gaps_are_ascending_and_do_not_overlap(parts: list[Window], wanted: Window) -> None:
    missing = gaps(parts, wanted)
    assert not any(gap.is_empty for gap in missing)
    assert merge(missing) == missing


@given(many, windows())
def test_filled_gaps_leave_no_gap(parts: list[Window], wanted: Window) -> None:
    assert gaps([*parts, *gaps(parts, wanted)], wanted) == ()


@given(windows(), ends)
def test_clamping_keeps_what_lies_below_the_limit(part: Window, limit: int | None) -> None:
    clamped = part.clamp_upper(None if limit is None else value(limit))
    for probe in PROBES:
        assert clamped.contains(probe) == (part.contains(probe) and (limit is None or probe < value(limit)))


def test_a_tie_is_wholly_on_one_side() -> None:
    first, second = window(0, 5), window(5, 9)
    assert (first.contains(value(5)), second.contains(value(5))) == (False, True)


def test_windows_that_touch_become_one() -> None:
    assert merge([window(5, 9), window(0, 5)]) == (window(0, 9),)


def test_an_open_window_swallows_what_it_reaches() -> None:
    assert merge([window(3, None), window(None, 1), window(7, 9)]) == (window(None, 1), window(3, None))
    assert gaps([window(3, None), window(None, 1)], window(None, None)) == (window(1, 3),)


@given(many)
def test_of_windows_that_are_apart_no_value_lies_in_two(parts: list[Window]) -> None:
    assert not disjoint(parts) or all(sum(part.contains(probe) for part in parts) <= 1 for probe in PROBES)


def test_windows_in_their_order_are_apart_and_others_are_not() -> None:
    assert all(
        disjoint(parts) for parts in ([], [window(None, None)], [window(None, 1), window(1, 3), window(7, None)])
    )
    assert not disjoint([window(0, 3), window(2, 5)])
    assert not disjoint([window(5, 9), window(0, 5)])
    assert not disjoint([window(0, None), window(5, 9)])


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ends before it begins: \[5, 3\)"):
        window(5, 3)


def test_a_window_is_shown_half_open() -> None:
    assert (str(window(1, 5)), str(window(None, None))) == ("[1, 5)", "[…, …)")
