"""Rows that wait in quarantine while the columns of their key exchange their names: they are those that they were, and are resolved as such."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from incremental_assets.adapters.delta import lake
from incremental_assets.adapters.delta.quarantine.names import rename_quarantine
from incremental_assets.core.errors import Refused
from incremental_assets.core.planning.plan import Mode
from tests.adapters.twenty_orders import BY_TIME, Open
from tests.conformance.stand import Stand

SHOWN = "SELECT twin, note, rate, at, id FROM orders"
"""As the columns have lain since the first load."""


@pytest.fixture
def desk(opened: Open) -> Stand:
    """The rows 5 and 6 have a key of two numbers that are each other's, and wait: what they say breaks the contract."""
    desk = opened(f"{BY_TIME[:-1]}, contract: {{note: {{isin: [old, new]}}}}}}")
    desk.execute(
        "ALTER TABLE orders DROP CONSTRAINT orders_pkey",
        "ALTER TABLE orders ADD COLUMN twin int NOT NULL DEFAULT 0",
        "UPDATE orders SET twin = 11 - id",
        "ALTER TABLE orders ADD PRIMARY KEY (id, twin)",
    )
    desk.land(mode=Mode.FULL_REFRESH)
    desk.execute("UPDATE orders SET note = 'odd', at = clock_timestamp() WHERE id IN (5, 6)")
    desk.land()
    assert held(desk) == 2
    return desk


def held(desk: Stand) -> int:
    with desk.runtime() as runtime:
        found = runtime.ports("shop").quarantine.held(desk.spec("orders"))
    assert found is not None
    return found.rows


def exchange(desk: Stand) -> None:
    """In one transaction; `twin` of the row that was (5, 6) is 5 now."""
    for before, after in (("id", "x"), ("twin", "id"), ("x", "twin")):
        desk.execute(f"ALTER TABLE orders RENAME COLUMN {before} TO {after}")


def assert_resolved_one_by_one(desk: Stand) -> None:
    assert held(desk) == 2
    desk.execute("UPDATE orders SET note = 'new', at = clock_timestamp() WHERE twin = 5")
    desk.land()
    assert held(desk) == 1, "that of the row which is good now"
    desk.execute("UPDATE orders SET note = 'new', at = clock_timestamp() WHERE twin = 6")
    desk.land()
    assert held(desk) == 0
    desk.assert_equal("orders", SHOWN)
    assert desk.check("orders") == 0


def test_a_row_that_waits_is_found_by_its_key_though_the_names_of_its_columns_were_exchanged(desk: Stand) -> None:
    exchange(desk)
    desk.land()
    assert_resolved_one_by_one(desk)


@pytest.mark.acceptance
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "behind"])
def test_a_run_that_dies_behind_the_names_of_the_copy_is_followed_by_one_that_exchanges_those_that_wait_once(
    desk: Stand, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    def died(*of: Any) -> NoReturn:
        if is_done:
            rename_quarantine(*of)
        raise Refused("it died here")

    exchange(desk)
    with monkeypatch.context() as dying:
        dying.setattr(lake, "rename_quarantine", died)
        assert "died here" in str(desk.sync()["orders"].error)
    desk.land()
    desk.land()
    assert_resolved_one_by_one(desk)


@pytest.mark.acceptance
def test_names_that_are_exchanged_back_are_exchanged_back_in_quarantine(desk: Stand) -> None:
    exchange(desk)
    desk.land()
    exchange(desk)
    desk.land()
    exchange(desk)
    desk.land()
    assert_resolved_one_by_one(desk)
