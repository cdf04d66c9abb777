"""Which partitions are to be shown of what has landed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from incremental_assets.core.captures.database.position import DatabasePosition
from incremental_assets.core.checks.shown import Extent, landed_keys
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.number_keys import IntegerGrid, laid
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import Window
from tests.scenario import orders

MONTHS = TimeGrid(Every.MONTH, date(2023, 10, 1))
ORDERS = orders()
NOW = datetime(2024, 3, 1, tzinfo=UTC)
NUMBERED = replace(ORDERS, cursor=Cursor("id", CursorType.INTEGER))


def day(text: str) -> CursorValue:
    return CursorValue.parse(CursorType.TIMESTAMP, f"{text}T00:00:00Z")


def number(value: int) -> CursorValue:
    return CursorValue.of(CursorType.INTEGER, value)


def landed(
    read: CursorValue | None, *covered: Window, watermark: CursorValue | None, spec: TableSpec = ORDERS
) -> State:
    return State("app", 3, "batch", spec.terms, position=DatabasePosition(watermark, read, coverage=covered))


def test_from_the_first_row_to_the_last_one_with_the_partition_that_is_still_open() -> None:
    state = landed(day("2024-02-09"), Window(None, day("2024-02-10")), watermark=day("2024-02-10"))
    assert landed_keys(ORDERS, MONTHS, state, Extent(NOW, day("2023-12-24"))) == (
        "2023-12-01",
        "2024-01-01",
        "2024-02-01",
    )


def test_a_partition_with_a_gap_is_not_shown() -> None:
    gap = (Window(None, day("2023-12-15")), Window(day("2024-01-10"), day("2024-02-10")))
    state = landed(day("2024-02-09"), *gap, watermark=day("2024-02-10"))
    assert landed_keys(ORDERS, MONTHS, state, Extent(NOW, day("2023-11-24"))) == ("2023-11-01", "2024-02-01")


def test_nothing_is_shown_of_a_table_in_which_there_is_no_row_or_none_has_landed() -> None:
    state = landed(None, Window(None, day("2024-02-10")), watermark=day("2024-02-10"))
    assert landed_keys(ORDERS, MONTHS, state, Extent(NOW, day("2023-12-24"))) == ()
    state = landed(day("2024-02-09"), Window(None, day("2024-02-10")), watermark=day("2024-02-10"))
    assert landed_keys(ORDERS, MONTHS, state, Extent(NOW)) == ()
    assert landed_keys(ORDERS, None, state, Extent(NOW)) == ("current",)


def test_rows_of_the_future_are_shown_by_the_partition_that_was_open_when_they_landed() -> None:
    last = day("2999-01-01")
    state = replace(landed(last, Window(None, last), watermark=last), clock=datetime(2024, 1, 20, tzinfo=UTC))
    assert landed_keys(ORDERS, MONTHS, state, Extent(NOW, day("2023-12-24"))) == ("2023-12-01", "2024-01-01")
    assert landed_keys(ORDERS, MONTHS, state, Extent(NOW, day("2998-12-24"))) == ("2024-01-01",)


def test_a_backfill_before_the_first_sync_shows_its_own_partitions_alone() -> None:
    covered = Window(day("2023-12-01"), day("2024-01-01"))
    state = landed(day("2023-12-31"), covered, watermark=None)
    assert landed_keys(ORDERS, MONTHS, state, Extent(NOW, day("2023-11-24"))) == ("2023-12-01",)


def test_numbers_are_shown_in_the_keys_that_there_are_or_from_the_first_one_on() -> None:
    state = landed(number(25), Window(None, number(26)), watermark=number(26), spec=NUMBERED)
    grid = IntegerGrid(10)
    keys = landed_keys(NUMBERED, grid, state, Extent(NOW, number(3)))
    assert [each[:19].lstrip("0") for each in keys] == ["", "10", "20"]
    assert landed_keys(NUMBERED, grid, state, Extent(NOW, number(3), keys[1:])) == keys[1:]
    opened = laid(grid, 10, 19)
    assert landed_keys(NUMBERED, grid, state, Extent(NOW, number(3), opened)) == opened
    far = landed(number(10**18), Window(None, number(10**18)), watermark=number(10**18), spec=NUMBERED)
    assert landed_keys(NUMBERED, grid, far, Extent(NOW, number(3))) == ()
