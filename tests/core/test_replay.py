"""Which windows a replay reads again."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from incremental_assets.core.errors import SelectionError
from incremental_assets.core.maintenance.replay import replay_table, requests, windows_of
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.quarantine import NOTHING_HELD, Resolution
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.ports import Ports
from incremental_assets.core.strategies import Strategy
from tests.adapters.batches import table


def number(value: int) -> CursorValue:
    return CursorValue.of(CursorType.INTEGER, value)


def moment(text: str) -> CursorValue:
    return CursorValue.parse(CursorType.TIMESTAMP, text)


def test_each_value_is_a_window_of_its_own_as_long_as_they_are_few() -> None:
    assert windows_of([number(7), number(5), number(7)]) == (Window(number(5), number(6)), Window(number(7), number(8)))
    assert windows_of([]) == ()


def test_of_many_values_those_that_are_near_are_read_together() -> None:
    values = [number(value) for value in (1, 2, 100, 101, 900)]
    assert windows_of(values, most=3) == (
        Window(number(1), number(3)),
        Window(number(100), number(102)),
        Window(number(900), number(901)),
    )
    assert windows_of(values, most=1) == (Window(number(1), number(901)),)


def test_a_moment_ends_at_the_next_microsecond_and_a_day_at_the_next() -> None:
    at = moment("2026-01-01T00:00:00Z")
    assert windows_of([at]) == (Window(at, moment("2026-01-01T00:00:00.000001Z")),)
    day = CursorValue.parse(CursorType.DATE, "2026-01-31")
    assert windows_of([day]) == (Window(day, CursorValue.parse(CursorType.DATE, "2026-02-01")),)
    infinite = CursorValue.parse(CursorType.TIMESTAMP, "infinity")
    assert windows_of([infinite, at]) == (
        Window(at, moment("2026-01-01T00:00:00.000001Z")),
        Window(infinite, None),
    )


def test_a_table_without_a_cursor_is_read_whole() -> None:
    spec = replace(table("id bigint, at bigint"), strategy=Strategy.FULL_REFRESH, cursor=None)
    (request,) = requests(spec, "run", ())
    assert (request.mode, request.window, request.resolves) == (Mode.REPLAY, None, Resolution.REPLAYED)


def test_a_table_that_is_compared_is_compared_again_so_that_the_copy_keeps_what_passed() -> None:
    spec = replace(table("id bigint, at bigint"), strategy=Strategy.UPSERT, cursor=None, compares=True)
    (request,) = requests(spec, "run", ())
    assert (request.mode, request.window, request.resolves) == (Mode.REPLAY, None, Resolution.REPLAYED)


def test_without_a_contract_there_is_nothing_to_replay() -> None:
    ports = cast("Ports", SimpleNamespace(quarantine=SimpleNamespace(held=lambda _: NOTHING_HELD)))
    with pytest.raises(SelectionError, match="there is nothing to replay, as the table has no `contract`"):
        list(replay_table(table("id bigint, at bigint"), "run", ports))
