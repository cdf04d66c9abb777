"""A load and the log beside it become one copy: nothing falls between the two, whatever was open or on its way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from incremental_assets.adapters.logs import gathering, kept
from incremental_assets.adapters.logs.log_of_source import Joined
from incremental_assets.adapters.logs.postgresql import source_log
from incremental_assets.adapters.logs.postgresql.source_log import Begun, SourceLog
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open

ITEMS = "items (id int PRIMARY KEY)"
Patch = pytest.MonkeyPatch


def when_no_snapshot_was_good(patch: Patch, then: Callable[[], object]) -> list[bool]:
    """Do this once a snapshot could not be joined; whether each of them could be."""
    join, told = SourceLog.join, list[bool]()

    def asked(self: SourceLog, begun: Begun, visible: str) -> Joined | None:
        found = join(self, begun, visible)
        told.append(found is not None)
        if found is None and len(told) == 1:
            then()
        return found

    patch.setattr(SourceLog, "join", asked)
    return told


def a_transaction_that_the_snapshot_does_not_show(shop: LoggedShop, patch: Patch) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    late, begin = shop.stand.shop.connect(), SourceLog.begin

    def begun(self: SourceLog, spec: TableSpec) -> Begun:
        found = begin(self, spec)
        late.execute("INSERT INTO orders VALUES (2, 'late')")
        return found

    patch.setattr(SourceLog, "begin", begun)
    shop.land()
    assert shop.at().join is not None
    late.execute("UPDATE orders SET status = 'later' WHERE id = 1")
    late.commit()
    late.close()
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_a_transaction_that_was_open_when_the_table_was_loaded_lands_with_its_commit(
    open_shop: Open, monkeypatch: Patch
) -> None:
    a_transaction_that_the_snapshot_does_not_show(open_shop(), monkeypatch)


def a_transaction_that_is_older_than_the_publication(shop: LoggedShop, patch: Patch) -> None:
    shop.execute("ALTER PUBLICATION shop DROP TABLE orders", "INSERT INTO orders VALUES (1)")
    early = shop.stand.shop.connect()
    early.execute("INSERT INTO orders VALUES (2)")
    shop.execute("ALTER PUBLICATION shop ADD TABLE orders")
    told = when_no_snapshot_was_good(patch, early.commit)
    shop.land()
    early.commit()
    early.close()
    shop.land()
    shop.assert_equal()
    assert told[0] is False
    assert told[-1] is True


def test_a_transaction_that_wrote_before_the_table_was_published_is_waited_for(
    open_shop: Open, monkeypatch: Patch
) -> None:
    a_transaction_that_is_older_than_the_publication(open_shop(), monkeypatch)


def a_commit_that_waits_for_a_standby(shop: LoggedShop, patch: Patch) -> None:
    shop.execute("INSERT INTO items VALUES (1)")
    shop.land("items")
    shop.set_standbys("nobody")
    waits = threading.Thread(target=shop.execute, args=("INSERT INTO orders VALUES (1)",))

    def let_go() -> None:
        shop.set_standbys("")
        waits.join(60)

    try:
        waits.start()
        until = time.monotonic() + 60
        while shop.stand.shop.rows("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == [(0,)]:
            assert time.monotonic() < until
            time.sleep(0.01)
        shop.land("items")
        told = when_no_snapshot_was_good(patch, let_go)
        shop.land("orders")
    finally:
        let_go()
    shop.land("orders")
    shop.assert_equal("orders", "items")
    assert told == [False, True]


@pytest.mark.acceptance
def test_a_commit_that_was_decoded_before_it_is_visible_is_waited_for(open_shop: Open, monkeypatch: Patch) -> None:
    shop = open_shop(ORDERS, ITEMS)
    a_commit_that_waits_for_a_standby(shop, monkeypatch)


def segments_that_land_one_by_one(shop: LoggedShop, patch: Patch) -> None:
    shop.execute("INSERT INTO items VALUES (1)", "INSERT INTO orders VALUES (1)")
    shop.land("items")
    shop.land("orders")
    for number in (2, 3, 4):
        shop.execute(f"INSERT INTO items VALUES ({number})", f"INSERT INTO orders VALUES ({number})")
        shop.land("orders")
    patch.setattr(gathering, "MOST_CHANGES", 1)
    found = []
    for _ in range(3):
        shop.land("items")
        found.append([row[0] for row in shop.stand.copy("items")])
    assert found == [[1, 2], [1, 2, 3], [1, 2, 3, 4]]


@pytest.mark.acceptance
def test_segments_go_when_every_table_has_landed_them(open_shop: Open, monkeypatch: Patch) -> None:
    monkeypatch.setattr(source_log, "KEEP", timedelta())
    shop = open_shop(ORDERS, ITEMS)
    shop.execute("INSERT INTO items VALUES (1)", "INSERT INTO orders VALUES (1)")
    shop.land("items")
    shop.land("orders")
    for number in (2, 3, 4):
        shop.execute(f"INSERT INTO items VALUES ({number})", f"INSERT INTO orders VALUES ({number})")
        shop.land("orders")
    shelf = shop.shelf()
    assert len(shelf.names()) >= 3
    shop.land("items")
    for number in (5, 6):
        shop.execute(f"INSERT INTO items VALUES ({number})")
        shop.land("items")
        shop.land("orders")
    assert len(shelf.names()) <= 2
    shop.assert_equal("orders", "items")


@pytest.mark.acceptance
def test_a_table_that_is_behind_lands_segment_by_segment(open_shop: Open, monkeypatch: Patch) -> None:
    segments_that_land_one_by_one(open_shop(ORDERS, ITEMS), monkeypatch)


def transactions_of_one_range_that_land_one_by_one(shop: LoggedShop, patch: Patch) -> None:
    shop.land()
    shop.execute(
        "INSERT INTO orders VALUES (1)", "INSERT INTO orders VALUES (2), (3)", "DELETE FROM orders WHERE id = 2"
    )
    patch.setattr(gathering, "MOST_CHANGES", 1)
    found = []
    for _ in range(2):
        shop.land()
        found.append([row[0] for row in shop.stand.copy("orders", "id")])
    assert found == [[1, 2, 3], [1, 3]]
    assert len(shop.shelf().names()) == 2
    shop.execute("INSERT INTO orders VALUES (4)")
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_a_range_that_is_more_than_a_batch_lands_in_whole_transactions(open_shop: Open, monkeypatch: Patch) -> None:
    transactions_of_one_range_that_land_one_by_one(open_shop(), monkeypatch)


@pytest.mark.acceptance
def test_a_transaction_that_is_more_than_can_land_at_once_is_named(open_shop: Open, monkeypatch: Patch) -> None:
    shop = open_shop()
    shop.land()
    shop.execute("INSERT INTO orders VALUES (1), (2)")
    monkeypatch.setattr(gathering, "MOST_BYTES", 1)
    monkeypatch.setattr(gathering, "MOST_BYTES_AT_ONCE", 1)
    assert "one transaction has changed 0 MiB of it, more than can be landed at once" in shop.refused()
    shop.land(mode=Mode.FULL_REFRESH)
    shop.assert_equal()


def a_publication_that_is_altered_while_a_load_begins(shop: LoggedShop, patch: Patch) -> None:
    recorded, late = kept.record, shop.stand.shop.connect()

    def altered(*of: Any) -> None:
        recorded(*of)
        patch.setattr(kept, "record", recorded)
        shop.execute("ALTER PUBLICATION shop DROP TABLE orders")
        late.execute("INSERT INTO orders VALUES (1)")
        shop.execute("ALTER PUBLICATION shop ADD TABLE orders")

    patch.setattr(kept, "record", altered)
    assert "the publication shop was altered just now; try again" in shop.refused()
    late.commit()
    late.close()
    shop.land()
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_a_publication_that_is_altered_while_a_load_begins_stops_it(open_shop: Open, monkeypatch: Patch) -> None:
    a_publication_that_is_altered_while_a_load_begins(open_shop(), monkeypatch)
