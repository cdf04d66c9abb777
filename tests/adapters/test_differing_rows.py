"""The rows in which a real source and a real lake differ, shown value by value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.checks.differing_rows import DifferingRows, differing_rows
from incremental_assets.core.config.terms import terms_of
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD = "timestamptz '2024-01-01Z' + n * interval '1 day'"
BY_TIME = "cursor: {column: at, type: timestamp}"
ORDERS = (
    f"{{table: public.orders, {BY_TIME}, strategy: upsert, contract: {{rate: {{le: 100}}}}}}",
    "CREATE TABLE orders (id int PRIMARY KEY, note text, rate numeric(6,2), ratio float8, day date, raw bytea, ok bool, at timestamptz NOT NULL DEFAULT now())",
    f"INSERT INTO orders SELECT n, 'old', 1, 0.5, '2024-01-01', 'a', true, {OLD} FROM generate_series(1, 30) n",
)
VISITS = (
    f"{{table: public.visits, {BY_TIME}}}",
    "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())",
    f"INSERT INTO visits SELECT 'guest ' || n % 3, {OLD} FROM generate_series(1, 9) n",
)
PRICES = (
    "{table: public.prices, strategy: full_refresh}",
    "CREATE TABLE prices (code text PRIMARY KEY, price int)",
    "INSERT INTO prices VALUES ('a', 1), ('b', 2)",
)
ODD = (
    f"""{{table: 'public."odd, "".`names`"', {BY_TIME}, strategy: upsert}}""",
    'CREATE TABLE "odd, "".`names`" ("a, b" text, "c`d" text, "e:f" text, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY ("a, b", "c`d"))',
    f"""INSERT INTO "odd, "".`names`" SELECT 'x,~1:' || n, '', '~', {OLD} FROM generate_series(1, 5) n""",
)
LOOSE = (
    "{table: public.loose, strategy: full_refresh, primary_key: [id]}",
    "CREATE TABLE loose (id int, note text)",
    "INSERT INTO loose VALUES (1, 'a'), (2, 'b'), (2, 'c'), (2, 'd'), (2, 'e')",
)

Landed = Callable[[tuple[str, ...]], Stand]


@pytest.fixture
def landed(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Landed:
    """One of the tables above, as it has landed."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)

    def desk(table: tuple[str, ...]) -> Stand:
        entry, *statements = table
        stand = Stand(Shop.open(postgres, database, tmp_path, f"\n- {entry}\n", options="unlisted: ignore"), spark)
        stand.execute(*statements)
        stand.land()
        return stand

    return desk


def shown(desk: Stand, name: str, most: int = 20) -> DifferingRows:
    with desk.runtime() as runtime:
        (source,) = runtime.configuration.sources
        spec = desk.spec(name)
        return differing_rows(spec, terms_of(source, spec.id).partitions, most, runtime.ports("shop"))


def values(found: DifferingRows) -> list[dict[str, tuple[str | None, str | None]]]:
    names = found.spec.shape.names
    return [
        {
            names[place]: (row.source[place] if row.source else None, row.copy[place] if row.copy else None)
            for place in row.places()
        }
        for row in found.rows
    ]


@pytest.mark.acceptance
def test_each_value_that_differs_is_shown_as_people_write_it(landed: Landed) -> None:
    desk = landed(ORDERS)
    desk.execute(
        "UPDATE orders SET note = NULL, rate = 1.5, ratio = '-Infinity' WHERE id = 9",
        "UPDATE orders SET day = '2023-12-31', raw = '\\xff00', ok = false WHERE id = 10",
        "UPDATE orders SET at = at + interval '1.5 s' WHERE id = 11",
    )
    found = shown(desk, "orders")
    assert values(found) == [
        {"note": (None, "old"), "rate": ("1.50", "1.00"), "ratio": ("-inf", "0.5")},
        {"day": ("2023-12-31", "2024-01-01"), "raw": ("ff00", "61"), "ok": ("false", "true")},
        {"at": ("2024-01-12T00:00:01.500000Z", "2024-01-12T00:00:00Z")},
    ]
    assert (found.is_all, found.compared > 0) == (True, True)


