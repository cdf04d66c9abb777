"""Sentences that were wrong of the case they met."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.verdict import reconciliation
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.config.shorthand import parse
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.verdict import Severity
from incremental_assets.core.model.window import Window
from incremental_assets.core.words import age, counted, listed, with_article
from tests.core.stories import opened
from tests.fakes import World
from tests.scenario import countries, orders, shop


def test_one_is_not_many_and_a_vowel_takes_an() -> None:
    assert [counted(number, "row") for number in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]
    assert [with_article(noun) for noun in ("integer", "date")] == ["an integer", "a date"]


def test_an_age_has_its_two_largest_units() -> None:
    assert [age(seconds) for seconds in (-1, 0.4, 59.6, 3_600, 5_430, 273_601)] == [
        "0s",
        "0s",
        "1m",
        "1h",
        "1h 30m",
        "3d 4h",
    ]


def test_an_empty_table_is_not_called_equal_window_by_window() -> None:
    world = World(shop())
    world.sync(orders())
    world.pass_time(3600)
    world.sync(orders())
    world.sync(countries())
    empty = "neither the source nor the lake has a row to compare"
    assert reconcile(countries(), None, world.ports()).detail == empty
    assert reconcile(orders(), None, world.ports()).detail == empty


def test_a_check_below_all_rows_says_that_nothing_is_settled_yet() -> None:
    spec = replace(orders(), lookback=timedelta(minutes=15))
    world = opened()
    world.sync(spec)
    drift = reconcile(spec, None, world.ports())
    assert drift.detail == (
        f"nothing is settled yet to compare: the source and the lake have no row in {drift.looked_at[0]}; "
        "later rows are compared once they have settled"
    )
    verdict = reconciliation(spec, TableConfig("public", "orders", Strategy.UPSERT), drift)
    assert (verdict.passed, verdict.was_checked, verdict.severity) == (False, False, Severity.WARN)
    assert len(world.rows(spec.id)) > 0


def test_a_check_of_some_windows_that_are_empty_says_which() -> None:
    world = opened()
    world.sync(orders())
    state = world.ports().checkpoints.position(orders().id).state
    assert state is not None
    early = Window(None, CursorValue.parse(state.position.watermark.type, "2001-01-01T00:00:00Z"))
    said = reconcile(orders(), None, world.ports(), [early]).detail
    assert said.startswith("neither the source nor the lake has a row to compare in […, 2001-01-01")
    assert said.endswith("), which is all that was compared")


def test_every_mistake_of_a_shorthand_is_named_at_once() -> None:
    with pytest.raises(ValueError, match="the type is one of") as met:
        parse("public.orders:updated_at:timestmp:x!upsrt")
    assert all(f"the {part} is one of" in str(met.value) for part in ("type", "direction", "strategy"))
    with pytest.raises(ValueError, match=r"is not a date.*did you mean `upsert`"):
        parse("public.orders:updated_at:date@soon!upsrt")


def test_the_first_names_stand_for_many_and_one_more_is_named_instead_of_counted() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c", "d"]) == "a, b, c, d"
    assert listed([str(number) for number in range(1_203)]) == "0, 1, 2 and 1,200 others"
