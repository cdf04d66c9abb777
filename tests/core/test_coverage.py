"""What was announced, against what has really been covered."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from incremental_assets.core.captures.database.position import DatabasePosition
from incremental_assets.core.checks.coverage import coverage_of
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from tests.scenario import orders

MONTHS = TimeGrid(Every.MONTH, date(2023, 10, 1))
ORDERS = orders()


def day(text: str) -> CursorValue:
    return CursorValue.parse(CursorType.TIMESTAMP, f"{text}T00:00:00Z")


def between(lower: str | None, upper: str) -> Window:
    return Window(None if lower is None else day(lower), day(upper))


def landed(*covered: Window, watermark: str | None = "2024-02-10", read: str = "2024-02-09") -> State:
    mark = None if watermark is None else day(watermark)
    return State("app", 3, "batch", ORDERS.terms, position=DatabasePosition(mark, day(read), coverage=covered))


def test_partitions_that_were_announced_have_been_covered_as_far_as_the_watermark_stands() -> None:
    found = coverage_of(ORDERS, MONTHS, landed(between(None, "2024-02-10")), ["2024-02-01", "2024-01-01"])
    assert found.agrees
    assert found.announced == ("2024-01-01", "2024-02-01")
    assert (found.gaps, found.not_covered, found.not_announced) == ((), (), ())


def test_a_gap_below_the_watermark_is_named_with_the_partitions_that_it_lies_in() -> None:
    state = landed(between(None, "2023-12-15"), between("2024-01-10", "2024-02-10"))
    found = coverage_of(ORDERS, MONTHS, state, ["2023-11-01", "2023-12-01", "2024-01-01", "2024-02-01"])
    assert not found.agrees
    assert found.gaps == (between("2023-12-15", "2024-01-10"),)
    assert found.not_covered == ("2023-12-01", "2024-01-01")


def test_a_partition_that_landed_and_that_nobody_was_told_of_is_no_disagreement_but_named() -> None:
    found = coverage_of(ORDERS, MONTHS, landed(between(None, "2024-02-10")), ["2023-11-01", "2024-02-01"])
    assert found.agrees
    assert found.not_announced == ("2023-12-01", "2024-01-01")


def test_what_passed_while_the_table_stood_still_is_announced_by_its_next_sync() -> None:
    state = landed(between(None, "2024-05-20"), watermark="2024-05-20", read="2024-02-09")
    assert coverage_of(ORDERS, MONTHS, state, ["2024-01-01", "2024-02-01"]).not_announced == ()


def test_nothing_below_start_was_ever_asked_for() -> None:
    spec = replace(ORDERS, start=day("2024-01-15"))
    assert coverage_of(spec, MONTHS, landed(between("2024-01-15", "2024-02-10")), []).gaps == ()
    assert coverage_of(spec, MONTHS, landed(between("2024-01-20", "2024-02-10")), []).gaps == (
        between("2024-01-15", "2024-01-20"),
    )


def test_a_backfill_before_the_first_sync_is_judged_by_nothing_yet() -> None:
    state = landed(between("2024-01-01", "2024-02-01"), watermark=None)
    found = coverage_of(ORDERS, MONTHS, state, ["2024-01-01"])
    assert found.agrees
    assert found.covered == (between("2024-01-01", "2024-02-01"),)
    assert coverage_of(ORDERS, MONTHS, None, []).agrees


def test_keys_of_a_grid_that_was_changed_say_nothing() -> None:
    found = coverage_of(ORDERS, MONTHS, landed(between(None, "2024-02-10")), ["2024-01-05", "2021-01-01", "2024-02-01"])
    assert found.announced == ("2024-02-01",)


def test_ranges_of_numbers_are_covered_as_far_as_they_have_settled() -> None:
    spec = orders(Strategy.APPEND, cursor="id")
    numbers = [CursorValue.of(CursorType.INTEGER, number) for number in (120, 250, 249)]
    state = State(
        "app",
        3,
        "batch",
        spec.terms,
        position=DatabasePosition(numbers[1], numbers[2], coverage=(Window(numbers[0], numbers[1]),)),
    )
    keys = [f"{lower:019d}-{lower + 100:019d}" for lower in (0, 100, 200)]
    found = coverage_of(spec, IntegerGrid(100), state, keys)
    assert [str(gap) for gap in found.gaps] == ["[…, 120)"]
    assert found.not_covered == (keys[0], keys[1])
