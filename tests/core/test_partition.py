"""Partition keys: spelled as Dagster spells them, tiling the cursor without gaps, and each the name of one window."""

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.errors import TooManyPartitions
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.number_keys import MOST_KEYS, IntegerGrid, integer_keys
from incremental_assets.core.model.partition import Every, TimeGrid, count, keys, parts, touched, window_of
from incremental_assets.core.model.window import Window

DATE, DATETIME, TIMESTAMP, INTEGER = CursorType.DATE, CursorType.DATETIME, CursorType.TIMESTAMP, CursorType.INTEGER
NOW = datetime(2024, 3, 13, 14, 30, tzinfo=UTC)
MONTHS = TimeGrid(Every.MONTH, date(2024, 1, 1))

grids = st.builds(TimeGrid.containing, st.sampled_from(Every), st.dates(date(2000, 1, 1), date(2030, 1, 1)))
spans = st.timedeltas(timedelta(0), timedelta(days=40))


def between(kind: CursorType, lower: str | None, upper: str | None) -> Window:
    return Window(*(None if end is None else CursorValue.parse(kind, end) for end in (lower, upper)))


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "last_two"),
    [
        (Every.HOUR, ("2024-03-13-13:00", "2024-03-13-14:00")),
        (Every.DAY, ("2024-03-12", "2024-03-13")),
        (Every.WEEK, ("2024-03-03", "2024-03-10")),
        (Every.MONTH, ("2024-02-01", "2024-03-01")),
    ],
)
def test_the_open_partition_is_the_last_key(every: Every, last_two: tuple[str, str]) -> None:
    assert keys(TimeGrid.containing(every, date(2024, 1, 1)), NOW)[-2:] == last_two


@pytest.mark.parametrize("every", Every)
@pytest.mark.parametrize("start", [date(2023, 12, 25), date(2024, 1, 1), date(2024, 2, 29)])
def test_keys_are_the_ones_that_dagster_makes(every: Every, start: date) -> None:
    import dagster as dg

    grid = TimeGrid.containing(every, start)
    definitions = {
        Every.HOUR: lambda: dg.HourlyPartitionsDefinition(f"{grid.start}-00:00", end_offset=1),
        Every.DAY: lambda: dg.DailyPartitionsDefinition(f"{grid.start}", end_offset=1),
        Every.WEEK: lambda: dg.WeeklyPartitionsDefinition(f"{grid.start}", end_offset=1),
        Every.MONTH: lambda: dg.MonthlyPartitionsDefinition(f"{grid.start}", end_offset=1),
    }
    definition = definitions[every]()
    assert list(keys(grid, NOW)) == definition.get_partition_keys(current_time=NOW)
    for key in keys(grid, NOW)[-3:]:
        window, expected = window_of(grid, key, TIMESTAMP), definition.time_window_for_partition_key(key)
        assert window.lower is not None
        assert window.upper is not None
        assert (window.lower.moment(), window.upper.moment()) == (expected.start, expected.end)


def test_a_grid_begins_with_the_partition_that_holds_its_day() -> None:
    assert TimeGrid.containing(Every.MONTH, date(2024, 1, 17)).start == date(2024, 1, 1)
    assert TimeGrid.containing(Every.WEEK, date(2024, 1, 3)).start == date(2023, 12, 31)  # a Sunday
    with pytest.raises(ValueError, match="2024-01-17 is not the first day of a month"):
        TimeGrid(Every.MONTH, date(2024, 1, 17))


@given(grids, spans, st.sampled_from([DATETIME, TIMESTAMP]))
def test_time_keys_tile_the_cursor_without_gaps(grid: TimeGrid, span: timedelta, kind: CursorType) -> None:
    start = datetime(grid.start.year, grid.start.month, grid.start.day, tzinfo=UTC)
    windows = [window_of(grid, key, kind) for key in keys(grid, start + span)]
    assert windows[0].lower == CursorValue.of(kind, start if kind is TIMESTAMP else start.replace(tzinfo=None))
    assert all(first.upper == second.lower for first, second in itertools.pairwise(windows))
    assert windows[-1].contains(
        CursorValue.of(kind, start + span if kind is TIMESTAMP else (start + span).replace(tzinfo=None))
    )


