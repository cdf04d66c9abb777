"""T40: rows that the source deletes, followed without a log: what goes, what stays, and what nobody is let do without a word."""

from __future__ import annotations

import pytest

from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.killing import killed
from tests.conformance.points import Point
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

ORDERS = """
CREATE TABLE orders (id int PRIMARY KEY, note text, deleted_at timestamptz, updated_at timestamptz NOT NULL DEFAULT now())
"""
LINES = """
CREATE TABLE lines (code text, day date, no smallint, what text, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (code, day, no))
"""
MANY = (
    "INSERT INTO orders SELECT n, 'first', NULL, '2024-01-01Z'::timestamptz + n * interval '1 min' FROM generate_series(1, 20000) n",
    "INSERT INTO lines SELECT md5((n / 10)::text), date '2024-01-01' + n % 7, n % 10, 'first', '2024-01-01Z' FROM generate_series(1, 12000) n",
)
CURSOR = "cursor: {column: updated_at, type: timestamp}, strategy: upsert"
EACH = f"""
- {{table: public.orders, {CURSOR}, deletes: {{mode: diff, every: 0s}}}}
- {{table: public.lines, cursor: {{column: at, type: timestamp}}, strategy: upsert, deletes: {{mode: diff, every: 0s}}}}
"""


def following(stand: OpenStand, deletes: str) -> Stand:
    return stand(f"- {{table: public.orders, {CURSOR}, deletes: {{{deletes}}}}}", ORDERS, MANY[0])


@scenario(
    "T40",
    "Of 20,000 rows by number and 12,000 by a key of three columns some dozen are deleted, others change, come, and move to another key",
    holds="one sync later both tables equal the source: what is gone is counted as deleted, in one commit with what came; the next sync finds nothing",
)
def test_deletes_are_found_by_their_keys(stand: OpenStand) -> None:
    desk = stand(EACH, ORDERS, LINES, *MANY)
    desk.land()
    versions = {name: len(desk.versions(name)) for name in ("orders", "lines")}
    desk.execute(
        "DELETE FROM orders WHERE id % 1000 = 7 OR id IN (1, 20000)",
        "UPDATE orders SET id = 50000, updated_at = now() WHERE id = 500",
        "UPDATE orders SET note = 'second', updated_at = now() WHERE id = 600",
        "INSERT INTO orders VALUES (20001, 'new')",
        "DELETE FROM lines WHERE no = 3 AND code < '02'",
    )
    gone = 12_000 - len(desk.source("SELECT code, no FROM lines"))
    assert gone > 0
    reports = desk.land()
    orders = reports["orders"].rows
    assert (orders.deleted, orders.inserted, orders.updated) == (23, 2, 1)
    assert reports["lines"].rows.deleted == gone
    assert {name: len(desk.versions(name)) - before for name, before in versions.items()} == {"orders": 1, "lines": 1}
    for name in ("orders", "lines"):
        desk.assert_equal(name)
    desk.assert_tidy("orders", "lines")
    assert desk.land("lines")["lines"].rows.deleted == 0


@scenario(
    "T40",
    "Of 6,000 rows whose keys are drawn from all that 64 bits hold some are deleted, in a table with a cursor and in one that is compared",
    holds="one sync later both tables equal the source",
)
def test_deletes_are_found_among_keys_that_are_drawn_at_random(stand: OpenStand) -> None:
    drawn = "SELECT ('x' || substr(md5(n::text), 1, 16))::bit(64)::bigint, 'first' FROM generate_series(1, 6000) n"
    compared = "- {table: public.prices, strategy: upsert, compare: {every: 0s}}"
    desk = stand(
        f"- {{table: public.orders, {CURSOR}, deletes: {{mode: diff, every: 0s}}}}\n{compared}",
        ORDERS.replace("int", "bigint", 1),
        "CREATE TABLE prices (id bigint PRIMARY KEY, note text)",
        f"INSERT INTO orders (id, note) {drawn}",
        f"INSERT INTO prices {drawn}",
    )
    desk.land()
    desk.execute(*(f"DELETE FROM {name} WHERE id % 1000 = 7" for name in ("orders", "prices")))
    assert all(report.rows.deleted for report in desk.land().values())
    for name in ("orders", "prices"):
        desk.assert_equal(name)


@scenario(
    "T40",
    "A row is deleted; afterwards a backfill over its time, a reset and a late transaction bring in what else there is; then its key comes again",
    holds="no copy of the row comes back, until its key does",
)
def test_nothing_raises_the_dead(stand: OpenStand) -> None:
    desk = following(stand, "mode: diff, every: 0s")
    desk.land()
    slow = desk.shop.connect()
    slow.execute("INSERT INTO orders VALUES (30000, 'late')")
    desk.execute("DELETE FROM orders WHERE id = 77")
    desk.land()
    slow.commit()
    slow.close()
    kind = desk.settled("orders").type
    january = Window(CursorValue.parse(kind, "2024-01-01T00:00:00Z"), CursorValue.parse(kind, "2024-02-01T00:00:00Z"))
    desk.land(mode=Mode.BACKFILL, window=january)
    desk.assert_equal("orders")
    desk.reset("orders")
    desk.land()
    desk.assert_equal("orders")
    desk.execute("INSERT INTO orders VALUES (77, 'again')")
    desk.land()
    desk.assert_equal("orders")


