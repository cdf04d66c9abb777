"""The values of a column that came later, on a real database and lake: beside a history, by the transaction of a row, beside what quarantine holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.adapters.twenty_orders import BY_TIME, Open

if TYPE_CHECKING:
    pass

BY_XMIN = "{table: public.orders, cursor: {type: xmin}, strategy: upsert}"


@pytest.mark.acceptance
def test_a_history_shows_the_versions_with_their_new_column(opened: Open) -> None:
    desk = opened(BY_TIME.replace("upsert", "upsert, history: scd2"))
    desk.execute("ALTER TABLE orders ADD COLUMN colour text DEFAULT 'red'")
    report = desk.land()["orders"]
    assert report.warnings[-1].endswith("; none are left")
    desk.assert_equal("orders", "SELECT id, note, rate, at, colour FROM orders")
    with desk.runtime() as runtime:
        spec, historian = desk.spec("orders"), runtime.ports("shop").historian
        assert historian.behind(spec) is None
        assert historian.differing_versions(spec) == historian.overlapping_versions(spec) == FaultyKeys(0)
    versions = desk.copy("orders__history", "id", "colour", "_is_current")
    assert [row for row in versions if row[0] == 5] == [(5, "red", True), (5, None, False)]


@pytest.mark.acceptance
def test_rows_that_are_told_by_their_transactions_are_filled(opened: Open) -> None:
    desk = opened(BY_XMIN)
    desk.execute(
        "ALTER TABLE orders ADD COLUMN colour text DEFAULT 'red'", "UPDATE orders SET note = 'more' WHERE id > 10"
    )
    report = desk.land()["orders"]
    assert report.warnings[-1].endswith("read for 10 rows and written to 10; none are left")
    assert desk.copy("orders", "id", "note", "colour") == desk.source("SELECT id, note, colour FROM orders")
    assert (desk.check("orders"), desk.sync()["orders"].status) == (0, Status.IDLE)


@pytest.mark.acceptance
def test_rows_without_a_value_in_the_new_column_stay_as_they_are(opened: Open) -> None:
    desk = opened(BY_TIME)
    desk.execute("ALTER TABLE orders ADD COLUMN colour text", "UPDATE orders SET colour = 'red' WHERE id = 5")
    report = desk.land()["orders"]
    assert report.warnings[-1].endswith("read for 18 rows and written to 1; none are left")
    desk.assert_equal("orders", "SELECT id, note, rate, at, colour FROM orders")


@pytest.mark.acceptance
def test_a_row_that_is_held_is_settled_by_no_fill(opened: Open) -> None:
    desk = opened(f"{BY_TIME[:-1]}, contract: {{note: {{isin: [old, new]}}}}}}")
    desk.execute("UPDATE orders SET note = 'bad', at = '2024-01-07Z' WHERE id = 5")
    desk.land(mode=Mode.FULL_REFRESH)
    assert [(row["id"], row["_sync_resolution"]) for row in desk.quarantined("orders")] == [("5", None)]
    desk.shop.config.write_text(desk.shop.config.read_text().replace(", contract: {note: {isin: [old, new]}}", ""))
    desk.execute("ALTER TABLE orders ADD COLUMN colour text DEFAULT 'red'")
    report = desk.land()["orders"]
    assert report.warnings[-1].endswith("; none are left")
    assert [(row["id"], row["_sync_resolution"]) for row in desk.quarantined("orders")] == [("5", None)]
    assert 5 not in {row[0] for row in desk.copy("orders", "id")}
