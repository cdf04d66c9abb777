"""SQL Server, which was never run against a real server: its SQL, its types, its bound, and the whole of a look on recorded answers."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.cli.findings.finding import Health
from incremental_assets.cli.findings.of_source import of_source
from incremental_assets.cli.findings.of_table import of_table
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.config.database_settings import DatabaseSettings
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.source_identity import Compared
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import NothingToDo, SyncPlan
from incremental_assets.core.strategies import Strategy
from incremental_assets_experimental.rowwise.activity import earliest, zone_of
from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED
from incremental_assets_experimental.sqlserver import bound, connect, row_dialect, settings
from incremental_assets_experimental.sqlserver.bound import Answers, bound_of
from plugins.experimental.tests.recorded import Recorded, decided, synced

ADDRESS = Address("sqlserver", "127.0.0.1", 1433, "shop", "reader", "hunter2", schemas=("dbo",))
GOLDEN = Path(__file__).with_name("golden") / "sqlserver.sql"
NOW = "2024-05-01T10:00:00.0000000"
SERVER = ("shop", "READ_WRITE", 1, 1)
TEN = datetime(2024, 5, 1, 10, tzinfo=UTC)
FORK = "11111111-2222-3333-4444-555555555555"
COLUMNS = [
    ("dbo", "orders", "id", "", "int", 4, 10, 0, False, 1, None),
    ("dbo", "orders", "note", "", "nvarchar", 100, 0, 0, True, None, "what was said"),
    ("dbo", "orders", "price", "", "decimal", 9, 10, 2, True, None, None),
    ("dbo", "orders", "updated_at", "", "datetime2", 8, 26, 6, False, None, None),
    ("dbo", "orders", "version", "", "timestamp", 8, 0, 0, False, None, None),
]


def translated(sql: str) -> str:
    """For SQLite, whose times are texts and whose versions are numbers."""
    sql = re.sub(r"CONVERT\(binary\(8\), CONVERT\(bigint, (\d+)\)\)", r"\1", sql)
    sql = re.sub(r"CONVERT\(datetime2\(7\), '([^']+)'\)", r"'\1'", sql)
    sql = re.sub(r"CONVERT\(bigint, ((?:[A-Z]+\()?\[\w+\]\)?)\)", r"\1", sql)
    sql = re.sub(r"CONVERT\(varbinary\(max\), CONVERT\(nvarchar\(max\), (\[\w+\])\)\)", r"utf16(\1)", sql)
    return sql.replace("MIN_ACTIVE_ROWVERSION()", "1000").replace("COUNT_BIG", "COUNT")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    began = time.monotonic()

    def clock(sql: str) -> list[Any]:
        return [((TEN + timedelta(seconds=time.monotonic() - began)).isoformat()[:26], 0)]

    connection = Recorded(
        "dbo",
        {
            "SYSDATETIMEOFFSET": clock,
            "Updateability": [SERVER],
            "dm_exec_requests": [],
            "dm_tran_active_transactions": [],
            "dm_db_log_stats": [("b", "d", FORK, "00000021:000000e8:0001")],
            "dm_os_sys_info": [(3_600_000,)],
            "ProductVersion": [("16.0.1000.6", "reader", 0)],
            "sys.security_predicates": [],
            "sys.identity_columns": COLUMNS,
            "sys.extended_properties": [("dbo", "orders", "U ", 1, 3, 8192, False, False, None)],
            "x.is_primary_key": [("dbo", "orders", "PK", True, "id")],
            "AS o WHERE o.object_id": [(1, 1, 0, 3, 0)],
            "k.key_ordinal = 1": [(1,)],
            "default_object_id": [(1,)],
        },
        translated,
    )
    connection.tables.create_function("utf16", 1, lambda text: None if text is None else text.encode("utf-16-le"))
    connection.tables.execute("CREATE TABLE dbo.orders (id, note, price, updated_at, version)")
    rows = [
        (1, "first", "1.50", "2024-05-01T09:00:00", 101),
        (2, "naïve, 🎉", None, "2024-05-01T09:30:00.5", 102),
        (3, None, "3.25", "2024-05-01T09:59:59", 103),
    ]
    connection.tables.executemany("INSERT INTO dbo.orders VALUES (?, ?, ?, ?, ?)", rows)
    monkeypatch.setattr(row_dialect, "SQL_SERVER", replace(row_dialect.SQL_SERVER, connect=lambda _: connection))
    return connection


def spec_of(cursor: Cursor) -> TableSpec:
    (shape,) = SqlProbe(ADDRESS, "shop").catalogue()
    return TableSpec(shape, Strategy.UPSERT, cursor, key=("id",), key_enforced=True)


BY_TIME = Cursor("updated_at", CursorType.DATETIME, zone="UTC")
BY_VERSION = Cursor("version", CursorType.INTEGER)
BY_TRANSACTION = Cursor("version", CursorType.INTEGER, by_transaction=True, is_own=True)


# --- the whole of a look ------------------------------------------------------------------------------


def test_the_catalogue_tells_columns_types_key_and_what_draws_the_numbers(server: Recorded) -> None:
    (shape,) = SqlProbe(ADDRESS, "shop").catalogue()
    assert [(column.name, column.source_type, column.spark_type) for column in shape.columns] == [
        ("id", "int", "int"),
        ("note", "nvarchar(50)", "string"),
        ("price", "decimal(10,2)", "decimal(10,2)"),
        ("updated_at", "datetime2(6)", "timestamp_ntz"),
        ("version", "rowversion", "bigint"),
    ]
    assert (shape.primary_key, shape.rows, shape.columns[1].comment) == (("id",), 3, "what was said")
    assert [column.sequence.name for column in shape.columns if column.sequence] == [
        "IDENTITY of orders",
        "rowversion of the database",
    ]


@pytest.mark.parametrize("cursor", [BY_TIME, BY_VERSION], ids=["time", "rowversion"])
def test_rows_are_read_once_and_a_later_one_with_the_next_sync(server: Recorded, cursor: Cursor) -> None:
    spec = spec_of(cursor)
    rows, state = synced(ADDRESS, spec)
    assert rows.column("c0").to_pylist() == [1, 2, 3]
    assert rows.column("c1").to_pylist() == ["first", "naïve, 🎉", None]
    assert rows.column("c2").to_pylist() == [Decimal("1.50"), None, Decimal("3.25")]
    assert rows.column("c3").to_pylist()[1] == datetime.fromisoformat("2024-05-01T09:30:00.500000")
    assert server.events.count("snapshot") == server.events.count("over") == 1
    assert isinstance(decided(ADDRESS, spec, state), NothingToDo)

    server.tables.execute("INSERT INTO dbo.orders VALUES (4, 'later', NULL, '2024-05-01T09:59:59.9', 104)")
    rows, state = synced(ADDRESS, spec, state)

    assert 4 in rows.column("c0").to_pylist()
    assert 1 not in rows.column("c0").to_pylist()
    assert isinstance(decided(ADDRESS, spec, state), NothingToDo)


def test_every_run_says_that_no_server_has_played_it(server: Recorded) -> None:
    for spec in (spec_of(BY_TIME), replace(spec_of(BY_TIME), strategy=Strategy.FULL_REFRESH)):
        decision = decided(ADDRESS, spec)
        assert isinstance(decision, SyncPlan)
        assert decision.reading.settled.guarantee is Guarantee.BEST_EFFORT
        assert UNPLAYED in decision.reading.settled.reason


def test_plan_shows_the_select_and_says_that_no_server_has_played_it(server: Recorded) -> None:
    decision = decided(ADDRESS, spec_of(BY_TIME))
    assert isinstance(decision, SyncPlan)
    (found,) = SqlProbe(ADDRESS, "shop").estimates([decision])
    assert found.sql.startswith(
        "SELECT [id], CONVERT(varbinary(max), CONVERT(nvarchar(max), [note])), [price], [updated_at], CONVERT(bigint, [version]) FROM [dbo].[orders]"
    )
    assert UNPLAYED in found.unknown


def test_doctor_says_of_every_table_that_no_server_has_played_it(server: Recorded) -> None:
    spec, probe = spec_of(BY_TIME), SqlProbe(ADDRESS, "shop")
    facts = probe.facts((Wanted(spec.id, ("updated_at",)),))
    (table,) = facts.tables
    assert (table.exists, table.readable, table.writable, table.unindexed) == (True, True, False, ())
    found = [each for each in of_table(spec, table, facts, landed=True) if each.topic == "experimental"]
    assert [(each.health, UNPLAYED in each.detail) for each in found] == [(Health.WARN, True)]


def test_doctor_calls_no_bound_settled_and_says_which_permission_or_setting_is_missing(server: Recorded) -> None:
    source = SourceConfig("shop", "sqlserver", DatabaseSettings("sqlserver", "127.0.0.1", 1433, "shop", "reader"))
    for answer, said in (
        (("shop", "READ_WRITE", 1, 1), UNPLAYED),
        (("shop", "READ_WRITE", 1, 0), "cannot be seen"),
        (("shop", "READ_WRITE", 0, 1), "ALLOW_SNAPSHOT_ISOLATION ON"),
        (("shop", "READ_ONLY", 1, 1), "replica"),
    ):
        server.answers = {**server.answers, "Updateability": [answer]}
        found = [each for each in of_source(source, SqlProbe(ADDRESS, "shop").facts(())) if each.topic == "guarantee"]
        assert [each.health for each in found] == [Health.WARN]
        assert said in found[0].detail + found[0].cure


def test_an_open_transaction_holds_the_watermark_below_its_begin(server: Recorded) -> None:
    server.answers = {
        **server.answers,
        "dm_tran_active_transactions": [(7, "2024-05-01T09:20:00", 2, 55, "app", "till")],
    }
    spec = spec_of(BY_TIME)
    decision = decided(ADDRESS, spec)
    assert isinstance(decision, SyncPlan)
    assert decision.reading.settled.value is not None
    assert str(decision.reading.settled.value) <= "2024-05-01T09:20:00"
    assert decision.reading.bound.holder == "session 55, app, till"


def test_of_a_row_version_only_those_below_the_smallest_active_one_count(server: Recorded) -> None:
    server.tables.execute("INSERT INTO dbo.orders VALUES (9, 'while others write', NULL, '2024-05-01T09:00:00', 1000)")
    (found,) = SqlProbe(ADDRESS, "shop").highest((spec_of(BY_VERSION),))
    assert found == CursorValue(CursorType.INTEGER, "103")


def test_the_one_row_version_of_a_table_is_found_by_its_type_and_stays_its_own_column(server: Recorded) -> None:
    (shape,) = SqlProbe(ADDRESS, "shop").catalogue()
    assert shape.numbering == shape.columns[4]
    assert shape.numbered() == shape
    server.answers = {
        **server.answers,
        "sys.extended_properties": [("dbo", "orders", "V ", 1, 3, 8192, None, None, None)],
    }
    (view,) = SqlProbe(ADDRESS, "shop").catalogue()
    assert view.numbering is None


def test_by_the_row_version_all_below_the_smallest_active_one_has_settled_whoever_is_at_work(server: Recorded) -> None:
    spec, oldest = spec_of(BY_TRANSACTION), 103
    server.answers = {
        "SELECT CONVERT(bigint, MIN_ACTIVE_ROWVERSION())": lambda _: [(oldest,)],
        **server.answers,
        "dm_tran_active_transactions": [(7, "2024-05-01T08:00:00", 2, 55, "app", "till")],
    }
    rows, state = synced(ADDRESS, spec)
    assert rows.column("c0").to_pylist() == [1, 2, 3]
    assert str(state.position.watermark) == "103", "the third may have company that commits later"

    server.tables.execute("INSERT INTO dbo.orders VALUES (4, 'later', NULL, '2024-05-01T09:00:00', 106)")
    server.tables.execute("INSERT INTO dbo.orders VALUES (5, 'late', NULL, '2024-05-01T09:00:00', 104)")
    oldest = 107
    rows, state = synced(ADDRESS, spec, state)

    assert sorted(rows.column("c0").to_pylist()) == [3, 4, 5]
    assert str(state.position.watermark) == "107"
    assert isinstance(decided(ADDRESS, spec, state), NothingToDo)


def test_measure_and_keys_are_made_of_the_same_rows(server: Recorded) -> None:
    spec, probe = spec_of(BY_TIME), SqlProbe(ADDRESS, "shop")
    halves = tuple(
        Window(lower and CursorValue(CursorType.DATETIME, lower), upper and CursorValue(CursorType.DATETIME, upper))
        for lower, upper in ((None, "2024-05-01T09:30:00"), ("2024-05-01T09:30:00", None))
    )
    whole = probe.measure(spec, (Window(None, None),))[0]
    parts = probe.measure(spec, halves)
    assert [each.rows for each in parts] == [1, 2]
    assert sum(int(each.digest) for each in parts) == int(whole.digest)
    with probe.keys(spec) as keys:
        assert keys.present(frozenset({"1", "2", "9"})) == {"1", "2"}


def test_rows_and_keys_that_something_cuts_are_refused(server: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, whole = spec_of(BY_TIME), server.rows
    monkeypatch.setattr(server, "rows", lambda sql: islice(whole(sql), 2 if sql.startswith("SELECT [id]") else None))
    with pytest.raises(SourceRefused, match="the source counts 3 rows and sent 2, so nothing was written"):
        synced(ADDRESS, spec)
    with pytest.raises(SourceRefused, match="counts 3 rows and sent 2"), SqlProbe(ADDRESS, "shop").keys(spec):
        pass


def test_the_sql_of_a_look_and_a_read_is_as_it_was_reviewed(server: Recorded) -> None:
    server.answers = {**server.answers, "SYSDATETIMEOFFSET": [(NOW, 0)]}
    synced(ADDRESS, spec_of(BY_TIME))
    decided(ADDRESS, spec_of(BY_VERSION))
    server.answers = {"SELECT CONVERT(bigint, MIN_ACTIVE_ROWVERSION())": [(1000,)], **server.answers}
    decided(ADDRESS, spec_of(BY_TRANSACTION))
    SqlProbe(ADDRESS, "shop").facts((Wanted(TableId("shop", "dbo", "orders"), ("updated_at",)),))
    asked = "\n;\n".join([*connect.statements(ADDRESS), settings.QUESTION, *dict.fromkeys(server.asked)]) + "\n"
    assert asked == GOLDEN.read_text(encoding="utf-8")


# --- the settled bound --------------------------------------------------------------------------------

QUIET = Answers((NOW, 0), SERVER, identity=("b", "d", FORK, "00000021:000000e8:0001"), uptime=(5_000,), listed=(NOW, 0))


def test_nobody_at_work_is_nobody() -> None:
    found = bound_of(QUIET)
    assert (found.clock, found.oldest, found.blind, found.prepared, found.zone) == (TEN, None, "", None, "UTC")
    assert found.started == TEN - timedelta(seconds=5)


def test_the_oldest_of_requests_and_transactions_holds() -> None:
    found = bound_of(
        replace(
            QUIET,
            requests=[(51, "2024-05-01T09:59:00", "a", "x")],
            transactions=[(7, "2024-05-01T09:58:00", 2, 52, "b", "y")],
        )
    )
    assert (found.oldest, found.holder) == (TEN - timedelta(minutes=2), "session 52, b, y")
    assert found.newest == TEN - timedelta(minutes=1)


@pytest.mark.parametrize("state_and_session", [(5, None), (2, None), (5, 52)])
def test_a_prepared_transaction_stops_the_watermark(state_and_session: tuple[int, int | None]) -> None:
    found = bound_of(replace(QUIET, transactions=[(7, "2024-05-01T09:58:00", *state_and_session, None, None)]))
    assert found.prepared is not None
    assert "coordinator" in found.prepared


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (("shop", "READ_WRITE", 1, 0), "GRANT VIEW SERVER STATE"),
        (("sh]op", "READ_WRITE", 0, 1), "ALTER DATABASE [sh]]op] SET ALLOW_SNAPSHOT_ISOLATION ON"),
        (("shop", "READ_ONLY", 1, 1), "read the primary"),
    ],
)
def test_what_could_not_be_seen_is_said_with_its_cure(server: tuple[Any, ...], said: str) -> None:
    assert said in bound_of(replace(QUIET, server=server)).blind


def test_without_the_permission_nothing_is_asked_that_would_be_refused(server: Recorded) -> None:
    server.answers = {**server.answers, "Updateability": [("shop", "READ_WRITE", 1, 0)]}
    assert "VIEW SERVER STATE" in SqlProbe(ADDRESS, "shop").bound().blind
    assert not any("sys.dm_" in sql for sql in server.asked)


def test_a_begin_in_an_hour_that_was_shown_twice_is_the_first() -> None:
    """Central Europe on 2024-10-27: 02:30 was at 00:30Z and again at 01:30Z."""
    clock = datetime(2024, 10, 27, 1, 40, tzinfo=UTC)
    assert earliest("2024-10-27T02:30:00", 60, clock) == datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
    assert earliest("2024-10-26T23:00:00", 60, clock) <= datetime(2024, 10, 26, 21, tzinfo=UTC)
    assert earliest("2024-06-01T12:00:00", 0, datetime(2024, 6, 1, 13, tzinfo=UTC)) == datetime(
        2024, 6, 1, 12, tzinfo=UTC
    )


@pytest.mark.parametrize(("offset", "zone"), [(0, "UTC"), (120, "Etc/GMT-2"), (-300, "Etc/GMT+5"), (330, "+05:30")])
def test_the_zone_of_stamps_is_the_offset_of_the_server(offset: int, zone: str) -> None:
    assert zone_of(offset) == zone


def test_a_restored_database_is_older_a_recovered_one_is_on_another_fork_and_another_one_is_another() -> None:
    def of(*identity: str) -> Any:
        return bound_of(replace(QUIET, identity=identity)).identity

    here = of("b", "d", FORK, "00000021:000000e8:0002")
    assert of("b", "d", FORK, "00000021:000000e8:0001").compared_with(here) is Compared.OLDER
    assert of("b", "d", FORK, "00000022:00000001:0001").compared_with(here) is Compared.SAME
    assert of("b", "d", FORK[::-1], "00000022:00000001:0001").timeline != here.timeline
    assert of("x", "y", FORK, "00000022:00000001:0001").compared_with(here) is Compared.OTHER


# --- doctor -------------------------------------------------------------------------------------------


def test_the_sql_for_a_new_user_names_every_grant_and_no_password() -> None:
    wanted = (Wanted(TableId("shop", "dbo", "or]ders"), ("updated_at",)),)
    found = dialect_of("sqlserver").missing_sql(ADDRESS, wanted, None, ("sales",))
    assert found.splitlines() == [
        "USE [master];",
        "-- first give it a login: CREATE LOGIN [reader] WITH PASSWORD = N'…'",
        "GRANT VIEW SERVER STATE TO [reader];",
        "GRANT VIEW ANY DEFINITION TO [reader];",
        "ALTER DATABASE [shop] SET ALLOW_SNAPSHOT_ISOLATION ON;",
        "USE [shop];",
        "CREATE USER [reader] FOR LOGIN [reader];",
        "GRANT SELECT ON SCHEMA::[sales] TO [reader];",
        "GRANT SELECT ON [dbo].[or]]ders] TO [reader];",
    ]


def test_nothing_is_missing_where_all_is_granted_and_snapshots_are_missed_by_name(server: Recorded) -> None:
    probe, wanted = SqlProbe(ADDRESS, "shop"), (Wanted(TableId("shop", "dbo", "orders"), ("updated_at",)),)
    facts = probe.facts(wanted)
    assert dialect_of("sqlserver").missing_sql(ADDRESS, wanted, facts) == ""
    server.answers = {**server.answers, "Updateability": [("shop", "READ_WRITE", 0, 1)]}
    facts = probe.facts(wanted)
    assert "ALLOW_SNAPSHOT_ISOLATION ON" in dialect_of("sqlserver").missing_sql(ADDRESS, wanted, facts)
    assert bound.blind("shop", "READ_WRITE", snapshots=False, sees=True) == facts.unsettled
