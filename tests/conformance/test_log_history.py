"""T75: the history of a table that is read from the log has every version that was committed, as a trigger of the source wrote them down."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open
from tests.adapters.logs.test_history import APPEND, SCD2, assert_sound
from tests.conformance.killing import killed_in
from tests.conformance.log_process import STEPS
from tests.conformance.log_words import statements
from tests.conformance.points import Beside, Point
from tests.conformance.scenario import of_log
from tests.conformance.stand import plain
from tests.conformance.test_log_rows import LONG

AUDIT = (
    "CREATE TABLE loaded AS SELECT * FROM orders",
    "CREATE TABLE audit (seq bigserial, op text, was orders, now orders)",
    """CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP = 'TRUNCATE' THEN INSERT INTO audit (op) VALUES (TG_OP);
        ELSIF TG_OP = 'INSERT' THEN INSERT INTO audit (op, now) VALUES (TG_OP, NEW);
        ELSIF TG_OP = 'DELETE' THEN INSERT INTO audit (op, was) VALUES (TG_OP, OLD);
        ELSE INSERT INTO audit (op, was, now) VALUES (TG_OP, OLD, NEW); END IF;
        RETURN NULL; END $$""",
    "CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON orders FOR EACH ROW EXECUTE FUNCTION told()",
    "CREATE TRIGGER emptied AFTER TRUNCATE ON orders EXECUTE FUNCTION told()",
)
COLUMNS = ("id", "status", "total", "note")
Lives = dict[int, list[tuple[Any, ...]]]
"""Of each key its versions, oldest first: the columns, and whether the row was gone."""


def watched(open_shop: Open, more: str) -> LoggedShop:
    shop = open_shop(ORDERS, more=more)
    shop.execute(f"INSERT INTO orders SELECT n, 'old', n, {LONG} FROM generate_series(1, 60) AS n", *AUDIT)
    shop.land()
    return shop


def as_committed(shop: LoggedShop) -> Lives:
    """What the trigger has seen, behind the rows of the load."""
    told = ", ".join(f"({side}).{name}" for side in ("was", "now") for name in COLUMNS)
    lives: Lives = {row[0]: [(*map(plain, row), False)] for row in shop.stand.shop.rows("SELECT * FROM loaded")}
    for op, *values in shop.stand.shop.rows(f"SELECT op, {told} FROM audit ORDER BY seq"):
        was, now = (tuple(map(plain, each)) for each in (values[:4], values[4:]))
        if op == "TRUNCATE":
            for key in lives:
                _gone(lives, key)
        if op == "DELETE" or (op == "UPDATE" and was[0] != now[0]):
            _gone(lives, was[0])
        if op in ("INSERT", "UPDATE"):
            life = lives.setdefault(now[0], [])
            if not life or life[-1] != (*now, False):
                life.append((*now, False))
    return lives


def _gone(lives: Lives, key: int) -> None:
    if not lives[key][-1][-1]:
        lives[key].append((*lives[key][-1][:-1], True))


def as_kept(shop: LoggedShop, *order: str) -> Lives:
    lives: Lives = {}
    found = shop.stand.copy("orders__history", *order, *COLUMNS, "_sync_deleted")
    for row in sorted(found, key=lambda row: row[: len(order)]):
        version = row[len(order) :]
        lives.setdefault(version[0], []).append(version)
    return lives


def assert_every_version(shop: LoggedShop, order: tuple[str, ...] = ("_valid_from",)) -> None:
    committed, kept = as_committed(shop), as_kept(shop, *order)
    assert {key: len(life) for key, life in kept.items()} == {key: len(life) for key, life in committed.items()}
    assert kept == committed
    assert_sound(shop)


def as_of(shop: LoggedShop, moment: Any) -> list[tuple[Any, ...]]:
    found = shop.stand.copy("orders__history", *COLUMNS, "_valid_from", "_valid_to", "_sync_deleted")
    return [row[:4] for row in found if row[4] <= moment and (row[5] is None or row[5] > moment) and not row[6]]


def a_random_day(shop: LoggedShop, seed: int, transactions: int = 150) -> list[tuple[Any, list[tuple[Any, ...]]]]:
    """Moments, and what the source's table was at each of them."""
    chance, looks = random.Random(seed), []
    for number in range(transactions):
        with shop.stand.shop.connect() as connection:
            for statement in statements(chance):
                connection.execute(statement.encode())
            if chance.random() < 0.1:
                connection.rollback()
        if number % 50 == 25:
            shop.together("TRUNCATE orders", "INSERT INTO orders VALUES (1, 'after', 1, NULL)")
        if number % 10 == 0:
            ((moment,),) = shop.stand.source("SELECT clock_timestamp()")
            looks.append((moment, shop.stand.source("SELECT * FROM orders")))
        if number % 30 == 0:
            shop.land()
    shop.land()
    return looks


