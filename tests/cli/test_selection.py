"""Globs over tables, whatever their names hold."""

from __future__ import annotations

import pytest

from incremental_assets.cli.globs import chosen, the_one
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.table_id import TableId

ORDERS = TableId("shop", "public", "orders")
RETURNS = TableId("shop", "public", "returns")
EVENTS = TableId("web", "log", "events")
ODD = TableId("shop", "public", 'we"ird; drop table x--.Tbl')
BRACKET = TableId("shop", "public", "[a]*")
ALL = (ORDERS, RETURNS, EVENTS, ODD, BRACKET)


@pytest.mark.parametrize(
    ("pattern", "tables"),
    [
        ("shop.public.orders", {ORDERS}),
        ("public.orders", {ORDERS}),
        ("public.[or]*", {ORDERS, RETURNS}),
        ("web.*", {EVENTS}),
        ("*.events", {EVENTS}),
        ("log.?vents", {EVENTS}),
        ('public.we"ird; drop table x--.Tbl', {ODD}),
        ('public."we""ird; drop table x--.Tbl"', {ODD}),
        ("public.[a]*", {BRACKET}),
        ("*", set(ALL)),
    ],
)
def test_a_glob_stands_for_tables(pattern: str, tables: set[TableId]) -> None:
    assert chosen([pattern], ALL) == tables


def test_patterns_add_up_and_none_is_everything() -> None:
    assert chosen(["*.orders", "web.*"], ALL) == {ORDERS, EVENTS}
    assert chosen([], ALL) == set(ALL)


@pytest.mark.parametrize("pattern", ["orders", "public.Orders", "shop.orders", ""])
def test_a_pattern_without_a_match_is_named(pattern: str) -> None:
    with pytest.raises(SelectionError, match=f"--select {pattern!r} matches no table"):
        chosen(["*", pattern], ALL)


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("public.order", "did you mean shop.public.orders?"),
        ("shop.public.ordesr", "did you mean shop.public.orders?"),
        ("orders", "did you mean shop.public.orders?"),
        ("shop.orders", "did you mean shop.public.orders?"),
        ("PUBLIC.ORDERS", "did you mean shop.public.orders?"),
        ("web.public.events", "did you mean web.log.events?"),
        ("shop.public.zebra", "the tables are: "),
        ("shop.public.customers_of_old", "the tables are: "),
        ("log.nothing", "the tables are: "),
        ("shop", "the tables are: "),
    ],
)
def test_a_hint_names_a_table_whose_own_name_is_alike(pattern: str, hint: str) -> None:
    with pytest.raises(SelectionError) as caught:
        chosen([pattern], ALL)
    assert f"matches no table; {hint}" in str(caught.value)


def test_one_table_is_one_table() -> None:
    assert the_one(["public.orders"], ALL) == ORDERS
    for patterns in ([], ["public.*"]):
        with pytest.raises(SelectionError, match="name one table"):
            the_one(patterns, ALL)
