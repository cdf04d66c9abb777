"""Rows that cannot land are counted until they have landed in another version."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from incremental_assets.core.model.quarantine import NONE_UNFIT
from incremental_assets.core.model.table import Strategy, TableSpec
from tests.adapters.batches import EVENTS, ORDERS, Desk, table


def unfit(desk: Desk, spec: TableSpec) -> int:
    found = desk.lake.unfit(spec)
    assert found is not None
    return found.rows


def test_where_every_row_landed_there_is_none(desk: Desk) -> None:
    assert desk.lake.unfit(ORDERS) == NONE_UNFIT
    desk.land(ORDERS, [(1, "a", 10)])
    assert desk.lake.unfit(ORDERS) == NONE_UNFIT


def test_a_row_that_cannot_land_counts_until_it_lands_in_another_version(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "bad", 11)], bad=["bad"])
    assert unfit(desk, ORDERS) == 1
    desk.land(ORDERS, [(3, "c", 12)])
    assert unfit(desk, ORDERS) == 1, "a sync that did not read it has not mended it"
    found = desk.lake.unfit(ORDERS)
    assert found is not None
    assert found.oldest is not None
    assert found.sentence.startswith("1 row of the source cannot land and is in quarantine since ")
    desk.land(ORDERS, [(2, "good", 13)])
    assert unfit(desk, ORDERS) == 0


def test_a_row_that_is_read_again_and_still_cannot_land_counts_once(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "bad", 10)], bad=["bad"])
    desk.land(ORDERS, [(1, "worse", 11)], bad=["worse"])
    assert unfit(desk, ORDERS) == 1


def test_a_landed_row_that_changes_to_what_cannot_land_counts(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 11)])
    desk.land(ORDERS, [(1, "bad", 12)], bad=["bad"])
    assert unfit(desk, ORDERS) == 1


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("string", "a", "b"),
        ("decimal(10,2)", Decimal("1.50"), Decimal("2.50")),
        ("date", date(2024, 1, 1), date(2024, 1, 2)),
    ],
)
def test_keys_of_other_types_are_found_in_the_copy_too(desk: Desk, kind: str, one: object, other: object) -> None:
    spec = table(f"id {kind}, note string, at bigint")
    desk.land(spec, [(one, "bad", 10), (other, "bad", 11)], bad=["bad"])
    assert unfit(desk, spec) == 2
    desk.land(spec, [(one, "good", 12)])
    assert unfit(desk, spec) == 1


def test_of_an_append_every_version_that_could_not_land_counts(desk: Desk) -> None:
    spec = replace(EVENTS, strategy=Strategy.APPEND)
    desk.land(spec, [(1, "bad", 10)], bad=["bad"])
    desk.land(spec, [(1, "good", 11)])
    assert unfit(desk, spec) == 1