@pytest.mark.acceptance
def test_rows_that_one_side_lacks_stand_alone_and_numbers_come_in_their_order(landed: Landed) -> None:
    desk = landed(ORDERS)
    desk.execute(
        "DELETE FROM orders WHERE id = 2",
        "INSERT INTO orders VALUES (-5, 'late', 1, 1, NULL, NULL, NULL, '2024-01-05Z')",
    )
    found = shown(desk, "orders")
    assert [(row.source and row.source[:2], row.copy and row.copy[:2]) for row in found.rows] == [
        (("-5", "late"), None),
        (None, ("2", "old")),
    ]


@pytest.mark.acceptance
def test_a_row_that_was_changed_with_a_new_stamp_is_newer_and_no_drift(landed: Landed) -> None:
    desk = landed(ORDERS)
    desk.execute("UPDATE orders SET note = 'new', at = now() WHERE id = 3")
    (row,) = shown(desk, "orders").rows
    assert row.is_newer
    assert [found["note"] for found in values(shown(desk, "orders"))] == [("new", "old")]
    desk.land("orders")
    assert shown(desk, "orders").rows == ()


@pytest.mark.acceptance
def test_no_more_rows_than_are_asked_for_and_that_there_are_more(landed: Landed) -> None:
    desk = landed(ORDERS)
    desk.execute("UPDATE orders SET note = 'drifted' WHERE id BETWEEN 2 AND 25")
    found = shown(desk, "orders", most=3)
    assert [row.values[0] for row in found.rows] == ["2", "3", "4"]
    assert not found.is_all
    assert shown(desk, "orders", most=24).is_all


@pytest.mark.acceptance
def test_of_rows_without_a_key_as_many_are_shown_as_are_missing(landed: Landed) -> None:
    desk = landed(VISITS)
    desk.execute("INSERT INTO visits VALUES ('late', '2024-01-03Z'), ('late', '2024-01-03Z')")
    found = shown(desk, "visits")
    assert [row.source for row in found.rows] == [("late", "2024-01-03T00:00:00Z")] * 2
    assert [row.copy for row in found.rows] == [None, None]


@pytest.mark.acceptance
def test_a_table_that_is_read_whole_is_compared_as_a_whole(landed: Landed) -> None:
    desk = landed(PRICES)
    desk.execute("UPDATE prices SET price = 3 WHERE code = 'b'", "INSERT INTO prices VALUES ('c', NULL)")
    assert values(shown(desk, "prices")) == [{"price": ("3", "2")}, {"code": ("c", None), "price": (None, None)}]


@pytest.mark.acceptance
def test_names_and_texts_that_look_like_the_format_itself_are_taken_apart(landed: Landed) -> None:
    desk = landed(ODD)
    desk.execute("""UPDATE "odd, "".`names`" SET "e:f" = '3:a,b,~' WHERE "a, b" = 'x,~1:3'""")
    found = shown(desk, 'odd, ".`names`')
    assert values(found) == [{"e:f": ("3:a,b,~", "~")}]
    assert found.rows[0].values[:2] == ("x,~1:3", "")


@pytest.mark.acceptance
def test_a_row_that_its_contract_holds_is_no_difference_until_it_changes_again(landed: Landed) -> None:
    desk = landed(ORDERS)
    desk.execute("INSERT INTO orders (id, note, rate, at) VALUES (31, 'too much', 500, '2024-02-01Z')")
    assert [row.values[1] for row in shown(desk, "orders").rows] == ["too much"]
    desk.reset("orders")
    desk.land("orders")
    assert shown(desk, "orders").rows == ()


def test_of_a_key_that_several_rows_have_all_of_them_are_compared_before_one_is_shown_as_missing(
    landed: Landed,
) -> None:
    desk = landed(LOOSE)
    desk.execute("UPDATE loose SET note = note || '!'")
    found = shown(desk, "loose", most=2)
    assert [row.source and row.source[1] for row in found.rows] == ["a!", "b!"]
    assert all(row.source and row.copy for row in found.rows)
    assert not found.is_all
