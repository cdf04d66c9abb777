"""`column_names` from a real database to the lake: a copy that has landed is renamed and goes on, with what waits and what was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.copies import log_of
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = '\n- {table: public."OrderLines", cursor: {column: Changed At, type: timestamp}, strategy: upsert, history: scd2, contract: {qty: {ge: 0}}}\n'
KEPT, SNAKE = ("unlisted: ignore\ncolumn_names: " + names for names in ("keep", "snake_case"))


@pytest.mark.acceptance
def test_a_copy_is_renamed_there_and_back_and_every_row_goes_on(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    desk = Stand(Shop.open(postgres, database, tmp_path, TABLE.replace("qty", "Qty"), options=KEPT), spark)
    desk.execute(
        'CREATE TABLE "OrderLines" ("Line No." int PRIMARY KEY, "Ship To" text, "Qty" int, "Changed At" timestamptz NOT NULL DEFAULT clock_timestamp())',
        "INSERT INTO \"OrderLines\" VALUES (1, 'a', 1), (2, 'b', -1), (3, 'c', 3)",
    )
    desk.land()
    before = log_of(desk, "OrderLines").layout()
    desk.shop.configure(TABLE, SNAKE)
    (report,) = desk.sync().values()

    assert report.rows.read == 0
    assert {str(each).partition(":")[0] for each in report.schema_changes} == {
        "line_no",
        "ship_to",
        "qty",
        "changed_at",
    }
    assert log_of(desk, "OrderLines").layout() == before
    desk.execute('UPDATE "OrderLines" SET "Ship To" = \'d\', "Changed At" = clock_timestamp() WHERE "Line No." = 3')
    desk.land()
    shown = [tuple(row) for row in desk.copy("OrderLines", "line_no", "ship_to", "qty")]
    assert sorted(shown) == [(1, "a", 1), (3, "d", 3)]
    versions = [tuple(row) for row in desk.copy("OrderLines__history", "line_no", "ship_to", "_is_current")]
    assert sorted(versions) == [(1, "a", True), (3, "c", False), (3, "d", True)]
    with desk.runtime() as runtime:
        held = runtime.ports("shop").quarantine.held(desk.spec("OrderLines"))
    assert held is not None
    assert held.rows == 1
    assert all(each.passed for each in desk.verdicts("OrderLines") if each.check.value != "contract")

    desk.shop.configure(TABLE.replace("qty", "Qty"), KEPT)
    desk.sync()
    desk.execute('UPDATE "OrderLines" SET "Qty" = 2, "Changed At" = clock_timestamp() WHERE "Line No." = 2')
    desk.land()
    desk.assert_equal("OrderLines")