@given(grids, spans)
def test_a_time_key_names_the_window_that_touches_it_alone(grid: TimeGrid, span: timedelta) -> None:
    until = datetime(grid.start.year, grid.start.month, grid.start.day, tzinfo=UTC) + span
    found = keys(grid, until)
    assert len(found) == count(grid, until) == len(set(found))
    assert list(found) == sorted(found)
    for key in {found[0], found[len(found) // 2], found[-1]}:
        assert touched(grid, window_of(grid, key, TIMESTAMP), until) == (key,)


@pytest.mark.parametrize(
    ("kind", "lower", "upper"),
    [
        (TIMESTAMP, "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
        (DATETIME, "2024-02-01T00:00:00", "2024-03-01T00:00:00"),
        (DATE, "2024-02-01", "2024-03-01"),
    ],
)
def test_a_window_is_in_the_values_of_its_cursor(kind: CursorType, lower: str, upper: str) -> None:
    assert window_of(MONTHS, "2024-02-01", kind) == Window(CursorValue(kind, lower), CursorValue(kind, upper))


def test_a_date_has_no_hours() -> None:
    with pytest.raises(ValueError, match="no hours"):
        window_of(TimeGrid(Every.HOUR, date(2024, 1, 1)), "2024-01-01-05:00", DATE)


@pytest.mark.parametrize(
    "key", ["2024-02-02", "2023-12-01", "2024-2-1", "current", "", "2024-02-01T00:00:00", "20240201"]
)
def test_a_key_that_the_grid_does_not_have_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="not a partition of the grid of months from 2024-01-01"):
        window_of(MONTHS, key, TIMESTAMP)


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        ("2024-01-31T23:59:59.999999999", "2024-02-01T00:00:00", ("2024-01-01",)),
        ("2024-01-31T23:59:59", "2024-02-01T00:00:00.000000001", ("2024-01-01", "2024-02-01")),
        ("2024-02-10", None, ("2024-02-01", "2024-03-01")),
        (None, "2024-02-10", ("2024-01-01", "2024-02-01")),
        (None, None, ("2024-01-01", "2024-02-01", "2024-03-01")),
        ("1990-01-01", "2024-01-01", ()),
        ("2024-02-10", "infinity", ("2024-02-01", "2024-03-01")),
        ("-infinity", "2024-01-02", ("2024-01-01",)),
        ("0044-03-15T00:00:00 BC", "0001-01-01T00:00:00 BC", ()),
        ("2025-01-01", "2025-06-01", ()),
        ("2024-02-10", "2024-02-10", ()),
    ],
)
def test_a_window_touches_the_partitions_it_shares_a_value_with(
    lower: str | None, upper: str | None, expected: tuple[str, ...]
) -> None:
    assert touched(MONTHS, between(DATETIME, lower, upper), NOW) == expected


def test_before_its_start_a_grid_has_no_key() -> None:
    before = datetime(2023, 12, 31, 23, 59, tzinfo=UTC)
    assert (keys(MONTHS, before), count(MONTHS, before)) == ((), 0)


def test_too_many_hours_are_refused_with_the_cure() -> None:
    hours = TimeGrid(Every.HOUR, date(2000, 1, 1))
    assert len(keys(hours, datetime(2000, 1, 1, tzinfo=UTC) + timedelta(hours=MOST_KEYS - 1))) == MOST_KEYS
    with pytest.raises(TooManyPartitions, match=r"25,001 partitions are more than 25,000; .*`from`.*`every`"):
        keys(hours, datetime(2000, 1, 1, tzinfo=UTC) + timedelta(hours=MOST_KEYS))


# --- integers -------------------------------------------------------------------------------------


