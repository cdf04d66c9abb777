"""T1, T2: what commits late. The row that every tool loses which reads above the highest cursor that it has seen."""

from __future__ import annotations

import pytest

from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario

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
    desk, name = stand(f'- "public.{table}"', ddl), table.partition(":")[0]
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
