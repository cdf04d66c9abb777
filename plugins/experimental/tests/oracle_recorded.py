"""What the tests of Oracle have in common: an address, recorded answers, and errors as the driver raises them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import oracledb
from oracledb.errors import _Error

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.model.table_id import TableId

ADDRESS = Address("oracle", "127.0.0.1", 1521, "shop", "reader", "hunter2", schemas=("SHOP",))
ORDERS = TableId("shop", "SHOP", "ORDERS")
NOW = "2024-05-01T10:00:00.000000"
TEN = datetime(2024, 5, 1, 10, tzinfo=UTC)
IDENTITY = (4001, 4002, 17, 5_000_000)


def refusal(number: int, text: str = "table or view does not exist") -> oracledb.DatabaseError:
    """As the driver raises it."""
    return oracledb.DatabaseError(_Error(message=f"ORA-{number:05}: {text}", code=number))


def refused(number: int) -> Any:
    def answer(sql: str) -> list[Any]:
        raise refusal(number)

    return answer
