"""T24: rows that become visible apart from the transaction that stamped them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = "(id int, note text, at timestamptz NOT NULL DEFAULT now())"
BOTH = ("orders", "visits")


@scenario(
    "T24",
    "Tables filled years ago are attached as a partition and made an inheritance child; one is detached, gets a row with an old stamp, and is attached again",
    holds="each lands whole with the next sync, once, under append and upsert, and the runs stay `settled`; what left is warned about and its rows stay; quiet tables are idle",
)
def test_partitions_that_come_and_go(stand: OpenStand) -> None:
    desk = stand(
        """
        - {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, primary_key: [id]}
        - "public.visits:at:timestamp!append"
        """,
        f"CREATE TABLE orders {ORDERS} PARTITION BY RANGE (at)",
        "CREATE TABLE orders_now PARTITION OF orders FOR VALUES FROM ('2020-01-01') TO (MAXVALUE)",
        f"CREATE TABLE visits {ORDERS}",
        *touching("orders", "at"),
        *(f"INSERT INTO {name} VALUES (1, 'of today')" for name in BOTH),
        *(f"CREATE TABLE {name}_old (LIKE {name} INCLUDING ALL)" for name in BOTH),
        *(f"INSERT INTO {name}_old VALUES (2, 'old', '2011-05-06'), (3, 'older', '2010-05-06')" for name in BOTH),
    )
    come = (
        "ALTER TABLE orders ATTACH PARTITION orders_old FOR VALUES FROM ('2010-01-01') TO ('2012-01-01')",
        "ALTER TABLE visits_old INHERIT visits",
    )
    go = ("ALTER TABLE orders DETACH PARTITION orders_old", "ALTER TABLE visits_old NO INHERIT visits")
    assert {report.rows.inserted for report in desk.land().values()} == {1}
    desk.execute(*come)
    second = desk.land()
    assert_landed_beside(desk, second, inserted=2)
    assert {report.status for report in desk.sync().values()} == {Status.IDLE}

    desk.execute(*go)
    left = desk.land()
    desk.execute(*(f"INSERT INTO {name}_old VALUES (4, 'while away', '2011-06-07')" for name in BOTH))
    away = desk.land()
    desk.execute(*come)
    third = desk.land()
    assert {
        name: [told for told in report.warnings if "left the table" in told] != [] for name, report in left.items()
    } == {
        "orders": True,
        "visits": True,
    }
    assert {report.warnings for report in away.values()} == {()}
    assert_landed_beside(desk, third, inserted=1)
    desk.assert_tidy(*BOTH)


@scenario(
    "T24",
    "Between two syncs a partition is taken out, a row of it is changed and it is put back; of another table the trigger that stamps is switched off in one partition, a row is changed and it is switched on",
    holds="what was put back is read whole, and the run is `settled`; the other run is `best_effort`, says why, and `check` finds the row; a partition that comes or goes alone is neither",
)
def test_a_part_changes_without_the_trigger_of_its_table(stand: OpenStand) -> None:
    names = ("taken_out", "switched_off")
    desk = stand(
        "\n".join(f'- "public.{name}:at:timestamp!upsert"' for name in names),
        *(
            statement
            for name in names
            for statement in (
                f"CREATE TABLE {name} (id int PRIMARY KEY, v int, at timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (id)",
                f"CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES FROM (0) TO (10)",
                f"CREATE TABLE {name}_2 PARTITION OF {name} FOR VALUES FROM (10) TO (20)",
                *touching(name, "at"),
                f"INSERT INTO {name} SELECT n, n, '2024-01-01' FROM generate_series(1, 15) AS n",
            )
        ),
    )
    desk.land()
    desk.execute(
        "ALTER TABLE taken_out DETACH PARTITION taken_out_1",
        "UPDATE taken_out_1 SET v = 99 WHERE id = 3",
        "ALTER TABLE taken_out ATTACH PARTITION taken_out_1 FOR VALUES FROM (0) TO (10)",
        "ALTER TABLE switched_off_1 DISABLE TRIGGER ALL",
        "UPDATE switched_off SET v = 98 WHERE id = 3",
        "ALTER TABLE switched_off_1 ENABLE TRIGGER ALL",
    )
    reports = desk.land()
    assert {name: report.guarantee for name, report in reports.items()} == {
        "taken_out": Guarantee.SETTLED,
        "switched_off": Guarantee.BEST_EFFORT,
    }
    assert "was altered since the last sync" in reports["switched_off"].guarantee_reason
    assert {name: desk.check(name) for name in names} == {"taken_out": 0, "switched_off": 1}

    desk.execute(
        *(f"CREATE TABLE {name}_3 PARTITION OF {name} FOR VALUES FROM (20) TO (30)" for name in names),
        *(f"DROP TABLE {name}_2" for name in names),
    )
    assert {report.guarantee for report in desk.land().values()} == {Guarantee.SETTLED}


def assert_landed_beside(desk: Stand, reports: dict[str, SyncReport], *, inserted: int) -> None:
    for name, report in reports.items():
        assert (report.guarantee, report.rows.inserted, report.rows.updated) == ("settled", inserted, 0), name
        assert any("joined the table" in told for told in report.warnings), report.warnings
        desk.assert_equal(name)


@scenario(
    "T24",
    "A row lies in the base of a materialized view before a sync, and appears there at a REFRESH after it; a row of a view appears by a change in another table",
    holds="every run of them says `best_effort` and why beforehand; a `lookback` as wide as the delay lands the rows",
)
def test_views(stand: OpenStand) -> None:
    names = ("refreshed", "joined")
    desk = stand(
        "\n".join(
            f"- {{table: public.{name}{suffix}, cursor: {{column: at, type: timestamp}}, strategy: append, {more}}}"
            for name in names
            for suffix, more in (("", "lookback: 0s"), ("_wary", "lookback: 1h"))
        ),
        f"CREATE TABLE base {ORDERS}",
        "CREATE TABLE released (id int)",
        *(f"CREATE MATERIALIZED VIEW refreshed{suffix} AS SELECT * FROM base" for suffix in ("", "_wary")),
        *(
            f"CREATE VIEW joined{suffix} AS SELECT b.* FROM base AS b JOIN released USING (id)"
            for suffix in ("", "_wary")
        ),
        "INSERT INTO released VALUES (1)",
        "INSERT INTO base VALUES (1, 'seen')",
        "REFRESH MATERIALIZED VIEW refreshed",
        "REFRESH MATERIALIZED VIEW refreshed_wary",
        "INSERT INTO base VALUES (2, 'stamped before it is seen', now() - interval '1 minute')",
    )
    first = desk.land()
    desk.execute(
        "REFRESH MATERIALIZED VIEW refreshed",
        "REFRESH MATERIALIZED VIEW refreshed_wary",
        "INSERT INTO released VALUES (2)",
    )
    second = desk.land()

    for name, report in {**first, **second}.items():
        assert report.guarantee == "best_effort"
        assert ("at a REFRESH" if name.startswith("refreshed") else "it is a view") in report.guarantee_reason
    for name in names:
        desk.assert_equal(f"{name}_wary")


@scenario(
    "T24",
    "A table is filled by a logical subscription, which stands still while the publisher goes on, and then applies a row that was stamped before a sync",
    holds="every run of it says `best_effort` and why beforehand; a `lookback` as wide as the delay lands the row; a table beside it stays `settled`",
    long=True,
)
def test_a_table_of_a_subscription(tmp_path: Path, spark: SparkSession) -> None:
    with EmbeddedPostgres(tmp_path / "server", settings={"wal_level": "logical", "fsync": "off"}) as server:
        try:
            _play_subscription(server, tmp_path, spark)
        finally:
            server.remove()


def _play_subscription(server: EmbeddedPostgres, folder: Path, spark: SparkSession) -> None:
    for name in ("publisher", "subscriber"):
        server.create_database(name)
    published = Shop(server, "publisher", folder)
    published.execute(f"CREATE TABLE orders {ORDERS}", "CREATE PUBLICATION orders FOR TABLE orders")
    published.execute("SELECT pg_create_logical_replication_slot('orders', 'pgoutput')")
    tables = """
        - {table: public.orders, cursor: {column: at, type: timestamp}, strategy: append, lookback: 1h}
        - "public.own:at:timestamp!append"
        """
    desk = Stand(Shop.open(server, "subscriber", folder, tables, options="unlisted: ignore\n"), spark)
    desk.execute(f"CREATE TABLE orders {ORDERS}", f"CREATE TABLE own {ORDERS}")
    with desk.shop.connect() as owner:
        owner.autocommit = True
        owner.execute(
            f"CREATE SUBSCRIPTION orders CONNECTION '{server.dsn('publisher')}' PUBLICATION orders "
            "WITH (create_slot = false, slot_name = 'orders', copy_data = false)".encode()
        )
        owner.execute("ALTER SUBSCRIPTION orders DISABLE")
        published.execute("INSERT INTO orders VALUES (1, 'stamped before it is seen')")
        desk.execute("INSERT INTO own VALUES (1, 'own')", "SELECT pg_sleep(2.5)")
        first = desk.land()
        owner.execute("ALTER SUBSCRIPTION orders ENABLE")
        _wait_for_row(desk)
        second = desk.land()
        owner.execute("ALTER SUBSCRIPTION orders DISABLE")
        owner.execute("ALTER SUBSCRIPTION orders SET (slot_name = NONE)")
        owner.execute("DROP SUBSCRIPTION orders")

    for report in (first["orders"], second["orders"]):
        assert report.guarantee == "best_effort"
        assert "logical subscription" in report.guarantee_reason
    assert first["own"].guarantee == "settled"
    assert first["orders"].new_watermark is not None
    ((stamp,),) = desk.source("SELECT at FROM orders")
    assert stamp < first["orders"].new_watermark.moment().replace(tzinfo=None), "else the scenario plays nothing"
    desk.assert_equal("orders")


def _wait_for_row(desk: Stand) -> None:
    """A minute at most, asked anew each time: a sleep alone would hide that nothing comes."""
    for _ in range(600):
        if desk.source("SELECT 1 FROM orders"):
            return
        desk.execute("SELECT pg_sleep(0.1)")
    raise AssertionError("the subscription applies nothing")
