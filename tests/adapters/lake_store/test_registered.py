"""A lake in a store whose copies are known to AWS Glue: what a sync lands is there by its name, and follows the copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import botocore.session
import pytest

from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.adapters.lake_store.conftest import OpenStand
from tests.adapters.lake_store.shop_in_store import StoreStand
from tests.shop import MAKE_THREE

if TYPE_CHECKING:
    pass

TABLES = """
- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, history: scd2}
- {table: public.prices, strategy: full_refresh, refresh_every: 1s, register: never}
"""


@pytest.fixture
def glue(object_server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    given = {"AWS_ENDPOINT_URL_GLUE": f"http://{object_server}", "AWS_EC2_METADATA_DISABLED": "true"}
    for name, value in (given | {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "s3cret"}).items():
        monkeypatch.setenv(name, value)
    client = botocore.session.get_session().create_client("glue", region_name="eu-central-1")
    client.create_database(DatabaseInput={"Name": "lake"})
    yield client
    client.delete_database(Name="lake")


@pytest.fixture
def stand(open_stand: OpenStand) -> StoreStand:
    stand = open_stand(TABLES, "register: {glue: {database: lake, region: eu-central-1}}")
    stand.execute(*MAKE_THREE, "COMMENT ON COLUMN orders.note IS 'What was said'")
    return stand


def known(glue: Any) -> dict[str, dict[str, Any]]:
    return {each["Name"]: each["StorageDescriptor"] for each in glue.get_tables(DatabaseName="lake")["TableList"]}


def columns(described: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(each["Name"], each["Type"], each.get("Comment")) for each in described["Columns"]]


@pytest.mark.acceptance
def test_copies_and_histories_are_known_where_they_lie_and_columns_that_come_are_too(
    stand: StoreStand, glue: Any
) -> None:
    told = stand.land()
    assert [each.warnings for each in told.values()] == [()] * 3
    # The events are not listed, and known as their source says.
    assert {name: each["Location"] for name, each in known(glue).items()} == {
        "public_events": f"{stand.shop.root}/lake/shop/public/events",
        "public_orders": f"{stand.shop.root}/lake/shop/public/orders",
        "public_orders__history": f"{stand.shop.root}/lake/shop/public/orders__history",
    }
    assert columns(known(glue)["public_orders"])[:3] == [
        ("id", "int", None),
        ("note", "string", "What was said"),
        ("updated_at", "timestamp", None),
    ]
    stand.execute("ALTER TABLE orders ADD COLUMN qty numeric(9, 2)", "UPDATE orders SET qty = 1 WHERE id = 1")
    stand.land("orders")
    for name in ("public_orders", "public_orders__history"):
        assert ("qty", "decimal(9,2)", None) in columns(known(glue)[name])
    assert stand.sync("orders")["orders"].status is Status.IDLE


@pytest.mark.acceptance
def test_a_sync_lands_beside_a_table_of_somebody_else_and_is_known_once_that_is_gone(
    stand: StoreStand, glue: Any
) -> None:
    theirs = {"Name": "public_orders", "StorageDescriptor": {"Location": "s3://theirs/orders"}}
    glue.create_table(DatabaseName="lake", TableInput=theirs)
    told = stand.land("orders", mode=Mode.SYNC)["orders"]
    assert "there is a table of this name that this program has not made" in told.warnings[0]
    stand.assert_equal("orders")
    assert known(glue)["public_orders"]["Location"] == "s3://theirs/orders"
    glue.delete_table(DatabaseName="lake", Name="public_orders")
    again = stand.sync("orders")["orders"]
    assert (again.status, again.warnings) == (Status.IDLE, ())
    assert known(glue)["public_orders"]["Location"] == f"{stand.shop.root}/lake/shop/public/orders"