@scenario(
    "T40",
    "A third of the rows is deleted; the table is emptied; it is truncated and half filled again",
    holds="each is refused with the number and what to type, exit status 3, and nothing lands; what was typed then takes them out",
)
@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        ("DELETE FROM orders WHERE id % 3 = 0", "6,666 rows of the 20,000 in the copy are gone"),
        ("DELETE FROM orders", "which would leave none"),
        (
            "TRUNCATE orders; INSERT INTO orders SELECT n, 'again' FROM generate_series(1, 19000) n",
            "truncated or rewritten",
        ),
    ],
    ids=["a third", "all", "truncated"],
)
def test_a_breaker_asks_a_person(stand: OpenStand, harm: str, sentence: str) -> None:
    desk = following(stand, "mode: diff, every: 0s")
    desk.land()
    before, versions = desk.copy("orders"), desk.versions("orders")
    desk.execute(harm)
    refused = desk.sync()["orders"]
    assert refused.status is Status.REFUSED
    assert sentence in (refused.error or "")
    assert "sync --select shop.public.orders --allow-shrink --yes" in (refused.error or "")
    assert (desk.copy("orders"), desk.versions("orders")) == (before, versions)
    desk.land(allow_shrink=True)
    desk.assert_equal("orders")
    desk.assert_tidy("orders")


@scenario(
    "T40",
    "Rows are deleted where deletes are marked, and one of their keys comes back as it was",
    holds="the rows stay and say since when they are gone; the one that came back says so no more, and check finds no drift",
)
def test_rows_that_stay_say_that_they_are_gone(stand: OpenStand) -> None:
    desk = following(stand, "mode: diff, every: 0s, then: mark")
    desk.land()
    desk.execute("DELETE FROM orders WHERE id IN (5, 6)")
    assert desk.land()["orders"].rows.deleted == 2
    marked = "id", "_sync_deleted_at"
    assert [row[0] for row in desk.copy("orders", *marked) if row[1] is not None] == [5, 6]
    desk.execute("INSERT INTO orders VALUES (6, 'first')")
    desk.land()
    assert [row[0] for row in desk.copy("orders", *marked) if row[1] is not None] == [5]
    assert len(desk.copy("orders")) == 20_000
    desk.settled("orders")
    with desk.runtime() as runtime:
        assert reconcile(desk.spec("orders"), None, runtime.ports("shop")).rows == 0


@scenario(
    "T40",
    "The source marks its rows as deleted in a column of its own, and takes a mark back",
    holds="a marked row leaves the copy without a scan of the keys, is no drift there, and is back when its mark is gone",
)
def test_marks_of_the_source_are_followed(stand: OpenStand) -> None:
    desk = following(stand, "mode: soft, column: deleted_at, then: remove")
    desk.execute("UPDATE orders SET deleted_at = now() WHERE id = 1")
    desk.land()
    living = "SELECT * FROM orders WHERE deleted_at IS NULL"
    desk.assert_equal("orders", living)
    desk.execute("UPDATE orders SET deleted_at = now(), updated_at = now() WHERE id IN (5, 6)")
    assert desk.land()["orders"].rows.deleted == 2
    desk.execute("UPDATE orders SET deleted_at = NULL, updated_at = now() WHERE id = 5")
    desk.land()
    desk.assert_equal("orders", living)
    with desk.runtime() as runtime:
        assert reconcile(desk.spec("orders"), None, runtime.ports("shop")).rows == 0


@scenario(
    "T40",
    "kill -9 of a sync that takes deleted rows out: after its batch is staged, before its commit and after it",
    holds="one more sync: the table equals the source, no staged batch, lease or open sequence is left",
    long=True,
)
@pytest.mark.parametrize("point", [Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT], ids=str)
def test_a_killed_sync_of_deletes_is_made_good(stand: OpenStand, point: Point) -> None:
    desk = following(stand, "mode: diff, every: 0s")
    desk.land()
    desk.execute(
        "DELETE FROM orders WHERE id % 1000 = 7", "UPDATE orders SET note = 'x', updated_at = now() WHERE id = 2"
    )
    killed(desk, point, "orders", "incremental")
    desk.execute("DELETE FROM orders WHERE id = 9")
    desk.land()
    desk.assert_equal("orders")
    desk.assert_tidy("orders")
