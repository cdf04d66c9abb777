"""T12: what is read again, on purpose."""

from __future__ import annotations

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.planning.plan import Mode
from tests.conformance.conftest import OpenStand
from tests.conformance.mart import JANUARY, stamp
from tests.conformance.scenario import scenario

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())"
READINGS = "CREATE TABLE readings (id int PRIMARY KEY, value int, at timestamptz NOT NULL DEFAULT now())"
VISITS = "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())"
EVENTS = "CREATE TABLE events (id bigint PRIMARY KEY, what text)"
TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.readings:at:timestamp!append"
- "public.visits:at:timestamp!append"
"""
ROWS = (
    "INSERT INTO orders VALUES (1, 'a', '2024-01-10Z'), (2, 'b', '2024-01-20Z'), (3, 'c', '2024-02-10Z')",
    "INSERT INTO readings VALUES (1, 10, '2024-01-10Z'), (2, 20, '2024-01-20Z'), (3, 30, '2024-02-10Z')",
    "INSERT INTO visits VALUES ('ada', '2024-01-10Z'), ('ada', '2024-01-10Z'), ('alan', '2024-02-10Z')",
)


@scenario(
    "T12",
    "A month that has landed is backfilled, and again after some of its rows were changed without a new stamp",
    holds="nothing lands twice; an upsert shows the change, an append has each version once, equal rows without a key "
    "as often as the source, and the watermark stays",
    long=True,
)
def test_a_window_replayed(stand: OpenStand) -> None:
    desk = stand(TABLES, ORDERS, READINGS, VISITS, *ROWS)
    first = desk.land()
    again = desk.land(mode=Mode.BACKFILL, window=JANUARY)
    assert {name: (report.rows.read, report.rows.inserted, report.rows.updated) for name, report in again.items()} == {
        "orders": (2, 0, 0),
        "readings": (2, 0, 0),
        "visits": (2, 0, 0),
    }
    for name in again:
        desk.assert_equal(name)

    desk.execute(
        "UPDATE orders SET note = 'corrected' WHERE id = 1",
        "UPDATE readings SET value = 11 WHERE id = 1",
        "INSERT INTO visits VALUES ('ada', '2024-01-10Z')",
    )
    changed = desk.land(mode=Mode.BACKFILL, window=JANUARY)
    desk.land(mode=Mode.BACKFILL, window=JANUARY)

    assert {name: (report.rows.inserted, report.rows.updated) for name, report in changed.items()} == {
        "orders": (0, 1),
        "readings": (1, 0),
        "visits": (1, 0),
    }
    desk.assert_equal("orders")
    desk.assert_equal("visits")
    assert desk.copy("readings", "id", "value") == [(1, 10), (1, 11), (2, 20), (3, 30)]
    assert {report.new_watermark for report in changed.values()} == {report.new_watermark for report in first.values()}
    desk.assert_tidy("orders", "readings", "visits")


@scenario(
    "T12",
    "The watermark is set back to an earlier value, and to the beginning, each time followed by a sync",
    holds="everything from there on is read again and nothing lands twice, for upsert, append, append without a key and a number as cursor",
    long=True,
)
def test_a_reset_to_an_earlier_watermark(stand: OpenStand) -> None:
    tables = TABLES + '- "public.events:id:integer!append"\n'
    events = "INSERT INTO events SELECT n, 'e' || n FROM generate_series(1, 6) AS n"
    desk = stand(tables, ORDERS, READINGS, VISITS, EVENTS, *ROWS, events)
    names = ("orders", "readings", "visits", "events")
    desk.land()
    for name in names:
        to = CursorValue(CursorType.INTEGER, "4") if name == "events" else stamp("2024-01-15T00:00:00Z")
        desk.reset(name, to)
    later = desk.land()
    assert {name: (later[name].rows.read, later[name].rows.inserted, later[name].rows.updated) for name in names} == {
        # Written anew, equal or not: nobody has watched what became of a copy before its position was set by hand.
        "orders": (2, 0, 2),
        "readings": (2, 0, 0),
        "visits": (1, 0, 0),
        "events": (3, 0, 0),
    }
    for name in names:
        desk.reset(name)
    whole = desk.land()
    assert {name: (whole[name].rows.read, whole[name].rows.inserted) for name in names} == {
        "orders": (3, 0),
        "readings": (3, 0),
        "visits": (3, 0),
        "events": (6, 0),
    }
    for name in names:
        desk.assert_equal(name)
        assert desk.kinds(name).count("reset") == 2
    desk.assert_tidy(*names)


@scenario(
    "T11",
    "A month is backfilled from the UI before the first sync ever, then all is synced",
    holds="the sync loads the rest and lands no row of that month again",
)
def test_a_backfill_before_the_first_sync(stand: OpenStand) -> None:
    desk = stand(TABLES, ORDERS, READINGS, VISITS, *ROWS)
    month = desk.land(mode=Mode.BACKFILL, window=JANUARY)
    rest = desk.land()

    assert {name: report.rows.inserted for name, report in month.items()} == {"orders": 2, "readings": 2, "visits": 2}
    assert {report.new_watermark for report in month.values()} == {None}
    assert {name: report.rows.inserted for name, report in rest.items()} == {"orders": 1, "readings": 1, "visits": 1}
    for name in rest:
        desk.assert_equal(name)
        desk.assert_tidy(name)
