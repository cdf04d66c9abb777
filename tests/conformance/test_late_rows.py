"""T1, T2: what commits late. The row that every tool loses which reads above the highest cursor that it has seen."""

from __future__ import annotations

import pytest

from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.shop import touching

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())"
VISITS = "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())"
EVENTS = "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)"


@scenario(
    "T1",
    "A transaction stamps its row, a sync runs, and then it commits",
    holds="the next sync lands the row once and reports it as late",
    bugs=("airbyte #9668", "dlt #2269", "Kafka Connect JDBC #172"),
)
@pytest.mark.parametrize(
    ("table", "ddl", "insert"),
    [
        ("orders:updated_at:timestamp!upsert", ORDERS, "INSERT INTO orders VALUES (2, 'late')"),
        ("visits:at:timestamp!append", VISITS, "INSERT INTO visits VALUES ('late')"),
    ],
    ids=["upsert", "append"],
)
def test_a_stamp_that_commits_late(stand: OpenStand, table: str, ddl: str, insert: str) -> None:
    name, _, terms = table.partition(":")
    desk = stand(f'- "public.{table}"', ddl, *touching(name, terms.partition(":")[0]))
    slow = desk.shop.connect()
    slow.execute(insert)  # type: ignore[call-overload]
    desk.execute(insert.replace("2, 'late'", "3, 'quick'").replace("('late')", "('quick')"))
    first = desk.land()[name]
    slow.commit()
    slow.close()
    second = desk.land()[name]

    assert (first.rows.inserted, first.guarantee) == (1, "settled")
    assert (second.rows.inserted, second.rows.updated, second.rows.late) == (1, 0, 1)
    desk.assert_equal(name)
    desk.assert_tidy(name)


@scenario(
    "T1",
    "A transaction has written a row and stays open over several syncs, while 20,000 rows come and then a few; it ends, and so does one of 50 savepoints",
    holds="each sync reads what is new, and not again all that came since the transaction began; at its end every row is there, once",
)
def test_a_transaction_that_stays_open_for_long(stand: OpenStand) -> None:
    desk = stand(
        '- "public.orders:updated_at:timestamp!upsert"\n- "public.events:id:integer!append"',
        ORDERS,
        *touching("orders"),
        EVENTS,
    )
    slow, nested = desk.shop.connect(), desk.shop.connect()
    slow.execute("INSERT INTO orders VALUES (-1, 'slow')")
    slow.execute("INSERT INTO events (what) VALUES ('slow')")
    desk.execute(
        "INSERT INTO orders SELECT n, 'many' FROM generate_series(1, 20000) n",
        "INSERT INTO events (what) SELECT 'many' FROM generate_series(1, 20000) n",
    )
    first = desk.land()
    assert {name: report.rows.inserted for name, report in first.items()} == {"orders": 20_000, "events": 20_000}
    for number in range(50):
        nested.execute("SAVEPOINT here")
        nested.execute("INSERT INTO orders VALUES (%s, 'nested')", [-100 - number])
    for number in (1, 2):
        desk.execute(
            f"INSERT INTO orders VALUES ({20_000 + number}, 'new')",
            f"UPDATE orders SET note = 'changed' WHERE id = {number}",
            "INSERT INTO events (what) VALUES ('new')",
        )
        report = desk.land()
        assert {name: told.rows.read for name, told in report.items()} == {"orders": 2, "events": 1}
        assert {told.guarantee for told in report.values()} == {"settled"}
    for connection in (nested, slow):
        connection.commit()
        connection.close()
    desk.land()
    for name in ("orders", "events"):
        desk.assert_equal(name)
    desk.assert_tidy("orders", "events")
