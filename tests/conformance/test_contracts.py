"""T45: rows that break their table's contract: what is held, what lands, and how each comes to be held no more."""

from __future__ import annotations

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.maintenance.replay import replay_table
from incremental_assets.core.planning.report import Status, SyncReport
from tests.conformance.conftest import OpenStand
from tests.conformance.killing import killed
from tests.conformance.points import Held, Place, Point
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

ORDERS = """
CREATE TABLE orders (id int PRIMARY KEY, email text, total numeric(10,2), updated_at timestamptz NOT NULL DEFAULT now())
"""
MANY = (
    "INSERT INTO orders SELECT n, 'u' || n || '@shop.example', n, '2024-01-01Z'::timestamptz + n * interval '1 min' "
    "FROM generate_series(1, 5000) n"
)
BAD = (
    "UPDATE orders SET email = 'secret of 7', updated_at = now() WHERE id = 7",
    "UPDATE orders SET email = NULL, total = -1, updated_at = now() WHERE id = 8",
    "UPDATE orders SET total = 0, updated_at = now() WHERE id = 9",
    "INSERT INTO orders VALUES (5001, 'nobody', 1)",
)
LAST = "SELECT * FROM orders WHERE id NOT IN (7, 8, 5001)"


def with_contract(stand: OpenStand, more: str = "", contract: str = "") -> Stand:
    rules = contract or '{email: {nullable: false, matches: "[^@]+@"}, total: {ge: 0}}'
    return stand(
        "- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, "
        f"contract: {rules}{more}}}",
        ORDERS,
        MANY,
    )


def held(desk: Stand) -> dict[str, tuple[str, str | None]]:
    """Per key of the rows in quarantine why they are there, and how that ended."""
    return {row["id"]: (row["_sync_reason"], row["_sync_resolution"]) for row in desk.quarantined("orders")}


def replay(desk: Stand) -> list[SyncReport]:
    with desk.runtime() as runtime:
        return list(replay_table(desk.spec("orders"), "replay", runtime.ports("shop")))


@scenario(
    "T45",
    "Of 5,000 rows two are changed to what their contract does not take, one of them in two columns; one is changed rightly and a bad one comes; "
    "later one is mended, one deleted, and another is mended without a new stamp and replayed, twice",
    holds="bad rows are held whole with every reason and the others land; the copy keeps the last version that passed, which is told and is no drift; what is "
    "mended lands once, each row in quarantine says what became of it, and no message has a value of a row",
)
def test_what_breaks_a_contract_is_held_until_it_is_mended(stand: OpenStand) -> None:
    desk = with_contract(stand)
    desk.land()
    before = {row[0]: row for row in desk.copy("orders")}
    desk.execute(*BAD)
    report = desk.land()["orders"]
    assert (report.rows.quarantined, report.rows.updated) == (3, 1)
    assert "secret of 7" not in " ".join(report.warnings)
    assert held(desk) == {
        "7": ("email: matches [^@]+@", None),
        "8": ("email: is NULL; total: ge 0", None),
        "5001": ("email: matches [^@]+@", None),
    }
    copy = {row[0]: row for row in desk.copy("orders")}
    assert (copy[7], copy[8], 5001 in copy) == (before[7], before[8], False)
    desk.settled("orders")
    with desk.runtime() as runtime:
        ports = runtime.ports("shop")
        found = ports.quarantine.held(desk.spec("orders"))
        assert found is not None
        assert (found.rows, found.stale) == (3, 2)
        assert reconcile(desk.spec("orders"), None, ports).rows == 0

    desk.execute(
        "UPDATE orders SET email = 'u7@shop.example', updated_at = now() WHERE id = 7",
        "UPDATE orders SET email = 'u8@shop.example', total = 8 WHERE id = 8",
        "DELETE FROM orders WHERE id = 5001",
    )
    desk.land()
    assert [report.status for report in replay(desk)] == [Status.LANDED]
    assert {key: resolution for key, (_, resolution) in held(desk).items()} == {
        "7": "superseded",
        "8": "replayed",
        "5001": "gone",
    }
    desk.assert_equal("orders")
    versions = desk.versions("orders")
    assert replay(desk) == []
    assert desk.versions("orders") == versions
    desk.assert_tidy("orders")


@scenario(
    "T45",
    "Of a table that is compared, two rows are changed to what their contract does not take; one of them is mended, and both are replayed",
    holds="the one that was mended lands and its row in quarantine says so; of the other the copy keeps the last version that passed",
)
def test_a_replay_of_a_compared_table_keeps_what_has_passed(stand: OpenStand) -> None:
    compared = "strategy: upsert, compare: {every: 0s}, contract: {email: {nullable: false}}"
    desk = stand(f"- {{table: public.orders, {compared}}}", ORDERS, MANY)
    desk.land()
    before = {row[0]: row for row in desk.copy("orders")}
    desk.execute("UPDATE orders SET email = NULL WHERE id IN (7, 8)")
    assert desk.land()["orders"].rows.quarantined == 2
    desk.execute("UPDATE orders SET email = 'u7@shop.example', total = 77 WHERE id = 7")
    assert [report.rows.updated for report in replay(desk)] == [1]
    assert {key: resolution for key, (_, resolution) in held(desk).items()} == {"7": "replayed", "8": None}
    after = {row[0]: row for row in desk.copy("orders")}
    assert (after[8], {**after, 7: None}) == (before[8], {**before, 7: None})


