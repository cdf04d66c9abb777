"""T8, T9: zones, hours that come twice, years before the calendar was mended, and stamps that no clock has reached."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

import pytest

from incremental_assets.core.model.state import State
from incremental_assets.core.planning.report import SyncReport
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import touching

STAMPS = """
    (1, timestamptz '2024-11-03 01:30:00-04'), (2, timestamptz '2024-11-03 01:30:00-05'),
    (3, timestamptz '2024-03-10 01:59:59.999999-05'), (4, timestamptz '2024-03-10 03:00:00-04'),
    (5, timestamptz '1500-02-28 23:59:59.4+00'), (6, timestamptz '1582-10-10 12:00:00+00'),
    (7, timestamptz '1883-11-18 12:03:57.999999-05'), (8, timestamptz '1969-12-31 23:59:59.999999+00')
"""
"""Both half past ones of an autumn night in New York, the edges of the hour that is missing in spring, days that the old calendar
does not have or names otherwise, the moment at which railways unified time, and the microsecond before the epoch."""

READINGS = "(9, timestamp '2024-03-10 02:30:00'), (10, timestamp '1500-02-28 23:59:59.4'), (11, timestamp '0001-01-01 00:00:00')"
"""A clock time that New York never showed, and years before the calendar was mended."""

ZONES = """
- "public.moments:at:timestamp!upsert"
- "public.readings:at:datetime!upsert"
- {table: public.tokyo, cursor: {column: at, type: datetime, zone: Asia/Tokyo}, strategy: upsert}
"""


def _in_new_york(stand: OpenStand) -> Stand:
    """A database that lives in New York, with a table of moments, one of its own clock's readings and one of Tokyo's."""
    desk = stand(ZONES)
    desk.execute(f"ALTER DATABASE {desk.shop.database} SET TimeZone = 'America/New_York'")
    desk.execute(
        "CREATE TABLE moments (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), day date DEFAULT current_date)",
        "CREATE TABLE readings (id int PRIMARY KEY, at timestamp NOT NULL DEFAULT now())",
        "CREATE TABLE tokyo (id int PRIMARY KEY, at timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'Asia/Tokyo'))",
        "CREATE FUNCTION touch_in_tokyo() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.at := now() AT TIME ZONE 'Asia/Tokyo'; RETURN NEW; END$$",
        "CREATE TRIGGER touch BEFORE UPDATE ON tokyo FOR EACH ROW EXECUTE FUNCTION touch_in_tokyo()",
        *(statement for name in ("moments", "readings") for statement in touching(name, "at")),
        f"INSERT INTO moments (id, at) VALUES {STAMPS}",
        f"INSERT INTO readings SELECT id, at AT TIME ZONE 'America/New_York' FROM (VALUES {STAMPS}) AS s (id, at)",
        f"INSERT INTO readings VALUES {READINGS}",
        f"INSERT INTO tokyo SELECT id, at AT TIME ZONE 'Asia/Tokyo' FROM (VALUES {STAMPS}) AS s (id, at)",
    )
    return desk


def _assert_same_instants(desk: Stand) -> None:
    """As whole microseconds since 1970, each side counting its own: no calendar and no zone has a say."""
    for name in ("moments", "readings", "tokyo"):
        stamp = "at" if name == "moments" else "CAST(at AS timestamp)"
        frame = desk.spark.read.format("delta").load(str(desk.shop.lake(name)))
        copy = sorted((tuple(row) for row in frame.selectExpr("id", f"unix_micros({stamp})").collect()), key=repr)
        assert copy == desk.source(f"SELECT id, (extract(epoch FROM at) * 1000000)::bigint FROM {name}"), name


@scenario(
    "T8",
    "The database lives in New York; cursors have a zone, have none, or have none and are stamped in Tokyo; stamps lie in both of an autumn's half past ones and in the year 1500",
    holds="every stamp is equal to the microsecond on both sides, and each watermark follows the clock that stamps its table, so that no fresh row is passed over",
    long=True,
)
def test_zones(stand: OpenStand) -> None:
    desk = _in_new_york(stand)
    first = desk.land()
    _assert_same_instants(desk)
    desk.execute(*(f"INSERT INTO {name} (id) VALUES (100)" for name in first))
    second = desk.land()
    desk.execute(*(f"INSERT INTO {name} (id) VALUES (101)" for name in first))
    third = desk.land()

    clock = datetime.fromisoformat(desk.source("SELECT now()::text")[0][0]).replace(tzinfo=None)
    for name, hours in {"moments": 0, "readings": _offset(desk), "tokyo": 9}.items():
        assert (second[name].rows.inserted, third[name].rows.inserted) == (1, 1), name
        behind = clock + timedelta(hours=hours) - _moment(third[name])
        assert timedelta() < behind < timedelta(minutes=10), (name, behind)
    _assert_same_instants(desk)


@scenario(
    "T8",
    "The same database, synced first by a process on a host whose own zone is New York, and then by one in UTC",
    holds="the zone of the host changes nothing",
    long=True,
)
def test_the_zone_of_the_host(stand: OpenStand, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = _in_new_york(stand)
    monkeypatch.setenv("TZ", "America/New_York")
    told = desk.shop.sync()
    monkeypatch.delenv("TZ")
    _assert_same_instants(desk)
    desk.execute(*(f"INSERT INTO {name} (id) VALUES (100)" for name in ("moments", "readings", "tokyo")))
    second = desk.land()

    assert {table["guarantee"] for table in told.values()} == {"settled"}
    assert {report.rows.inserted for report in second.values()} == {1}
    _assert_same_instants(desk)


WANDERING = """
- "public.later:at:datetime!upsert"
- {table: public.named, cursor: {column: at, type: datetime, zone: ZONE}, strategy: append}
"""


@scenario(
    "T8",
    "After a sync the database, and the `cursor.zone` of a table, go from UTC to New York's time and then to Tokyo's; new sessions stamp in the new zone while an old one goes on in UTC",
    holds="every row lands with the next sync, once; the runs say `best_effort`, name the zones and warn, until a reset says that the old sessions are gone; then a role with a zone of its own is named",
    long=True,
)
def test_a_zone_that_changes(stand: OpenStand) -> None:
    names, numbers = ("later", "named"), itertools.count(1)
    desk = stand(
        WANDERING.replace("ZONE", "UTC"),
        "CREATE TABLE later (id int PRIMARY KEY, at timestamp NOT NULL DEFAULT now())",
        "CREATE TABLE named (id int, at timestamp NOT NULL DEFAULT now())",
        *touching("later", "at"),
    )

    def inserted() -> list[str]:
        number = next(numbers)
        return [f"INSERT INTO {name} VALUES ({number})" for name in names]

    with desk.shop.connect() as old:
        old.autocommit = True
        for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
            desk.execute(f"ALTER DATABASE {desk.shop.database} SET TimeZone = '{zone}'")
            desk.shop.configure(WANDERING.replace("ZONE", zone), "unlisted: ignore\n")
            for turn in range(1 if zone == "UTC" else 2):
                desk.execute(*inserted())
                for statement in inserted():
                    old.execute(statement.encode())
                for name, report in desk.land().items():
                    assert report.guarantee == ("settled" if zone == "UTC" else "best_effort"), name
                    assert ("UTC" in report.guarantee_reason and zone in report.guarantee_reason) is (zone != "UTC")
                    assert any("stamps without a zone were read in" in told for told in report.warnings) is (
                        zone != "UTC" and turn == 0
                    )
                    assert (report.rows.inserted, report.rows.updated) == (2, 0), (name, zone, turn)
                    desk.assert_equal(name)
    for name in names:
        desk.reset(name, _state(desk, name).position.watermark)
    desk.execute(*inserted())
    assert {report.guarantee for report in desk.land().values()} == {"settled"}

    desk.execute("CREATE ROLE clerk LOGIN", "ALTER ROLE clerk SET TimeZone = 'America/New_York'")
    try:
        desk.execute("GRANT INSERT ON later TO clerk", *inserted())
        reports = desk.land()
    finally:
        desk.execute("DROP OWNED BY clerk", "DROP ROLE clerk")
    assert {name: report.guarantee for name, report in reports.items()} == {
        "later": "best_effort",
        "named": "settled",
    }
    assert "clerk" in reports["later"].guarantee_reason
    for name in names:
        desk.assert_equal(name)


FUTURE = ("land", "quarantine", "wait")


@scenario(
    "T9",
    "Rows are stamped half a minute ahead, in the year 2999, `infinity` and `-infinity`, under `future:` land, quarantine and wait; then time goes on",
    holds="no watermark ever passes the source's clock, so every later row lands, and one whose time comes lands although nothing has moved; what cannot land is in quarantine with its reason, once; a warning counts what lies in the future",
    long=True,
)
def test_stamps_that_no_clock_has_reached(stand: OpenStand) -> None:
    desk = stand(
        "\n".join(
            f"- {{table: public.{name}, cursor: {{column: at, type: timestamp}}, strategy: upsert, future: {name}}}"
            for name in FUTURE
        )
        + '\n- "public.days:day:date!upsert"',
        *(f"CREATE TABLE {name} (id int PRIMARY KEY, at timestamptz NOT NULL)" for name in FUTURE),
        *(
            f"INSERT INTO {name} VALUES (1, now()), (2, '2999-12-31 00:00+00'), (3, 'infinity'), (4, '-infinity')"
            for name in FUTURE
        ),
        "CREATE TABLE days (id int PRIMARY KEY, day date NOT NULL)",
        "INSERT INTO days VALUES (1, current_date), (2, '9999-12-31'), (3, 'infinity'), (4, '-infinity')",
    )
    first = desk.land()
    for name in first:
        desk.execute(f"INSERT INTO {name} VALUES (5, now())")
    second = desk.land()

    ((clock,),) = desk.source("SELECT now()")
    for report in (*first.values(), *second.values()):
        assert _moment(report) <= clock, f"{report.table}: the watermark ran past the clock"
    assert {name: desk.copy(name, "id") for name in first} == {
        "land": [(1,), (2,), (5,)],
        "quarantine": [(1,), (5,)],
        "wait": [(1,), (5,)],
        "days": [(1,), (2,), (5,)],
    }
    reasons = {
        name: sorted((row["id"], row["_sync_column"], row["_sync_reason"]) for row in desk.quarantined(name))
        for name in first
    }
    infinite = "infinity, or a moment after the year 294246, does not fit into a timestamp of Spark"
    assert reasons["land"] == [("3", "at", infinite), ("4", "at", infinite)]
    assert reasons["quarantine"] == [("2", "at", "stamped past the source's clock"), *reasons["land"]]
    assert reasons["wait"] == [("4", "at", infinite)], "the others wait in the source"
    assert [row[0] for row in reasons["days"]] == ["3", "4"]
    assert any("1 row is stamped past the source's clock" in text for text in first["land"].warnings), first["land"]

    # Soon: it has to wait or lies in quarantine, and lands when its time has come, though nothing else happens.
    late = [name for name in FUTURE if name != "land"]
    for name in late:
        desk.execute(f"INSERT INTO {name} VALUES (6, clock_timestamp() + interval '30 seconds')")
    desk.land(*late)
    assert [desk.copy(name, "id") for name in late] == [[(1,), (5,)]] * 2
    assert "6" in {row["id"] for row in desk.quarantined("quarantine")}
    desk.source(
        "SELECT pg_sleep_until(max(at)) FROM (SELECT * FROM quarantine UNION ALL SELECT * FROM wait) AS rows WHERE id = 6"
    )
    assert {name: report.rows.inserted for name, report in desk.land(*late).items()} == dict.fromkeys(late, 1)
    assert [desk.copy(name, "id") for name in late] == [[(1,), (5,), (6,)]] * 2


def _state(desk: Stand, name: str) -> State:
    return next(event.state for event in reversed(desk.events(name)) if event.state is not None)


def _moment(report: SyncReport) -> datetime:
    assert report.new_watermark is not None
    return report.new_watermark.moment().replace(tzinfo=None)


def _offset(desk: Stand) -> int:
    """Of New York's clock now, in hours."""
    ((hours,),) = desk.source(
        "SELECT extract(hour FROM now() AT TIME ZONE 'America/New_York' - now() AT TIME ZONE 'UTC')::int"
    )
    return int(hours)
