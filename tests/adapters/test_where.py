"""A table of which some rows are copied, from a real database to the lake: what is read, deleted, checked and refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.model.verdict import Check
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_CURSOR = """
- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, where: tenant_id = 7}
- {table: public.kept, cursor: {column: at, type: timestamp}, strategy: upsert, where: tenant_id = 7, deletes: {mode: diff, every: 0s, max_fraction: 1}}
"""
WHOLE = """
- {table: public.orders, strategy: full_refresh, refresh_every: 0s, where: tenant_id = 7}
- {table: public.kept, strategy: upsert, compare: {every: 0s}, where: tenant_id = 7, deletes: {mode: diff, max_fraction: 1}}
"""
NAMES = ("orders", "kept")


@pytest.fixture
def desk(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Stand:
    """Two tables, each with two rows of ours and one of others."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    stand = Stand(Shop.open(postgres, database, tmp_path, BY_CURSOR, options="unlisted: ignore"), spark)
    for name in NAMES:
        stand.execute(
            f"CREATE TABLE {name} (id int PRIMARY KEY, tenant_id int, at timestamptz NOT NULL DEFAULT clock_timestamp())",
            f"INSERT INTO {name} VALUES (1, 7), (2, 8), (3, 7)",
        )
    return stand


def copies(desk: Stand) -> list[list[int]]:
    return [[int(row[0]) for row in desk.copy(name, "id")] for name in NAMES]


def change_tenants(desk: Stand) -> None:
    """One row leaves, one comes, and another one is none of ours."""
    for name in NAMES:
        desk.execute(
            f"UPDATE {name} SET tenant_id = 8, at = clock_timestamp() WHERE id = 1",
            f"UPDATE {name} SET tenant_id = 7, at = clock_timestamp() WHERE id = 2",
            f"INSERT INTO {name} VALUES (4, 8)",
        )


def test_a_row_that_leaves_the_condition_stays_under_a_cursor_unless_deletes_are_followed_and_a_check_says_so(
    desk: Stand,
) -> None:
    desk.land()
    assert copies(desk) == [[1, 3], [1, 3]]

    change_tenants(desk)
    reports = desk.land()

    assert copies(desk) == [[1, 2, 3], [2, 3]]
    assert reports["kept"].rows.deleted == 1
    assert desk.check("kept") == 0
    desk.settled("orders")
    # As a row that was deleted, where deletes are not followed: no drift, and told.
    (told,) = (each for each in desk.verdicts("orders") if each.check is Check.RECONCILIATION)
    assert (told.passed, "1 row is only in the lake" in told.detail) == (True, True), told
    assert "left out by `where` since" in told.detail


@pytest.mark.acceptance
def test_what_is_read_whole_or_compared_follows_the_condition_and_another_one_is_read_by_a_full_refresh_alone(
    desk: Stand,
) -> None:
    desk.shop.configure(WHOLE, "unlisted: ignore")
    desk.land()
    assert copies(desk) == [[1, 3], [1, 3]]
    change_tenants(desk)
    desk.land()
    assert copies(desk) == [[2, 3], [2, 3]]
    assert [desk.check(name) for name in NAMES] == [0, 0]

    desk.shop.configure(WHOLE.replace("tenant_id = 7", "tenant_id = 8"), "unlisted: ignore")
    stopped = desk.sync()
    assert {report.status for report in stopped.values()} == {Status.FAILED}
    assert "(where tenant_id = 7 -> tenant_id = 8)" in str(stopped["orders"].error)
    desk.land(mode=Mode.FULL_REFRESH)
    assert copies(desk) == [[1, 4], [1, 4]]
    assert [desk.check(name) for name in NAMES] == [0, 0]
