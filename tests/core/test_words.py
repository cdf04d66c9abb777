"""Sentences that were wrong of the case they met."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.config.shorthand import parse
from incremental_assets.core.words import age, counted, with_article
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
    empty = "there is no row in the source and none in the lake"
    assert reconcile(countries(), None, world.ports()).detail == empty
    assert reconcile(orders(), None, world.ports()).detail.startswith(f"{empty} in […, 2024-01-29T")


def test_a_check_below_all_rows_says_up_to_where_it_looked() -> None:
    spec = replace(orders(), lookback=timedelta(minutes=15))
    world = opened()
    world.sync(spec)
    said = reconcile(spec, None, world.ports()).detail
    assert said.startswith("there is no row in the source and none in the lake in […, 20")
    assert said.endswith("), which is all that was compared")


def test_every_mistake_of_a_shorthand_is_named_at_once() -> None:
    with pytest.raises(ValueError, match="the type is one of") as met:
        parse("public.orders:updated_at:timestmp:x!upsrt")
    assert all(f"the {part} is one of" in str(met.value) for part in ("type", "direction", "strategy"))
    with pytest.raises(ValueError, match=r"is not a date.*did you mean `upsert`"):
        parse("public.orders:updated_at:date@soon!upsrt")
