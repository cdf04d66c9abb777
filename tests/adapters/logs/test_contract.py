"""A contract of a table that is read from the log: what breaks it waits in quarantine, and whatever happens to the row next is what happens to it there."""

from __future__ import annotations

from typing import Any

import pytest

from incremental_assets.adapters.delta.quarantine import kept_rows
from incremental_assets.core.maintenance.replay import replay_table
from incremental_assets.core.model.verdict import Check
from incremental_assets.core.planning.report import Status
from tests.adapters.logs.moments import Died
from tests.adapters.logs.shelved import LoggedShop, Open
from tests.adapters.logs.test_capture import LONG
from tests.adapters.logs.test_check import checked, losing

CONTRACT = "contract: {status: {nullable: false}}"


def held(shop: LoggedShop) -> dict[str, str | None]:
    """What became of each row that the contract held, by its key."""
    return {row["id"]: row["_sync_resolution"] for row in shop.stand.quarantined("orders") if row["_sync_held"]}


def replay(shop: LoggedShop) -> list[Status]:
    with shop.stand.runtime() as runtime:
        return [each.status for each in replay_table(shop.stand.spec("orders"), "again", runtime.ports("shop"))]


def waits_until_it_is_right(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 6) AS n")
    shop.land()
    shop.execute(
        "UPDATE orders SET status = NULL WHERE id = 1",
        "INSERT INTO orders VALUES (7), (8)",
        "UPDATE orders SET status = NULL WHERE id = 2",
        "UPDATE orders SET status = 'right again' WHERE id = 2",
        "INSERT INTO orders VALUES (9)",
        "DELETE FROM orders WHERE id IN (3, 9)",
    )
    assert shop.land().rows.quarantined == 3
    assert shop.stand.copy("orders", "id", "status") == [
        (1, "new"),
        (2, "right again"),
        (4, "new"),
        (5, "new"),
        (6, "new"),
    ]
    assert held(shop) == {"1": None, "7": None, "8": None}
    verdicts = {each.check: each for each in shop.stand.verdicts("orders")}
    assert (verdicts[Check.CONTRACT].measured, verdicts[Check.RECONCILIATION].passed) == (3, True)
    assert "4 rows are equal" in verdicts[Check.RECONCILIATION].detail
    assert "3 rows are held in quarantine" in verdicts[Check.RECONCILIATION].detail
    shop.execute("UPDATE orders SET status = 'lost' WHERE id = 4")
    losing(shop, 4)
    assert (found := checked(shop)).rows == 1, found.detail
    shop.stand.check("orders")
    shop.stand.repair("orders")
    assert (4, "lost") in shop.stand.copy("orders", "id", "status")
    assert held(shop) == {"1": None, "7": None, "8": None}
    shop.execute(
        "UPDATE orders SET status = 'paid' WHERE id = 1",
        "DELETE FROM orders WHERE id = 7",
        "UPDATE orders SET id = 18, status = 'moved' WHERE id = 8",
    )
    shop.land()
    shop.assert_equal()
    assert held(shop) == {"1": "superseded", "7": "gone", "8": "gone"}


@pytest.mark.acceptance
def test_a_row_that_breaks_its_contract_waits_until_it_is_right_or_gone(open_shop: Open) -> None:
    waits_until_it_is_right(open_shop(more=CONTRACT))


def read_again(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 4) AS n")
    shop.land()
    shop.execute("UPDATE orders SET status = NULL WHERE id IN (1, 2)")
    shop.land()
    at = shop.at().lsn
    config = shop.stand.shop.config
    config.write_text(config.read_text().replace(CONTRACT, "contract: {total: {ge: 0}}"))
    shop.execute("UPDATE orders SET total = 77 WHERE id = 2", "DELETE FROM orders WHERE id = 3")
    assert replay(shop) == [Status.LANDED]
    # What has changed behind the position is the log's to bring.
    assert shop.stand.copy("orders", "id", "status") == [(1, None), (2, "new"), (3, "new"), (4, "new")]
    assert (held(shop), shop.at().lsn) == ({"1": "replayed", "2": None}, at)
    shop.land()
    shop.assert_equal()
    assert held(shop) == {"1": "replayed", "2": "superseded"}


@pytest.mark.acceptance
def test_a_replay_lands_what_the_contract_allows_by_now_as_of_the_copy(open_shop: Open) -> None:
    read_again(open_shop(more=CONTRACT))


def a_value_of_a_version_that_is_held(shop: LoggedShop) -> None:
    shop.execute(
        f"INSERT INTO orders SELECT n, 'new', n, 'old' || f.t FROM ({LONG}) AS f(t), generate_series(1, 2) AS n"
    )
    shop.land()
    shop.execute(f"UPDATE orders SET status = NULL, note = 'late' || f.t FROM ({LONG}) AS f(t) WHERE id = 1")
    shop.land()
    shop.execute("UPDATE orders SET status = 'paid'")
    report = shop.land()
    # The copy has the note of before, and the log says nothing of it.
    assert report.rows.quarantined == 1
    assert shop.stand.copy("orders", "id", "status") == [(2, "paid")]
    assert shop.stand.check("orders") == 1
    shop.stand.repair("orders")
    shop.assert_equal()


@pytest.mark.acceptance
def test_a_value_that_was_not_sent_is_not_that_of_a_version_before_one_that_is_held(open_shop: Open) -> None:
    a_value_of_a_version_that_is_held(open_shop(more=CONTRACT))


def killed_behind_its_quarantine(shop: LoggedShop) -> None:
    shop.execute(f"INSERT INTO orders SELECT 1, 'new', 1, f.t FROM ({LONG}) AS f(t)")
    shop.land()
    shop.execute("UPDATE orders SET status = NULL")
    keep = kept_rows.keep

    def kept(*of: Any) -> None:
        keep(*of)
        raise Died

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_rows, "keep", kept)
        with pytest.raises(Died):
            shop.land()
    shop.land()
    # What the dead run has held is the very version that comes again.
    assert (held(shop), shop.stand.copy("orders", "id", "status")) == ({"1": None}, [(1, "new")])
    shop.execute("UPDATE orders SET status = 'paid', note = 'short'")
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_a_run_that_died_behind_its_quarantine_has_held_nothing_that_counts(open_shop: Open) -> None:
    killed_behind_its_quarantine(open_shop(more=CONTRACT))


@pytest.mark.acceptance
def test_a_truncation_takes_what_is_held_and_what_the_copy_kept_of_it(open_shop: Open) -> None:
    shop = open_shop(more=CONTRACT)
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 3) AS n")
    shop.land()
    shop.execute("UPDATE orders SET status = NULL WHERE id = 1", "INSERT INTO orders VALUES (4)")
    shop.land()
    shop.execute("TRUNCATE orders", "INSERT INTO orders VALUES (9, 'after', 1, NULL)")
    shop.land()
    shop.assert_equal()
    shop.stand.verdicts("orders")
    assert held(shop) == {"1": "gone", "4": "gone"}


@pytest.mark.acceptance
def test_where_nothing_may_land_the_position_stays_until_the_row_is_right(open_shop: Open) -> None:
    shop = open_shop(more="contract: {status: {nullable: false}}, on_breach: fail")
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    shop.land()
    at = shop.at()
    shop.execute("INSERT INTO orders VALUES (2, NULL, 2, NULL), (3, 'new', 3, NULL)")
    assert "1 row breaks the contract" in shop.refused()
    assert shop.at() == at
    shop.execute("UPDATE orders SET status = 'right' WHERE id = 2")
    shop.land()
    shop.assert_equal()
