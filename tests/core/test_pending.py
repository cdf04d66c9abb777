"""Which partitions a sync touches."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.errors import TooManyPartitions
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.core.preview.pending import Pending, is_of_no_row, located, new_keys, partition_keys
from tests.fakes import FakeProbe, World
from tests.scenario import countries, order, orders, shop

CLOCK = datetime(2024, 3, 10, 12, tzinfo=UTC)
MONTHS = TimeGrid(Every.MONTH, date(2024, 1, 1))
BOUND = Bound(CLOCK, None, "", None, "", "UTC", None)


def since(lower: str | None) -> Pending:
    value = None if lower is None else CursorValue.parse(CursorType.TIMESTAMP, lower)
    return Pending(orders(), Window(value, None), DatabaseObservation(BOUND))


def numbers(lower: int | None, highest: int | None) -> Pending:
    def value(number: int | None) -> CursorValue | None:
        return None if number is None else CursorValue.of(CursorType.INTEGER, number)

    return Pending(
        orders(Strategy.APPEND, cursor="id"), Window(value(lower), None), DatabaseObservation(BOUND, value(highest))
    )


def key(lower: int, size: int = 10) -> str:
    return f"{lower:019d}-{lower + size:019d}"


def test_a_table_without_a_grid_is_current() -> None:
    assert partition_keys(None, Pending(countries(), Window(None, None), DatabaseObservation(BOUND)), CLOCK) == (
        "current",
    )


@pytest.mark.parametrize(
    ("lower", "expected"),
    [
        (None, ("2024-01-01", "2024-02-01", "2024-03-01")),
        ("2024-02-10T00:00:00Z", ("2024-02-01", "2024-03-01")),
        ("2024-03-10T11:00:00Z", ("2024-03-01",)),
        ("1999-01-01T00:00:00Z", ("2024-01-01", "2024-02-01", "2024-03-01")),
        ("2024-07-01T00:00:00Z", ("2024-03-01",)),
    ],
)
def test_time_keys_go_from_the_window_s_lower_end_to_the_open_one(lower: str | None, expected: tuple[str, ...]) -> None:
    assert partition_keys(MONTHS, since(lower), CLOCK) == expected


def test_a_table_that_is_read_from_its_beginning_is_announced_from_its_first_row_on() -> None:
    february = CursorValue.parse(CursorType.TIMESTAMP, "2024-02-10T00:00:00Z")
    assert partition_keys(MONTHS, replace(since(None), begins=february), CLOCK) == ("2024-02-01", "2024-03-01")
    held = Window(None, CursorValue.parse(CursorType.TIMESTAMP, "2024-01-10T00:00:00Z"))
    assert partition_keys(MONTHS, replace(since(None), begins=february, window=held), CLOCK) == ("2024-01-01",)
    assert partition_keys(
        IntegerGrid(10), replace(numbers(None, 39), begins=CursorValue.of(CursorType.INTEGER, 25)), CLOCK
    ) == (key(20), key(30))


def test_only_tables_that_are_read_from_their_beginning_are_asked_where_that_is() -> None:
    world = World(shop())
    order(world.database, "ada", "2024-01-05T00:00:00Z")
    tables = (
        since(None),
        since("2024-02-10T00:00:00Z"),
        Pending(countries(), Window(None, None), DatabaseObservation(BOUND)),
    )
    # One question for all of them, as they are one table here.
    first, _, whole = located(tables, FakeProbe(world.database), lambda _: None)
    assert str(first.begins) == "2024-01-05T00:00:00Z"
    assert whole.begins is None


def test_a_source_whose_clock_is_ahead_names_no_key_that_does_not_exist_yet() -> None:
    assert partition_keys(MONTHS, since(None), datetime(2024, 2, 29, 23, 59, tzinfo=UTC)) == (
        "2024-01-01",
        "2024-02-01",
    )


def test_a_grid_that_begins_in_the_future_has_no_key() -> None:
    assert partition_keys(TimeGrid(Every.MONTH, date(2030, 1, 1)), since(None), CLOCK) == ()


def test_integer_keys_go_up_to_the_highest_value() -> None:
    grid = IntegerGrid(10)
    assert partition_keys(grid, numbers(12, 35), CLOCK) == (key(10), key(20), key(30))
    assert partition_keys(grid, numbers(None, 15), CLOCK) == (key(0), key(10))
    assert partition_keys(grid, numbers(12, 35), CLOCK, known=[key(20)]) == (key(20), key(30))
    assert partition_keys(grid, numbers(None, 35), CLOCK, known=[key(20)]) == (key(20), key(30))
    # The watermark may lie above the highest value by one.
    assert partition_keys(grid, numbers(40, 39), CLOCK) == (key(30),)


def test_a_table_without_a_row_touches_the_last_key_or_the_first_that_there_will_be() -> None:
    grid, empty = IntegerGrid(10), numbers(None, None)
    starting = replace(empty, spec=replace(empty.spec, start=CursorValue.of(CursorType.INTEGER, 25)))
    assert partition_keys(grid, empty, CLOCK) == new_keys(grid, empty, [key(0)], []) == (key(0),)
    assert partition_keys(grid, starting, CLOCK) == (key(20),)
    emptied = partition_keys(grid, empty, CLOCK, known=[key(0), key(10)])
    assert (emptied, new_keys(grid, empty, emptied, [key(0), key(10)])) == ((key(10),), ())


@pytest.mark.parametrize(
    ("begins", "reached", "known", "goes"),
    [
        (700, None, [key(0)], True),
        (7, None, [key(0)], False),
        (700, 3, [key(0)], False),
        (700, None, [key(0), key(10)], False),
        (700, None, [], False),
        (None, None, [key(0)], False),
    ],
    ids=["elsewhere", "there", "one had landed", "more keys", "no key", "not known"],
)
def test_the_key_of_a_table_without_a_row_goes_when_its_rows_begin_elsewhere(
    begins: int | None, reached: int | None, known: list[str], *, goes: bool
) -> None:
    def value(number: int | None) -> CursorValue | None:
        return None if number is None else CursorValue.of(CursorType.INTEGER, number)

    found = replace(numbers(None, 705), begins=value(begins), reached=value(reached))
    assert is_of_no_row(IntegerGrid(10), found, known) == goes


def test_rows_that_a_run_read_beyond_the_keys_it_was_asked_for_are_announced_by_the_next_one() -> None:
    # Asked for when 9 was the highest; 10 to 24 came before it read, and its watermark is 25 now.
    assert partition_keys(IntegerGrid(10), numbers(25, 31), CLOCK, known=[key(0)]) == (key(10), key(20), key(30))


def test_where_numbers_begin_high_the_grid_begins_with_the_open_key() -> None:
    assert partition_keys(IntegerGrid(10), numbers(None, 10**15 + 5), CLOCK) == (key(10**15),)


def test_too_many_keys_are_refused() -> None:
    with pytest.raises(TooManyPartitions):
        partition_keys(IntegerGrid(10), numbers(0, 10**9), CLOCK)


def test_new_keys_leave_no_gap_to_those_there_are() -> None:
    grid = IntegerGrid(10)
    first, later = numbers(None, 25), replace(numbers(40, 45), reached=CursorValue.of(CursorType.INTEGER, 39))
    assert new_keys(grid, first, [key(10), key(20)], []) == (key(10), key(20))
    assert new_keys(grid, later, [key(40)], [key(0), key(10)]) == (key(20), key(30), key(40))
    assert new_keys(grid, later, [key(10)], [key(0), key(10)]) == ()
    assert new_keys(MONTHS, since(None), ["2024-01-01"], []) == ()


def test_a_table_that_was_read_before_gets_the_older_keys_of_a_new_grid_as_well() -> None:
    read = replace(numbers(40, 45), reached=CursorValue.of(CursorType.INTEGER, 39))
    assert new_keys(IntegerGrid(10), read, [key(40)], []) == (key(0), key(10), key(20), key(30), key(40))
    from_20 = replace(read, spec=replace(read.spec, start=CursorValue.of(CursorType.INTEGER, 25)))
    assert new_keys(IntegerGrid(10), from_20, [key(40)], []) == (key(20), key(30), key(40))
    high = replace(numbers(10**15, 10**15 + 5), reached=CursorValue.of(CursorType.INTEGER, 10**15))
    assert new_keys(IntegerGrid(10), high, [key(10**15)], []) == (key(10**15),)