def test_integer_keys_are_padded_so_that_they_sort_and_m_stands_for_minus() -> None:
    assert integer_keys(IntegerGrid(1000), -1, 1000) == (
        "m0000000000000001000-0000000000000000000",
        "0000000000000000000-0000000000000001000",
        "0000000000000001000-0000000000000002000",
    )


@given(st.integers(1, 10**7), st.integers(-(10**20), 10**20), st.integers(0, 10**8))
def test_integer_keys_tile_the_range_without_gaps(size: int, lowest: int, length: int) -> None:
    grid, highest = IntegerGrid(size), lowest + min(length, size * 50)
    found = integer_keys(grid, lowest, highest)
    windows = [window_of(grid, key, INTEGER) for key in found]
    assert windows[0].contains(CursorValue.of(INTEGER, lowest))
    assert windows[-1].contains(CursorValue.of(INTEGER, highest))
    assert all(first.upper == second.lower for first, second in itertools.pairwise(windows))
    assert [touched(grid, window, highest + size) for window in windows] == [(key,) for key in found]


@pytest.mark.parametrize(
    "key",
    [
        "0-1000",
        "0000000000000000500-0000000000000001500",
        "0000000000000000000-0000000000000002000",
        "m0000000000000000000-0000000000000001000",
        "current",
    ],
)
def test_an_integer_key_off_the_grid_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="not a partition of the grid of 1000 values"):
        window_of(IntegerGrid(1000), key, INTEGER)


@pytest.mark.parametrize(
    ("lower", "upper", "highest", "count_of_keys"),
    [
        ("0", "1000", 5000, 1),
        ("0", "1001", 5000, 2),
        ("999", None, 1000, 2),
        ("5001", None, 5000, 0),
        ("0", "9000", 1500, 2),
    ],
)
def test_an_integer_window_is_closed_by_the_highest_value(
    lower: str, upper: str | None, highest: int, count_of_keys: int
) -> None:
    assert len(touched(IntegerGrid(1000), between(INTEGER, lower, upper), highest)) == count_of_keys


def test_an_integer_window_needs_a_lower_end() -> None:
    with pytest.raises(ValueError, match="lowest value"):
        touched(IntegerGrid(1000), between(INTEGER, None, "5"), 10)


def test_each_kind_of_grid_is_closed_by_its_own_kind_of_value() -> None:
    with pytest.raises(TypeError, match="by a time"):
        touched(MONTHS, between(TIMESTAMP, None, None), 5)
    with pytest.raises(TypeError, match="highest value"):
        touched(IntegerGrid(10), between(INTEGER, "1", None), NOW)


def test_too_many_integer_keys_are_refused_and_the_size_that_is_named_suffices() -> None:
    with pytest.raises(TooManyPartitions, match=r"more than 25,000; raise `partitions: \{size: …\}` to 90000 or more"):
        integer_keys(IntegerGrid(1000), 0, 10**9)
    assert len(integer_keys(IntegerGrid(90_000), 0, 10**9)) < MOST_KEYS


def test_a_partition_holds_something() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        IntegerGrid(0)


# --- parts ----------------------------------------------------------------------------------------


def test_contiguous_keys_are_read_together_up_to_the_most_that_is_allowed() -> None:
    months = ["2024-01-01", "2024-02-01", "2024-03-01", "2024-05-01"]
    assert parts(MONTHS, months, 2) == (("2024-01-01", "2024-02-01"), ("2024-03-01",), ("2024-05-01",))
    assert parts(MONTHS, months, 12) == (("2024-01-01", "2024-02-01", "2024-03-01"), ("2024-05-01",))
    assert parts(MONTHS, [], 12) == ()


def test_numbers_around_zero_are_contiguous() -> None:
    grid = IntegerGrid(100)
    found = integer_keys(grid, -150, 150)
    assert parts(grid, found, 12) == (found,)
    assert parts(grid, (*found[:2], found[3]), 12) == (found[:2], found[3:])
