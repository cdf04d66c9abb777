"""T22: a sync that has nothing to do."""

from __future__ import annotations

from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import statuses
from tests.spark_jobs import jobs

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())"
VISITS = "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())"
EVENTS = "CREATE TABLE events (id bigint PRIMARY KEY, what text)"
COUNTRIES = "CREATE TABLE countries (code text PRIMARY KEY, name text)"
TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.visits:at:timestamp!append"
- "public.events:id:integer!append"
- table: public.countries
  strategy: full_refresh
"""
NAMES = ("orders", "visits", "events", "countries")
IDLE = dict.fromkeys(NAMES, Status.IDLE)


@scenario(
    "T22",
    "Nothing moved; then only rows below the watermark changed, without a new stamp; then a forgotten transaction holds the newest rows back",
    holds="each time: no Spark job, no Delta commit, no new file in the log, nothing added twice",
    bugs=("airbyte #15158", "airbyte #72936"),
)
def test_an_idle_sync_costs_nothing(stand: OpenStand) -> None:
    desk = stand(
        TABLES,
        ORDERS,
        VISITS,
        EVENTS,
        COUNTRIES,
        "INSERT INTO orders VALUES (1, 'a', '2024-01-10Z'), (2, 'b', '2024-01-20Z')",
        "INSERT INTO visits VALUES ('ada', '2024-01-10Z'), ('ada', '2024-01-10Z')",
        "INSERT INTO events SELECT n, 'begun' FROM generate_series(1, 2000) n",
        "INSERT INTO countries VALUES ('FR', 'France')",
    )
    desk.land()
    files = {name: sorted(path.name for path in (desk.shop.lake(name) / "_delta_log").iterdir()) for name in NAMES}
    versions = {name: desk.versions(name) for name in NAMES}
    begun = jobs(desk.spark)

    assert statuses(desk.land()) == IDLE
    # Numbers settle a little later, and the fingerprint follows with the look after that.
    desk.settled("events")
    desk.land("events")
    desk.execute("UPDATE orders SET note = 'quietly' WHERE id = 1", "UPDATE events SET what = 'quietly' WHERE id = 1")
    assert statuses(desk.land()) == IDLE
    assert jobs(desk.spark) == begun
    assert {name: desk.versions(name) for name in NAMES} == versions
    assert {
        name: sorted(path.name for path in (desk.shop.lake(name) / "_delta_log").iterdir()) for name in NAMES
    } == files

    forgotten = desk.shop.connect()
    forgotten.execute("SELECT count(*) FROM orders")
    desk.execute("INSERT INTO orders VALUES (3, 'new')", "INSERT INTO visits VALUES ('alan')")
    moved = desk.land()
    assert (moved["orders"].status, moved["visits"].status) == (Status.LANDED, Status.LANDED)
    begun, versions = jobs(desk.spark), {name: desk.versions(name) for name in NAMES}
    assert [statuses(desk.land()) for _ in range(2)] == [IDLE, IDLE]
    assert jobs(desk.spark) == begun
    assert {name: desk.versions(name) for name in NAMES} == versions
    forgotten.close()
    assert desk.copy("visits", "who") == [("ada",), ("ada",), ("alan",)]
    desk.assert_tidy(*NAMES)
