"""Who stamps the rows of MariaDB and MySQL, as their catalogues tell it: triggers, foreign keys, generated columns."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases.contract import planned, spec_of
from tests.adapters.databases.mysql_contract import NUMBERED, Shop

if TYPE_CHECKING:
    pass

TOUCH = "CREATE TRIGGER touch_{} BEFORE {} ON things FOR EACH ROW {}"


def stamped_by(shop: Shop, *, grant: bool = True) -> tuple[Guarantee, str]:
    if grant:
        shop.execute(f"GRANT TRIGGER ON {shop.database}.* TO reader@'127.0.0.1'")
    probe = SqlProbe(shop.address, "shop")
    settled = planned(probe, spec_of(shop, "things", Cursor("at", shop.words.stamps))).reading.settled
    probe.close()
    return settled.guarantee, settled.reason


@pytest.mark.parametrize(
    ("at_insert", "at_update", "doubt"),
    [
        ("SET NEW.at = NOW(6)", "BEGIN SET NEW.at = CURRENT_TIMESTAMP(6); END", ""),
        ("SET NEW.at = IFNULL(NEW.at, NOW(6))", "IF NEW.at <=> OLD.at THEN SET NEW.at = NOW(6); END IF", ""),
        (
            "SET NEW.note = 'x', NEW.at = NOW(6)",
            "SET NEW.at = NOW(6) - INTERVAL 1 HOUR",
            "the trigger touch_update may give",
        ),
        (
            "SET NEW.at = NOW(6)",
            "IF NEW.note <> OLD.note THEN SET NEW.at = NOW(6); END IF",
            "the trigger touch_update may give",
        ),
        ("SET NEW.at = '2020-01-01'", "SET NEW.at = NOW(6)", "the trigger touch_insert may give"),
        ("SET NEW.at = NOW(6)", "SET NEW.note = 'y'", "no trigger of the database stamps 'at' at an update"),
        (
            "SET NEW.at = NOW(6)",
            "BEGIN IF NEW.at = OLD.at THEN SET NEW.at = NOW(6); END IF; END",
            "the trigger touch_update may give",
        ),
        ("SET NEW.at = UTC_TIMESTAMP(6)", "SET NEW.at = UTC_TIMESTAMP(6)", "`cursor: {zone: UTC}`"),
    ],
)
def test_triggers_are_read_by_whoever_may_see_them(shop: Shop, at_insert: str, at_update: str, doubt: str) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, note text, at datetime(6))",
        TOUCH.format("insert", "INSERT", at_insert),
        TOUCH.format("update", "UPDATE", at_update),
        "INSERT INTO things (note) VALUES ('one')",
        "SET GLOBAL time_zone = '+03:00'",
    )
    try:
        found, reason = stamped_by(shop)
    finally:
        shop.execute("SET GLOBAL time_zone = SYSTEM")
    assert found is (Guarantee.BEST_EFFORT if doubt else Guarantee.SETTLED), reason
    assert doubt in reason


def test_without_the_privilege_triggers_are_not_shown_and_prove_nothing(shop: Shop) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, note text, at datetime(6))",
        TOUCH.format("insert", "INSERT", "SET NEW.at = NOW(6)"),
        TOUCH.format("update", "UPDATE", "SET NEW.at = NOW(6)"),
    )
    found, reason = stamped_by(shop, grant=False)
    assert (found, "neither a default nor a trigger" in reason) == (Guarantee.BEST_EFFORT, True)
    assert stamped_by(shop)[0] is Guarantee.SETTLED


STAMPED = "at datetime(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6)"


@pytest.mark.parametrize(
    ("name", "actions", "passes"),
    [
        ("things", "ON UPDATE CASCADE", True),
        ("things", "ON DELETE SET NULL", True),
        ("things", "ON UPDATE SET NULL ON DELETE CASCADE", True),
        ("Thé-Things", "ON UPDATE CASCADE", True),
        ("things", "ON DELETE CASCADE", False),
        ("things", "ON UPDATE RESTRICT ON DELETE NO ACTION", False),
    ],
)
def test_rows_that_a_foreign_key_changes_are_stamped_by_nobody(
    shop: Shop, name: str, actions: str, *, passes: bool
) -> None:
    """What the server does is asserted too: the stamp stays as it was, though the column says `ON UPDATE` and a trigger stamps."""
    shop.execute(
        "CREATE TABLE others (id int PRIMARY KEY)",
        f'CREATE TABLE "{name}" (id {NUMBERED}, other int, {STAMPED}, CONSTRAINT its_other FOREIGN KEY (other) REFERENCES others (id) {actions})',
        f'CREATE TRIGGER touch BEFORE UPDATE ON "{name}" FOR EACH ROW SET NEW.at = NOW(6)',
        f"GRANT TRIGGER ON {shop.database}.* TO reader@'127.0.0.1'",
        "INSERT INTO others VALUES (1)",
        f'INSERT INTO "{name}" (other) VALUES (1)',
    )
    found: dict[Strategy, tuple[Guarantee, str]] = {}
    for strategy, within in ((Strategy.UPSERT, None), (Strategy.UPSERT, timedelta(minutes=1)), (Strategy.APPEND, None)):
        probe = SqlProbe(shop.address, "shop")
        settled = planned(
            probe, spec_of(shop, name, Cursor("at", shop.words.stamps, within=within), strategy=strategy)
        ).reading.settled
        probe.close()
        found[strategy] = settled.guarantee, settled.reason
        if strategy is Strategy.UPSERT:
            assert (settled.guarantee is Guarantee.BEST_EFFORT) is passes, within
            assert ("the foreign key its_other changes its rows" in settled.reason) is passes
    assert found[Strategy.APPEND][0] is Guarantee.SETTLED
    if actions == "ON UPDATE CASCADE":
        before = shop_rows(shop, name)
        shop.execute("UPDATE others SET id = 2")
        assert [(other, at) for other, at in shop_rows(shop, name)] == [(2, at) for _, at in before]


def shop_rows(shop: Shop, name: str) -> list[Any]:
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f'SELECT other, at FROM "{name}"')
        return list(cursor.fetchall())


@pytest.mark.parametrize(
    ("runs", "doubt"),
    [
        ("SET @@session.time_zone = '-05:00'", "has TimeZone Etc/GMT+5, while 'at' is read in UTC"),
        ('SET NAMES utf8mb4, TIME_ZONE="+09:00"', "has TimeZone Etc/GMT-9"),
        ("SET time_zone = @@global.time_zone", "has TimeZone one that is computed"),
        ("SET time_zone = '-05:00'; SET time_zone = DEFAULT", ""),
        ("SET sql_mode = ''", ""),
    ],
)
def test_the_zone_that_the_server_gives_each_session_is_not_taken_for_the_one_that_stamps_are_read_in(
    shop: Shop, runs: str, doubt: str
) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, {STAMPED})",
        "SET GLOBAL time_zone = '+00:00'",
        f"SET GLOBAL init_connect = {literal(runs)}",
    )
    probe = SqlProbe(shop.address, "shop")
    try:
        settled = planned(probe, spec_of(shop, "things", Cursor("at", CursorType.DATETIME))).reading.settled
    finally:
        shop.execute("SET GLOBAL time_zone = SYSTEM", "SET GLOBAL init_connect = ''")
        probe.close()
    assert settled.guarantee is (Guarantee.BEST_EFFORT if doubt else Guarantee.SETTLED), settled.reason
    assert doubt in settled.reason


def literal(text: str) -> str:
    """In the server's quotes."""
    return "'" + text.replace("'", "''") + "'"


