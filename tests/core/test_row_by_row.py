"""Rows that drifted are told by their keys; each row of a window is compared only where a version or a contract may answer for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Comparison
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from tests.core.test_reconcile import DAYS, found, settled, window
from tests.fakes import FakeLake, World
from tests.scenario import ORDERS, order, orders, shop

pytestmark = pytest.mark.usefixtures("few")


def compared_row_by_row(monkeypatch: pytest.MonkeyPatch) -> list[KeyParts | None]:
    """At which places each time, where that was needed."""
    asked: list[KeyParts | None] = []
    compare = FakeLake.compare

    def noted(lake: FakeLake, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None) -> Comparison:
        asked.append(places)
        return compare(lake, spec, windows, places)

    monkeypatch.setattr(FakeLake, "compare", noted)
    return asked


def test_keys_whose_rows_differ_are_told_without_a_comparison_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = compared_row_by_row(monkeypatch)
    world, spec = settled(orders()), orders()
    for number in (2, 4):
        world.database.update(ORDERS, {"id": number}, status="paid")
    world.database.delete(ORDERS, {"id": 3})
    drift = found(world, spec)
    assert (drift.rows, drift.samples, [piece.rows for piece in drift.drifted]) == (2, ("2", "4"), [1, 1])
    assert drift.windows == (
        window("2024-01-03T00:00:00Z", "2024-01-04T00:00:00Z"),
        window("2024-01-05T00:00:00Z", "2024-01-06T00:00:00Z"),
    )
    assert not asked


@pytest.mark.parametrize("few", [0], indirect=True)
def test_a_row_that_comes_late_beyond_the_ends_of_all_keys_is_found_too() -> None:
    world, spec = settled(orders()), orders()
    process = world.process()
    process.at = {"after key_ends": lambda: order(world.database, "late", "2024-01-03T13:00:00Z")}
    drift = reconcile(spec, DAYS, world.ports(process))
    assert (drift.rows, drift.samples) == (1, ("5",))


def test_of_a_table_that_is_compared_the_rows_that_differ_are_told_without_it_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = compared_row_by_row(monkeypatch)
    spec = replace(orders(), cursor=None, compares=True)
    world = settled(spec)
    world.database.delete(ORDERS, {"id": 3})
    assert "the source has changed in 1 row since" in found(world, spec).detail
    assert not asked


def test_of_an_append_every_row_of_a_drifted_window_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = compared_row_by_row(monkeypatch)
    spec = orders(Strategy.APPEND)
    world = settled(spec)
    world.database.update(ORDERS, {"id": 2}, status="paid")
    assert (found(world, spec).rows, asked) == (1, [None])


def test_of_two_rows_that_share_a_key_which_nobody_enforces_the_one_that_the_copy_lacks_is_counted() -> None:
    spec = replace(orders(), key_enforced=False)
    world = settled(spec)
    world.database.insert(ORDERS, id=2, customer="its twin", updated_at="2024-01-03T12:00:00Z")
    drift = found(world, spec)
    assert (drift.rows, drift.samples, [piece.rows for piece in drift.drifted]) == (1, ("2",), [1])


def test_a_row_that_a_contract_holds_is_missing_in_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = compared_row_by_row(monkeypatch)
    spec = replace(orders(), contract=Contract())
    world = World(shop())
    for day, customer in ((2, "Ada"), (3, "broken"), (4, "Bob")):
        order(world.database, customer, f"2024-01-{day:02d}T12:00:00Z")
    assert world.sync(spec).rows.quarantined == 1
    assert found(world, spec).rows == 0
    world.database.update(ORDERS, {"id": 3}, status="paid")
    assert (found(world, spec).rows, found(world, spec).samples) == (1, ("3",))
    assert {places.numbers if places else None for places in asked} == {frozenset({2}), frozenset({2, 3})}