@scenario(
    "T45",
    "Two rows are held by a contract that is then taken out of the configuration; one of them changes again, and what is held is replayed",
    holds="the rows are told as held until they land, and each says what became of it",
)
def test_rows_that_a_contract_left_behind_can_be_replayed(stand: OpenStand) -> None:
    desk = with_contract(stand, contract="{total: {ge: 0}}")
    desk.land()
    desk.execute("UPDATE orders SET total = -1, updated_at = now() WHERE id IN (7, 8)")
    assert desk.land()["orders"].rows.quarantined == 2
    desk.settled("orders")
    desk.shop.configure(
        "- {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert}", "unlisted: ignore"
    )
    desk.execute("UPDATE orders SET total = -2, updated_at = now() WHERE id = 7")
    desk.land()
    with desk.runtime() as runtime:
        left = runtime.ports("shop").quarantine.held(desk.spec("orders"))
    assert left is not None
    assert (left.rows, left.stale) == (1, 1)
    assert [report.rows.updated for report in replay(desk)] == [1]
    assert {key: resolution for key, (_, resolution) in held(desk).items()} == {"7": "superseded", "8": "replayed"}
    desk.assert_equal("orders")


@scenario(
    "T45",
    "The same bad rows come to a table that lets nothing land then, and to one that lets a thousandth go to quarantine",
    holds="nothing of the batch lands, by a sentence with the number and no value; the breaker's exit status is 3, and what it says to type lets the others land",
)
@pytest.mark.parametrize(
    ("more", "status"), [(", on_breach: fail", Status.FAILED), (", max_fraction: 0.001", Status.REFUSED)]
)
def test_a_contract_stops_a_table(stand: OpenStand, more: str, status: Status) -> None:
    desk = with_contract(stand, more)
    desk.land()
    before, versions = desk.copy("orders"), desk.versions("orders")
    desk.execute(*BAD)
    report = desk.sync()["orders"]
    assert report.status is status
    assert "3 rows break the contract" in (report.error or "")
    assert "secret of 7" not in (report.error or "")
    assert (desk.copy("orders"), desk.versions("orders")) == (before, versions)
    if status is Status.REFUSED:
        assert desk.land(allow_shrink=True)["orders"].rows.quarantined == 3


@scenario(
    "T45",
    "kill -9 of a sync that holds rows: after its batch is staged, before its commit and after it",
    holds="one more sync: what passes is in the copy, each held row is in quarantine once, no staged batch, lease or open sequence is left",
    long=True,
)
@pytest.mark.parametrize("point", [Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT], ids=str)
def test_a_killed_sync_of_a_contract_is_made_good(stand: OpenStand, point: Point) -> None:
    desk = with_contract(stand)
    desk.land()
    desk.execute(*BAD)
    killed(desk, point, "orders", "incremental")
    desk.land()
    assert sorted(row["id"] for row in desk.quarantined("orders")) == ["5001", "7", "8"]
    passed = [row for row in desk.copy("orders") if row[0] not in (7, 8)]
    assert passed == desk.source(LAST)
    desk.assert_tidy("orders")


@scenario(
    "T45",
    "kill -9 of a sync that brings a row that breaks its contract and later versions of two that are held: after its quarantine is written, after its commit, after "
    "what was held is resolved, after its batch is removed",
    holds="one more sync, without another change in the source: each bad row is in quarantine once, those that were mended say so, nothing else is held",
    long=True,
)
@pytest.mark.parametrize("point", [*Held, Point.CLEANED], ids=str)
def test_a_killed_sync_has_said_what_became_of_each_held_row(stand: OpenStand, point: Place) -> None:
    desk = with_contract(stand)
    desk.land()
    desk.execute(*BAD)
    desk.land()
    desk.settled("orders")
    desk.execute(
        "UPDATE orders SET email = 'u7@shop.example', updated_at = now() WHERE id = 7",
        "UPDATE orders SET email = 'u8@shop.example', total = 8, updated_at = now() WHERE id = 8",
        "UPDATE orders SET total = -9, updated_at = now() WHERE id = 9",
    )
    killed(desk, point, "orders", "incremental")
    desk.land()
    rows = sorted((row["id"], row["_sync_resolution"]) for row in desk.quarantined("orders"))
    assert rows == [("5001", None), ("7", "superseded"), ("8", "superseded"), ("9", None)]
    passed = [row for row in desk.copy("orders") if row[0] != 9]
    assert passed == desk.source("SELECT * FROM orders WHERE id NOT IN (9, 5001)")
    desk.assert_tidy("orders")
