"""Tables of a source that are synced at the same time read its log once, for all of them."""

from __future__ import annotations

import json

import pytest

from tests.adapters.logs.shelved import LoggedShop, Open

_NAMES = ("orders", "items", "notes", "parts", "marks")


@pytest.fixture
def five(open_shop: Open) -> LoggedShop:
    """Tables that have landed, each with a row that has not."""
    shop = open_shop(*(f"{name} (id int PRIMARY KEY, note text)" for name in _NAMES))
    shop.stand.land()
    for name in _NAMES:
        shop.execute(f"INSERT INTO {name} VALUES (1, 'new')")
    return shop


def sessions(shop: LoggedShop) -> int:
    """How many the database has had, by its own count."""
    ((found,),) = shop.stand.shop.rows("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
    return int(found)


def test_a_sync_of_five_tables_opens_no_session_for_each_to_read(five: LoggedShop) -> None:
    before = sessions(five)
    five.stand.land()
    assert sessions(five) - before < len(_NAMES) + 2
    five.assert_equal(*_NAMES)


def test_a_table_that_has_no_record_beside_the_segments_stops_no_other(five: LoggedShop) -> None:
    file = five.shelf().folder / "followed.json"
    known = json.loads(file.read_text())
    number = five.at("items").number
    known["tables"] = [each for each in known["tables"] if each["oid"] != number]
    file.write_text(json.dumps(known))
    reports = five.stand.sync()
    assert {name for name, report in reports.items() if report.error} == {"items"}
    assert "has no record of it, so that changes which were read of the log may be missing there" in str(
        reports["items"].error
    )
    five.assert_equal(*(set(_NAMES) - {"items"}))