@of_log(
    "T75",
    "150 transactions insert, update, move and delete rows of forty keys, several times each in one transaction and many times between two syncs, with large values that an update leaves as they were, "
    "savepoints, rollbacks and TRUNCATE; a trigger of the source writes each change down, and the table is looked at between them",
    holds="the history has the versions that the trigger has seen, each once and in their order, and as of each of the moments the rows that were there",
)
def test_every_version_of_a_day(open_shop: Open) -> None:
    shop = watched(open_shop, SCD2)
    looks = a_random_day(shop, 1)
    assert_every_version(shop)
    for moment, rows in looks:
        assert sorted(as_of(shop, moment), key=repr) == rows


@of_log(
    "T75",
    "The same with `history: append`",
    holds="the same versions, in the order of their places in the log",
)
def test_every_version_with_its_place(open_shop: Open) -> None:
    shop = watched(open_shop, APPEND)
    a_random_day(shop, 2)
    assert_every_version(shop, ("_sync_seq", "_commit_lsn", "_change_number"))


@of_log(
    "T75",
    "Six writers change the same forty keys at once, while the table is synced again and again",
    holds="the history has of each key the versions that the trigger has seen, in the order in which the writers took turns",
)
def test_every_version_under_writers(open_shop: Open) -> None:
    shop = watched(open_shop, SCD2)

    def write(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(60):
            # Two that wait for each other: one of them is rolled back.
            with suppress(psycopg.errors.DeadlockDetected), shop.stand.shop.connect() as connection:
                for statement in statements(chance):
                    connection.execute(statement.encode())

    writers = [threading.Thread(target=write, args=(seed,)) for seed in range(6)]
    for each in writers:
        each.start()
    while any(each.is_alive() for each in writers):
        shop.land()
    shop.land()
    assert_every_version(shop)


PLACES = (*STEPS[3:], Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, *Beside, Point.CLEANED, Point.LANDED)


@of_log(
    "T75",
    "kill -9 of the whole process at ten places of a sync: as the range of the log is finished, given up and left, before and after the commit of the copy, before, within and after that of the history, and at the end",
    holds="the next sync makes it good: every version is there once, and nothing is left behind",
)
@pytest.mark.parametrize("step", [*map(str, PLACES)])
def test_a_killed_sync_has_every_version_after_the_next(open_shop: Open, step: str) -> None:
    shop = watched(open_shop, SCD2)
    chance = random.Random(3)
    for _ in range(2):
        for statement in statements(chance):
            shop.execute(*([statement] if not statement.startswith(("SAVEPOINT", "ROLLBACK")) else []))
        shop.execute("UPDATE orders SET status = 'a' WHERE id < 5", "UPDATE orders SET status = 'b' WHERE id < 5")
        killed_in("tests.conformance.log_process", shop.stand, step, "orders", Mode.SYNC)
        shop.execute("UPDATE orders SET status = 'c' WHERE id < 5", "DELETE FROM orders WHERE id = 4")
        shop.land()
        assert_every_version(shop)
        shop.execute("INSERT INTO orders VALUES (4, 'again', 1, NULL) ON CONFLICT DO NOTHING")
    shop.land()
    assert_every_version(shop)
    shop.stand.assert_tidy("orders")
    assert [*(shop.shelf().folder / "scratch").glob("*")] == []
