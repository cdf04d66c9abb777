"""T47: history, deletes and a contract at one table, whose writers commit late: what each of them holds, the others hold beside it."""

from __future__ import annotations

from typing import Any

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.model.history import FaultyKeys
from tests.conformance.conftest import OpenStand
from tests.conformance.killing import killed
from tests.conformance.points import Beside, Held, Place, Point
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

ORDERS = """
CREATE TABLE orders (id int PRIMARY KEY, email text, total numeric(10,2), updated_at timestamptz NOT NULL DEFAULT now())
"""
MANY = (
    "INSERT INTO orders SELECT n, 'u' || n || '@shop.example', n, '2024-01-01Z'::timestamptz + n * interval '1 min' "
    "FROM generate_series(1, 400) n"
)
BEFORE = (
    "UPDATE orders SET email = 'bad', updated_at = now() WHERE id IN (7, 8, 9, 10)",
    "INSERT INTO orders VALUES (5001, 'bad', 1), (5003, 'bad', 1)",
    "DELETE FROM orders WHERE id IN (100, 101, 102)",
)
LATE = (
    "INSERT INTO orders VALUES (6001, 'late@x', 1), (6002, 'late and bad', 1), (101, 'late and back@x', 5)",
    "UPDATE orders SET email = 'late@x', updated_at = now() WHERE id IN (9, 30)",
    "DELETE FROM orders WHERE id = 40",
)
MEANWHILE = (
    "UPDATE orders SET email = 'mended@x', updated_at = now() WHERE id IN (7, 5001)",
    "UPDATE orders SET total = -9, updated_at = now() WHERE id IN (10, 11, 12)",
    "DELETE FROM orders WHERE id IN (8, 200, 201)",
    "INSERT INTO orders VALUES (100, 'back@x', 4), (102, 'back and bad', 4)",
    "UPDATE orders SET id = 30100, updated_at = now() WHERE id = 300",
)
AFTER = (
    "UPDATE orders SET total = total + 1, updated_at = now() WHERE id IN (12, 53)",
    "INSERT INTO orders VALUES (200, 'again@x', 2)",
    "DELETE FROM orders WHERE id = 103",
)
PASSES = "email LIKE '%@%' AND total >= 0"


@scenario(
    "T47",
    "kill -9 of a sync of a table with a history, deletes that are compared and a contract, while a transaction is open that commits after the kill: as its batch is "
    "recorded, after its quarantine, its commit, what was held is resolved, and before and after the commit of its history; rows are mended, break the contract, go, come back and change "
    "their key, in that transaction too",
    holds="one more sync: each row that passes is in the copy as the source has it, those that are gone are gone or say so, each row that breaks the contract is held "
    "once, the history's current rows are the copy's and no versions of a key overlap, check finds no drift, nothing is left over",
    long=True,
)
@pytest.mark.parametrize(
    ("point", "history", "then"),
    [
        (Point.RECORDED, "scd2", "remove"),
        (Held.KEPT, "append", "remove"),
        (Held.LANDED, "scd2", "mark"),
        (Held.RESOLVED, "append", "mark"),
        (Beside.BEGUN, "scd2", "remove"),
        (Beside.DONE, "append", "mark"),
    ],
)
def test_what_a_killed_sync_held_left_and_told_is_made_good_together(
    stand: OpenStand, point: Place, history: str, then: str
) -> None:
    desk = stand(
        "- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, "
        "contract: {email: {matches: '[^@]+@'}, total: {ge: 0}}, "
        f"deletes: {{mode: diff, every: 0s, then: {then}}}, history: {history}}}",
        ORDERS,
        MANY,
    )
    desk.land()
    desk.execute(*BEFORE)
    desk.land()
    desk.settled("orders")
    late = desk.shop.connect()
    for statement in LATE:
        late.execute(statement)
    desk.execute(*MEANWHILE)
    killed(desk, point, "orders", "incremental")
    late.commit()
    late.close()
    desk.execute(*AFTER)
    desk.land()
    desk.assert_tidy("orders")

    living = {row[0]: row for row in _living(desk, then)}
    passing = desk.source(f"SELECT * FROM orders WHERE {PASSES}")
    assert [living.get(row[0]) for row in passing] == passing
    assert sorted(_held(desk)) == ["10", "102", "11", "12", "5003", "6002"]
    # Of what is held the copy keeps the version that passed; those that came bad have none.
    assert sorted(living) == sorted({row[0] for row in passing} | {10, 11, 12})
    assert [living[key][1] for key in (10, 11, 12)] == [f"u{key}@shop.example" for key in (10, 11, 12)]
    with desk.runtime() as runtime:
        spec, ports = desk.spec("orders"), runtime.ports("shop")
        assert ports.historian.behind(spec) is None
        assert ports.historian.differing_versions(spec) == FaultyKeys(0)
        assert ports.historian.overlapping_versions(spec) == FaultyKeys(0)
        desk.settled("orders")
        assert reconcile(spec, None, ports).rows == 0


def _living(desk: Stand, then: str) -> list[tuple[Any, ...]]:
    """Rows of the copy that stand for rows of the source; no key may come twice, marked or not."""
    marks = ["_sync_deleted_at"] if then == "mark" else []
    rows = desk.copy("orders", "id", "email", "total", "updated_at", *marks)
    assert len({row[0] for row in rows}) == len(rows)
    return [row[:4] for row in rows if not marks or row[4] is None]


def _held(desk: Stand) -> list[str]:
    return [row["id"] for row in desk.quarantined("orders") if row["_sync_resolution"] is None]
