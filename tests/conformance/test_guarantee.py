"""T24: what a run promises about rows that commit late, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.core.model.guarantee import Guarantee
from tests.conformance.clock import ClockedPostgres
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())"
EVENTS = "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)"
TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.events:id:integer!append"
"""


@scenario(
    "T24",
    "The reading user may not see other users' transactions (no pg_read_all_stats) while one is open",
    holds="the run says `best_effort` with its reason and the cure; with the privilege back it says `settled`",
)
def test_a_reader_that_cannot_see_transactions(stand: OpenStand) -> None:
    desk = stand(
        TABLES,
        ORDERS,
        *touching("orders"),
        EVENTS,
        "INSERT INTO orders VALUES (1, 'a')",
        "INSERT INTO events (what) VALUES ('e')",
    )
    other = desk.shop.connect()
    other.execute("SELECT count(*) FROM orders")
    desk.execute("REVOKE pg_read_all_stats FROM reader")
    try:
        blind = desk.land()
    finally:
        desk.execute("GRANT pg_read_all_stats TO reader")
    desk.execute("INSERT INTO orders VALUES (2, 'b')", "INSERT INTO events (what) VALUES ('f')")
    seeing = desk.land()
    other.close()

    for report in blind.values():
        assert report.guarantee is Guarantee.BEST_EFFORT
        assert "cannot be seen" in report.guarantee_reason
        assert "GRANT pg_read_all_stats" in report.guarantee_reason
    assert {report.guarantee for report in seeing.values()} == {Guarantee.SETTLED}
    desk.assert_equal("orders")
    desk.assert_equal("events")


@scenario(
    "T24",
    "A transaction is prepared (two-phase commit) and forgotten, rows are committed beside it, later it is committed",
    holds="rows land at once, the watermark stays where it was and the run names the transaction; its own rows land when it ends",
    long=True,
)
def test_a_prepared_transaction(stand: OpenStand) -> None:
    desk = stand(
        TABLES,
        ORDERS,
        *touching("orders"),
        EVENTS,
        "INSERT INTO orders VALUES (1, 'a')",
        "INSERT INTO events (what) VALUES ('e')",
    )
    before = desk.land()
    prepared = desk.shop.connect()
    prepared.execute("INSERT INTO orders VALUES (2, 'prepared')")
    prepared.execute("INSERT INTO events (what) VALUES ('prepared')")
    prepared.execute("PREPARE TRANSACTION 'payroll'")
    prepared.close()
    desk.execute("INSERT INTO orders VALUES (3, 'quick')", "INSERT INTO events (what) VALUES ('quick')")
    beside = desk.land()
    assert desk.copy("orders", "id", "note") == [(1, "a"), (3, "quick")]
    assert desk.copy("events", "what") == [("e",), ("quick",)]
    for name, report in beside.items():
        assert report.new_watermark == before[name].new_watermark
        assert "'payroll'" in report.guarantee_reason
    with desk.shop.connect() as session:
        session.autocommit = True
        session.execute("COMMIT PREPARED 'payroll'")
    after = desk.land()

    assert {name: report.rows.late for name, report in after.items()} == {"orders": 1, "events": 1}
    desk.assert_equal("orders")
    desk.assert_equal("events")


@scenario(
    "T24",
    "A session is left idle in a transaction for a whole day of the source's clock, while rows are written and synced every eight hours",
    holds="rows land at every sync, the watermark stays before that transaction and the run names the session that holds it back; "
    "what it commits in the end lands",
    long=True,
)
def test_an_idle_transaction(clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession) -> None:
    clocked.create_database("shop")
    desk = Stand(Shop.open(clocked, "shop", tmp_path, TABLES, options="unlisted: ignore"), spark)
    desk.execute(ORDERS, *touching("orders"), EVENTS)
    idle = desk.shop.connect()
    began = idle.execute("SELECT now()").fetchone()
    assert began is not None
    idle.execute("INSERT INTO orders VALUES (1, 'from the idle one')")
    idle.execute("INSERT INTO events (what) VALUES ('from the idle one')")
    pid = idle.info.backend_pid
    for number in (2, 3, 4):
        clocked.clock.step(8 * 3600)
        desk.execute(
            f"INSERT INTO orders VALUES ({number}, 'quick')", f"INSERT INTO events (what) VALUES ('quick {number}')"
        )
        reports = desk.land()
        assert {name: report.rows.inserted for name, report in reports.items()} == {"orders": 1, "events": 1}
        watermark = reports["orders"].new_watermark
        assert watermark is not None
        assert watermark.moment() < began[0]
        assert reports["events"].new_watermark is None
        assert reports["orders"].lag is not None
        assert reports["orders"].lag > (number - 1) * 8 * 3600
    assert f"pid {pid}" in reports["orders"].guarantee_reason
    idle.commit()
    idle.close()
    desk.land()

    desk.assert_equal("orders")
    desk.assert_equal("events")
    desk.assert_tidy("orders", "events")