def test_a_trigger_that_is_made_anew_between_two_syncs_is_noticed(shop: Shop) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, note text, at datetime(6) DEFAULT NOW(6))",
        TOUCH.format("update", "UPDATE", "SET NEW.at = NOW(6)"),
    )
    assert stamped_by(shop)[0] is Guarantee.SETTLED
    before = spec_of(shop, "things", Cursor("at", shop.words.stamps))
    time.sleep(0.02)  # a hundredth of a second is all that the server notes
    shop.execute("DROP TRIGGER touch_update", TOUCH.format("update", "UPDATE", "SET NEW.at = NOW(6)"))
    after = spec_of(shop, "things", Cursor("at", shop.words.stamps))
    was, now = (next(each.stamps for each in spec.columns if each.name == "at") for spec in (before, after))
    assert was is not None
    assert now is not None
    assert replace(was, marks="") == replace(now, marks="")
    assert was.marks != now.marks


def test_a_column_that_is_generated_from_a_stamp_is_stamped_as_that_is(shop: Shop) -> None:
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, made datetime(6) DEFAULT NOW(6) ON UPDATE NOW(6), at date AS (DATE(made)) STORED)"
    )
    spec = spec_of(shop, "things", Cursor("at", CursorType.DATE))
    probe = SqlProbe(shop.address, "shop")
    assert planned(probe, spec).reading.settled.guarantee is Guarantee.SETTLED
    probe.close()


@pytest.mark.parametrize(
    ("made", "at", "kind", "doubt"),
    [
        ("timestamp(6)", "datetime(6) AS (made) VIRTUAL", CursorType.DATETIME, "is stamped in UTC and read in"),
        ("timestamp(6)", "datetime(6) AS (made) STORED", CursorType.DATETIME, ""),
        ("datetime(6)", "timestamp(6) AS (made) VIRTUAL", CursorType.TIMESTAMP, "the default of 'at' is `made`"),
        ("datetime(6)", "datetime(6) AS (made) VIRTUAL", CursorType.DATETIME, ""),
    ],
)
def test_a_column_that_is_computed_in_the_session_of_its_reader_shows_another_time_than_its_writers(
    shop: Shop, made: str, at: str, kind: CursorType, doubt: str
) -> None:
    """Our sessions are in UTC, and those that write in the zone of the server: to the east of UTC what is shown to us lies below what the others have stamped."""
    shop.execute(
        f"CREATE TABLE things (id {NUMBERED}, made {made} DEFAULT NOW(6) ON UPDATE NOW(6), at {at})",
        "SET GLOBAL time_zone = '+05:00'",
    )
    probe = SqlProbe(shop.address, "shop")
    try:
        settled = planned(probe, spec_of(shop, "things", Cursor("at", kind))).reading.settled
    finally:
        shop.execute("SET GLOBAL time_zone = SYSTEM")
        probe.close()
    assert (settled.guarantee, doubt in settled.reason) == (
        Guarantee.BEST_EFFORT if doubt else Guarantee.SETTLED,
        True,
    )
