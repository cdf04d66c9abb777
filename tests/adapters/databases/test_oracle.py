"""Oracle, which was not played against a server: its SQL, its types, its bound and its refusals, and the whole of a look on recorded answers."""

from __future__ import annotations

import inspect
import re
import socket
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import oracledb
import pytest
from oracledb.errors import _Error

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.oracle import bound, connect, row_dialect, words
from incremental_assets.adapters.databases.oracle.bound import Answers, bound_of
from incremental_assets.adapters.databases.oracle.errors import explain
from incremental_assets.adapters.databases.oracle.types import beyond, converter, declared, shown, spark_type
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.databases.rowwise.row_dialect import UNPLAYED, Unfit
from incremental_assets.cli.findings import Health, of_source, of_table
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.errors import SetupError, SourceRefused, SourceUnreachable, TableMissing
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.source_identity import Compared
from incremental_assets.core.model.table import Arrival, Column, Cursor, Fidelity, TableId, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import NothingToDo
from incremental_assets.core.planning.settled_bound import Guarantee
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases.recorded import Recorded, decided, planned, synced

ADDRESS = Address("oracle", "127.0.0.1", 1521, "shop", "reader", "hunter2", schemas=("SHOP",))
GOLDEN = Path(__file__).with_name("golden") / "oracle.sql"
NOW = "2024-05-01T10:00:00.000000"
TEN = datetime(2024, 5, 1, 10, tzinfo=UTC)
ORDERS = TableId("shop", "SHOP", "ORDERS")
IDENTITY = (4001, 4002, 17, 5_000_000)
NUMBERS = ("ISEQ$$_1", "ALWAYS", 1, "N")
NONE = (None, None, None, None)
COLUMNS = [
    ("SHOP", "ORDERS", "ID", None, "NUMBER", 0, None, 10, 0, "N", *NUMBERS, None),
    ("SHOP", "ORDERS", "NOTE", None, "VARCHAR2", 50, "C", None, None, "Y", *NONE, "what was said"),
    ("SHOP", "ORDERS", "PRICE", None, "NUMBER", 0, None, 10, 2, "Y", *NONE, None),
    ("SHOP", "ORDERS", "WEIGHT", None, "NUMBER", 0, None, None, None, "Y", *NONE, None),
    ("SHOP", "ORDERS", "UPDATED_AT", None, "TIMESTAMP(6)", 0, None, None, 6, "N", *NONE, None),
    ("SHOP", "ORDERS", "SHIPPED", None, "DATE", 0, None, None, None, "N", *NONE, None),
]


def refusal(number: int, text: str = "table or view does not exist") -> oracledb.DatabaseError:
    """As the driver raises it."""
    return oracledb.DatabaseError(_Error(message=f"ORA-{number:05}: {text}", code=number))


def refused(number: int) -> Any:
    def answer(sql: str) -> list[Any]:
        raise refusal(number)

    return answer


def translated(sql: str) -> str:
    """For SQLite, whose moments are texts."""
    sql = re.sub(r"""TO_CHAR\((.+?), 'SYYYY-MM-DD"T"HH24:MI:SS(?:\.FF6)?'\)""", r"moment(\1)", sql)
    sql = re.sub(r"TO_DATE\(('[^']+'), '[^']+'\)", r"\1", sql)
    return sql.replace("TIMESTAMP '", "'")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    began = time.monotonic()

    def clock(sql: str) -> list[Any]:
        return [((TEN + timedelta(seconds=time.monotonic() - began)).isoformat()[:26], 0)]

    connection = Recorded(
        "SHOP",
        {
            "TIMEZONE_HOUR": clock,
            "DATABASE_ROLE": [("PRIMARY",)],
            "V$ACTIVE_INSTANCES": [(0,)],
            "LAST_CALL_ET": [],
            "V$TRANSACTION": [],
            "DBA_2PC_PENDING": [],
            "V$DATABASE": [IDENTITY],
            "PRODUCT_COMPONENT_VERSION": [("19.0.0.0.0", "READER", 0)],
            "ALL_POLICIES": [],
            "ALL_TAB_IDENTITY_COLS": COLUMNS,
            "ALL_MVIEWS": [("SHOP", "ORDERS", "TABLE", 3, 300, 0, 0, None)],
            "ALL_CONSTRAINTS": [("SHOP", "ORDERS", "SYS_C1", 1, "ID")],
            "ALL_TAB_PRIVS": [(1, 1, 0, 3, 0)],
            "ALL_IND_COLUMNS": [(1,)],
            "ALL_TRIGGERS": [(1,)],
        },
        translated,
    )
    # Oracle has a place for the sign of a year.
    connection.tables.create_function("moment", 1, lambda text: text and f" {text.replace(' ', 'T')}")
    connection.tables.execute("CREATE TABLE SHOP.ORDERS (ID, NOTE, PRICE, WEIGHT, UPDATED_AT, SHIPPED)")
    rows = [
        (1, "first", "1.50", "0.1", "2024-05-01 09:00:00.000000", "2024-05-01 08:00:00"),
        (2, "naïve, 🎉", None, None, "2024-05-01 09:30:00.500000", "2024-05-01 09:00:00"),
        (
            3,
            None,
            "3.25",
            "1234567890123456789012345678901234567890",
            "2024-05-01 09:59:59.000000",
            "2024-05-01 09:59:58",
        ),
    ]
    connection.tables.executemany("INSERT INTO SHOP.ORDERS VALUES (?, ?, ?, ?, ?, ?)", rows)
    monkeypatch.setattr(row_dialect, "Connection", lambda address: connection)
    return connection


def spec_of(cursor: Cursor) -> TableSpec:
    (shape,) = SqlProbe(ADDRESS, "shop").catalogue()
    return TableSpec(shape, Strategy.UPSERT, cursor, key=("ID",), key_enforced=True)


BY_TIME = Cursor("UPDATED_AT", CursorType.DATETIME, zone="UTC")
BY_SECOND = Cursor("SHIPPED", CursorType.DATETIME, zone="UTC")
BY_NUMBER = Cursor("ID", CursorType.INTEGER)


# --- the whole of a look ------------------------------------------------------------------------------


def test_the_catalogue_tells_columns_types_key_and_what_draws_the_numbers(server: Recorded) -> None:
    (shape,) = SqlProbe(ADDRESS, "shop").catalogue()
    assert [(column.name, column.source_type, column.spark_type) for column in shape.columns] == [
        ("ID", "NUMBER(10)", "bigint"),
        ("NOTE", "VARCHAR2(50 CHAR)", "string"),
        ("PRICE", "NUMBER(10,2)", "decimal(10,2)"),
        ("WEIGHT", "NUMBER", "string"),
        ("UPDATED_AT", "TIMESTAMP(6)", "timestamp_ntz"),
        ("SHIPPED", "DATE", "timestamp_ntz"),
    ]
    assert (shape.primary_key, shape.rows, shape.bytes, shape.columns[1].comment) == (("ID",), 3, 300, "what was said")
    assert [column.sequence.always for column in shape.columns if column.sequence] == [True]


@pytest.mark.parametrize(
    ("answer", "arrivals"),
    [
        (("VIEW", None, None, 0, 0, None), (Arrival.VIEW,)),
        (("TABLE", 1, 1, 1, 0, None), (Arrival.MATERIALIZED,)),
        (("TABLE", 1, 1, 0, 1, None), (Arrival.FOREIGN,)),
        (("TABLE", 1, 1, 0, 0, None), ()),
    ],
)
def test_how_rows_arrive_apart_from_a_transaction_is_told(
    server: Recorded, answer: tuple[Any, ...], arrivals: tuple[Arrival, ...]
) -> None:
    server.answers = {**server.answers, "ALL_MVIEWS": [("SHOP", "ORDERS", *answer)]}
    assert SqlProbe(ADDRESS, "shop").catalogue()[0].arrivals == arrivals


@pytest.mark.parametrize("cursor", [BY_TIME, BY_SECOND, BY_NUMBER], ids=["TIMESTAMP", "DATE", "NUMBER"])
def test_rows_are_read_once_and_a_later_one_with_the_next_sync(server: Recorded, cursor: Cursor) -> None:
    spec = spec_of(cursor)
    rows, state = synced(ADDRESS, spec)
    assert rows.column("c0").to_pylist() == [1, 2, 3]
    assert rows.column("c1").to_pylist() == ["first", "naïve, 🎉", None]
    assert rows.column("c2").to_pylist() == [Decimal("1.50"), None, Decimal("3.25")]
    assert rows.column("c3").to_pylist() == ["0.1", None, "1234567890123456789012345678901234567890"]
    assert rows.column("c4").to_pylist()[1] == datetime.fromisoformat("2024-05-01T09:30:00.500000")
    assert rows.column("c5").to_pylist()[2] == datetime.fromisoformat("2024-05-01T09:59:58")
    assert server.events.count("snapshot") == server.events.count("over") == 1
    assert isinstance(decided(ADDRESS, spec, state), NothingToDo)

    later = ("2024-05-01 09:59:59.900000", "2024-05-01 09:59:59")
    server.tables.execute("INSERT INTO SHOP.ORDERS VALUES (4, 'later', NULL, NULL, ?, ?)", later)
    rows, state = synced(ADDRESS, spec, state)

    assert 4 in rows.column("c0").to_pylist()
    assert 1 not in rows.column("c0").to_pylist()
    assert isinstance(decided(ADDRESS, spec, state), NothingToDo)


def test_a_value_that_spark_cannot_hold_is_rejected_alone(server: Recorded) -> None:
    server.tables.execute(
        "INSERT INTO SHOP.ORDERS VALUES (9, 'old', NULL, NULL, '2024-05-01 09:00:00', '-4712-01-01 00:00:00')"
    )
    with SqlProbe(ADDRESS, "shop").snapshot(planned(ADDRESS, spec_of(BY_TIME))) as seen:
        assert (seen.rows, seen.rejected) == (4, 1)


def test_every_run_says_that_no_server_has_played_it(server: Recorded) -> None:
    for spec in (spec_of(BY_TIME), replace(spec_of(BY_TIME), strategy=Strategy.FULL_REFRESH)):
        settled = planned(ADDRESS, spec).settled
        assert settled.guarantee is Guarantee.BEST_EFFORT
        assert UNPLAYED in settled.reason


def test_plan_shows_the_select_and_says_that_no_server_has_played_it(server: Recorded) -> None:
    (found,) = SqlProbe(ADDRESS, "shop").foresee([planned(ADDRESS, spec_of(BY_TIME))])
    assert found.sql.startswith(
        """SELECT "ID", "NOTE", "PRICE", "WEIGHT", TO_CHAR("UPDATED_AT", 'SYYYY-MM-DD"T"HH24:MI:SS.FF6'), """
    )
    assert UNPLAYED in found.unknown


def test_doctor_says_of_every_table_that_no_server_has_played_it(server: Recorded) -> None:
    spec = spec_of(BY_TIME)
    facts = SqlProbe(ADDRESS, "shop").facts((Wanted(spec.id, ("UPDATED_AT",)),))
    (table,) = facts.tables
    assert (table.exists, table.writable, table.unindexed, table.unstamped) == (True, False, (), False)
    found = [each for each in of_table(spec, table, facts, landed=True) if each.topic == "experimental"]
    assert [(each.health, UNPLAYED in each.detail) for each in found] == [(Health.WARN, True)]


@pytest.mark.parametrize(
    ("part", "answer", "said"),
    [
        ("LAST_CALL_ET", [], UNPLAYED),
        ("LAST_CALL_ET", refused(942), "cannot be seen"),
        ("V$TRANSACTION", refused(1031), "cannot be seen"),
        ("DATABASE_ROLE", [("PHYSICAL STANDBY",)], "replica"),
        ("V$ACTIVE_INSTANCES", [(2,)], "clocks of 2 instances"),
    ],
)
def test_doctor_calls_no_bound_settled_and_says_which_grant_is_missing(
    server: Recorded, part: str, answer: Any, said: str
) -> None:
    source = SourceConfig("shop", "oracle", "127.0.0.1", 1521, "shop", "reader")
    server.answers = {**server.answers, part: answer}
    found = [each for each in of_source(source, SqlProbe(ADDRESS, "shop").facts(())) if each.topic == "guarantee"]
    assert [each.health for each in found] == [Health.WARN]
    assert said in found[0].detail + found[0].cure


def test_an_open_transaction_holds_the_watermark_below_its_begin(server: Recorded) -> None:
    server.answers = {
        **server.answers,
        "V$TRANSACTION": [("3.12.900", "2024-05-01T09:20:00", 55, "APP", "till")],
    }
    decision = planned(ADDRESS, spec_of(BY_TIME))
    assert decision.settled.value is not None
    assert str(decision.settled.value) < "2024-05-01T09:20:00"
    assert decision.bound.holder == "session 55, APP, till"


def test_measure_and_keys_are_made_of_the_same_rows(server: Recorded) -> None:
    spec, probe = spec_of(BY_TIME), SqlProbe(ADDRESS, "shop")
    half = CursorValue(CursorType.DATETIME, "2024-05-01T09:30:00")
    whole = probe.measure(spec, (Window(None, None),))[0]
    parts = probe.measure(spec, (Window(None, half), Window(half, None)))
    assert [each.rows for each in parts] == [1, 2]
    assert sum(int(each.digest) for each in parts) == int(whole.digest)
    with probe.keys(spec) as keys:
        assert keys.present(frozenset({"1", "2", "9"})) == {"1", "2"}


def test_the_sql_of_a_look_and_a_read_is_as_it_was_reviewed(server: Recorded) -> None:
    server.answers = {**server.answers, "TIMEZONE_HOUR": [(NOW, 0)]}
    for cursor in (BY_TIME, BY_SECOND, BY_NUMBER):
        synced(ADDRESS, spec_of(cursor))
    SqlProbe(ADDRESS, "shop").facts((Wanted(ORDERS, ("UPDATED_AT",)),))
    asked = "\n;\n".join([*connect.SETTINGS, *dict.fromkeys(server.asked)]) + "\n"
    assert asked == GOLDEN.read_text(encoding="utf-8")


# --- types --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("catalogued", "source", "spark"),
    [
        (("NUMBER", 0, "", 1, 0), "NUMBER(1)", "bigint"),
        (("NUMBER", 0, "", 18, 0), "NUMBER(18)", "bigint"),
        (("NUMBER", 0, "", 19, 0), "NUMBER(19)", "decimal(19,0)"),
        (("NUMBER", 0, "", 38, 10), "NUMBER(38,10)", "decimal(38,10)"),
        (("NUMBER", 0, "", None, 0), "NUMBER(*,0)", "decimal(38,0)"),
        (("NUMBER", 0, "", 3, 5), "NUMBER(3,5)", "decimal(5,5)"),
        (("NUMBER", 0, "", 5, -2), "NUMBER(5,-2)", "decimal(7,0)"),
        (("NUMBER", 0, "", 38, -2), "NUMBER(38,-2)", "string"),
        (("NUMBER", 0, "", None, None), "NUMBER", "string"),
        (("FLOAT", 0, "", 126, None), "FLOAT(126)", "string"),
        (("BINARY_FLOAT", 0, "", None, None), "BINARY_FLOAT", "float"),
        (("BINARY_DOUBLE", 0, "", None, None), "BINARY_DOUBLE", "double"),
        (("VARCHAR2", 50, "C", None, None), "VARCHAR2(50 CHAR)", "string"),
        (("CHAR", 3, "B", None, None), "CHAR(3 BYTE)", "string"),
        (("NVARCHAR2", 10, "C", None, None), "NVARCHAR2(10)", "string"),
        (("CLOB", 0, "", None, None), "CLOB", "string"),
        (("RAW", 16, "", None, None), "RAW(16)", "binary"),
        (("BLOB", 0, "", None, None), "BLOB", "binary"),
        (("DATE", 0, "", None, None), "DATE", "timestamp_ntz"),
        (("TIMESTAMP(6)", 0, "", None, 6), "TIMESTAMP(6)", "timestamp_ntz"),
        (("TIMESTAMP(9)", 0, "", None, 9), "TIMESTAMP(9)", "string"),
        (("TIMESTAMP(6) WITH TIME ZONE", 0, "", None, 6), "TIMESTAMP(6) WITH TIME ZONE", "timestamp"),
        (("TIMESTAMP(3) WITH LOCAL TIME ZONE", 0, "", None, 3), "TIMESTAMP(3) WITH LOCAL TIME ZONE", "timestamp"),
        (("INTERVAL DAY(2) TO SECOND(6)", 0, "", 2, 6), "INTERVAL DAY(2) TO SECOND(6)", "string"),
    ],
)
def test_a_declared_type_has_its_type_in_spark(
    catalogued: tuple[str, int, str, int | None, int | None], source: str, spark: str
) -> None:
    assert declared(*catalogued) == source
    assert spark_type(source)[0] == spark


def column(source: str, name: str = "C") -> Column:
    return Column(name, source, *spark_type(source))


@pytest.mark.parametrize("source", ["BFILE", "MDSYS.SDO_GEOMETRY", "SHOP.ADDRESS_T", "VECTOR", "UROWID"])
def test_a_type_that_nothing_holds_is_refused_by_its_name(source: str) -> None:
    assert spark_type(source) == ("string", Fidelity.TEXT)
    with pytest.raises(SourceRefused, match=f"of the type {source}"):
        shown(column(source), '"C"')


@pytest.mark.parametrize(
    ("source", "sql"),
    [
        ("TIMESTAMP(9)", """LTRIM(TO_CHAR("C", 'SYYYY-MM-DD"T"HH24:MI:SS.FF9'))"""),
        ("TIMESTAMP(9) WITH TIME ZONE", """LTRIM(TO_CHAR("C", 'SYYYY-MM-DD"T"HH24:MI:SS.FF9TZH:TZM'))"""),
        ("TIMESTAMP(6) WITH TIME ZONE", """TO_CHAR(SYS_EXTRACT_UTC("C"), 'SYYYY-MM-DD"T"HH24:MI:SS.FF6')"""),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", """TO_CHAR("C", 'SYYYY-MM-DD"T"HH24:MI:SS.FF6')"""),
        ("DATE", """TO_CHAR("C", 'SYYYY-MM-DD"T"HH24:MI:SS')"""),
        ("INTERVAL YEAR(4) TO MONTH", 'TO_CHAR("C")'),
        ("ROWID", 'ROWIDTOCHAR("C")'),
        ("NUMBER", '"C"'),
        ("CHAR(3 BYTE)", '"C"'),
    ],
)
def test_the_form_in_which_a_value_is_selected(source: str, sql: str) -> None:
    assert shown(column(source), '"C"') == sql


@pytest.mark.parametrize(
    ("source", "brought", "value"),
    [
        ("NUMBER(18)", Decimal(10**18 - 1), 10**18 - 1),
        ("NUMBER(10,2)", Decimal("1.5"), Decimal("1.50")),
        ("NUMBER(5,-2)", Decimal(1234500), Decimal(1234500)),
        ("NUMBER(*,0)", Decimal(10**38 - 1), Decimal(10**38 - 1)),
        ("NUMBER", Decimal("1E+125"), "1" + "0" * 125),
        ("NUMBER", Decimal("-0.000000000000000000000000000000000000001"), "-0.000000000000000000000000000000000000001"),
        ("BINARY_DOUBLE", float("inf"), float("inf")),
        ("CHAR(3 BYTE)", "a  ", "a  "),
        ("RAW(2)", b"\x00\xff", b"\x00\xff"),
        ("DATE", " 2024-02-29T23:59:59", datetime.fromisoformat("2024-02-29T23:59:59")),
        ("TIMESTAMP(6)", " 0001-01-01T00:00:00.000001", datetime.fromisoformat("0001-01-01T00:00:00.000001")),
        ("TIMESTAMP(6) WITH TIME ZONE", " 2024-01-01T10:00:00.000000", datetime(2024, 1, 1, 10, tzinfo=UTC)),
    ],
)
def test_a_value_is_taken_as_it_is(source: str, brought: Any, value: Any) -> None:
    found = converter(column(source))(brought)
    assert (found, str(found)) == (value, str(value))


def test_a_double_that_is_no_number_stays_none() -> None:
    found = converter(column("BINARY_DOUBLE"))(float("nan"))
    assert found != found


@pytest.mark.parametrize(
    ("source", "brought", "said"),
    [
        ("NUMBER(*,0)", Decimal(10**38), "more than 38 digits"),
        ("DATE", "-4712-01-01T00:00:00", "before the year 1"),
        ("DATE", " 0000-00-00T00:00:00", "before the year 1"),
        ("VARCHAR2(9 BYTE)", "caf\udce9", "no character"),
    ],
)
def test_what_spark_cannot_hold_is_no_value(source: str, brought: Any, said: str) -> None:
    with pytest.raises(Unfit, match=said):
        converter(column(source))(brought)


@pytest.mark.parametrize(
    ("sign", "text", "expected"),
    [
        (">=", "10:00:00", "\"C\" >= TO_DATE('2024-01-01 10:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
        (">=", "10:00:00.5", "\"C\" >= TO_DATE('2024-01-01 10:00:01', 'YYYY-MM-DD HH24:MI:SS')"),
        ("<", "10:00:00.5", "\"C\" < TO_DATE('2024-01-01 10:00:01', 'YYYY-MM-DD HH24:MI:SS')"),
        (">", "10:00:00.5", "\"C\" > TO_DATE('2024-01-01 10:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
        ("<=", "10:00:00.5", "\"C\" <= TO_DATE('2024-01-01 10:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
    ],
)
def test_a_date_is_compared_in_whole_seconds_so_that_its_index_answers(sign: str, text: str, expected: str) -> None:
    at = CursorValue(CursorType.DATETIME, f"2024-01-01T{text}")
    assert beyond(column("DATE"), '"C"', sign, at) == expected


@pytest.mark.parametrize(
    ("sign", "value", "expected"),
    [
        ("<", "2024-02-29", "\"C\" < TO_DATE('2024-02-29', 'YYYY-MM-DD')"),
        (">", "2024-02-29", "\"C\" >= TO_DATE('2024-03-01', 'YYYY-MM-DD')"),
        ("<=", "9999-12-31", "1 = 1"),
        (">", "9999-12-31", "1 = 0"),
    ],
)
def test_a_moment_that_stands_for_a_day_is_compared_by_its_day(sign: str, value: str, expected: str) -> None:
    assert beyond(column("DATE"), '"C"', sign, CursorValue(CursorType.DATE, value)) == expected


def test_an_instant_is_compared_in_utc_and_a_number_as_it_is() -> None:
    at = CursorValue(CursorType.TIMESTAMP, "2024-01-01T10:00:00.25Z")
    zoned = column("TIMESTAMP(6) WITH TIME ZONE")
    assert beyond(zoned, '"C"', ">=", at) == "\"C\" >= TIMESTAMP '2024-01-01 10:00:00.250000 +00:00'"
    assert beyond(column("NUMBER(10)"), '"C"', ">", CursorValue(CursorType.INTEGER, "-7")) == '"C" > -7'


def test_a_name_and_a_text_end_where_they_end() -> None:
    assert words.identifier("we'ird; DROP TABLE x --") == '"we\'ird; DROP TABLE x --"'
    assert words.text("it's") == "'it''s'"
    for name in ('a" WHERE 1 = 1 --', "a\0"):
        with pytest.raises(SourceRefused, match="no name in Oracle"):
            words.identifier(name)


# --- the settled bound --------------------------------------------------------------------------------

QUIET = Answers((NOW, 0), "PRIMARY", [(0,)], [], [], [], [IDENTITY], (NOW, 0))


def test_nobody_at_work_is_nobody() -> None:
    found = bound_of(QUIET)
    assert (found.clock, found.oldest, found.blind, found.prepared, found.zone) == (TEN, None, "", None, "UTC")


def test_the_oldest_of_calls_and_transactions_holds_with_what_their_times_leave_out() -> None:
    busy = replace(
        QUIET,
        calls=[(51, 60, "A", "x")],
        transactions=[("1.2.3", "2024-05-01T09:58:00", 52, "B", "y")],
    )
    found = bound_of(busy)
    assert (found.oldest, found.holder) == (TEN - timedelta(seconds=121), "session 52, B, y")
    assert found.newest == TEN - timedelta(seconds=64)


def test_the_begin_of_a_transaction_is_a_reading_of_the_servers_own_clock() -> None:
    """Central Europe on 2024-10-27: 02:30 was at 00:30Z and again at 01:30Z."""
    found = bound_of(
        replace(
            QUIET,
            clock=("2024-10-27T01:40:00.000000", 60),
            transactions=[("1.2.3", "2024-10-27T02:30:00", 52, "B", "y")],
        )
    )
    assert found.oldest == datetime(2024, 10, 27, 0, 29, 59, tzinfo=UTC)
    assert found.zone == "Etc/GMT-1"


@pytest.mark.parametrize(
    "answers",
    [{"transactions": [("1.2.3", "2024-05-01T09:58:00", None, None, None)]}, {"pending": [("1.2.3",)]}],
    ids=["without a session", "in doubt"],
)
def test_a_prepared_transaction_stops_the_watermark(answers: dict[str, Any]) -> None:
    found = bound_of(replace(QUIET, **answers))
    assert found.prepared is not None
    assert "1.2.3, of a distributed transaction whose coordinator" in found.prepared


@pytest.mark.parametrize("part", ["instances", "calls", "transactions", "pending"])
def test_what_was_not_granted_makes_blind_and_says_its_cure(part: str) -> None:
    assert "GRANT SELECT ON SYS.V_$SESSION" in bound_of(replace(QUIET, **{part: None})).blind


def test_a_standby_and_a_cluster_prove_nothing() -> None:
    assert "read the primary" in bound_of(replace(QUIET, role="PHYSICAL STANDBY")).blind
    assert "clocks of 2 instances" in bound_of(replace(QUIET, instances=[(2,)])).blind


def test_another_error_than_a_missing_grant_is_not_taken_for_one(server: Recorded) -> None:
    server.answers = {**server.answers, "V$TRANSACTION": refused(1410)}
    with pytest.raises(SourceRefused, match="refused the question"):
        SqlProbe(ADDRESS, "shop").bound()


def test_a_restored_database_is_older_and_another_one_is_another() -> None:
    def of(*identity: int) -> Any:
        return bound_of(replace(QUIET, identity=[identity])).identity

    here = of(*IDENTITY)
    assert of(4001, 4002, 17, 4_999_999).compared_with(here) is Compared.OLDER
    assert of(4001, 4002, 99, 5_000_001).compared_with(here) is Compared.SAME
    assert of(4001, 4002, 99, 5_000_001).timeline != here.timeline
    assert of(4001, 4003, 17, 5_000_001).compared_with(here) is Compared.OTHER
    assert bound_of(replace(QUIET, identity=None)).identity is None


# --- what goes wrong ----------------------------------------------------------------------------------


def test_a_driver_that_is_not_installed_is_one_sentence_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oracledb", None)
    with pytest.raises(SetupError, match=r"pip install 'incremental-assets\[oracle\]'"):
        SqlProbe(ADDRESS, "shop").bound()


def test_a_closed_port_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(SourceUnreachable, match="does not answer") as found:
        SqlProbe(replace(ADDRESS, port=port), "shop").bound()
    assert "hunter2" not in str(found.value)
    assert "\n" not in str(found.value)


def test_a_server_that_says_nothing_is_waited_for_as_long_as_was_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = replace(ADDRESS, port=silent.getsockname()[1], connect_timeout=timedelta(seconds=0.3))
        with pytest.raises(SourceUnreachable, match="no answer in time"):
            SqlProbe(address, "shop").bound()


def test_the_driver_knows_every_setting_that_it_is_given() -> None:
    known = inspect.signature(oracledb.connect).parameters
    assert set(connect.terms(replace(ADDRESS, tls="verify-full"))) <= set(known)
    assert {"fetch_lobs", "fetch_decimals"} <= set(inspect.signature(oracledb.Cursor.execute).parameters)


def test_tls_checks_what_its_mode_says() -> None:
    full, authority, any_one = (
        connect.tls(replace(ADDRESS, tls=mode)) for mode in ("verify-full", "verify-ca", "require")
    )
    assert (full["ssl_server_dn_match"], full["ssl_context"].check_hostname) == (True, True)
    assert (authority["ssl_server_dn_match"], authority["ssl_context"].check_hostname) == (False, False)
    assert [each["ssl_context"].verify_mode.name for each in (full, authority, any_one)] == [
        "CERT_REQUIRED",
        "CERT_REQUIRED",
        "CERT_NONE",
    ]
    assert connect.tls(ADDRESS) == {"protocol": "tcp"}


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (refusal(1017), SourceUnreachable, "check `user`"),
        (refusal(20), SourceUnreachable, "no session left"),
        (refusal(3113), SourceUnreachable, "does not answer"),
        (refusal(942), TableMissing, "SHOP.ORDERS"),
        (refusal(904), SourceRefused, "a column went away"),
        (refusal(1031), SourceRefused, 'GRANT SELECT ON "SHOP"."ORDERS"'),
        (refusal(1466), SourceRefused, "was altered"),
        (refusal(1555), SourceRefused, "UNDO_RETENTION"),
        (refusal(54), SourceRefused, "holds a lock"),
        (refusal(1), SourceRefused, "refused the question"),
    ],
)
def test_a_refusal_of_the_server_is_a_sentence_with_its_cure(
    error: Exception, kind: type[Exception], said: str
) -> None:
    found = explain(error, ADDRESS, ORDERS)
    assert isinstance(found, kind)
    assert said in str(found)
    assert "http" not in str(found)
    assert "\n" not in str(found)


def test_a_service_that_the_listener_does_not_know_is_a_sentence() -> None:
    text = 'DPY-6005: cannot connect to database (CONNECTION_ID=ab+/c==).\nDPY-6001: Service "shop" is not registered with the listener at host "h" port 1521. (Similar to ORA-12514)'
    found = explain(oracledb.OperationalError(_Error(message=text)), ADDRESS, None)
    assert "check `database`" in str(found)
    assert "CONNECTION_ID" not in str(found)
    full = "DPY-6000: Listener refused connection. (Similar to ORA-12516)"
    assert "no session left" in str(explain(oracledb.OperationalError(_Error(message=full)), ADDRESS, None))


def test_an_error_that_is_not_the_drivers_stays_what_it_is() -> None:
    assert explain(ValueError("ours"), ADDRESS, None) is None


# --- doctor -------------------------------------------------------------------------------------------


def test_the_sql_for_a_new_user_names_every_grant_and_no_password() -> None:
    wanted = (Wanted(ORDERS, ("UPDATED_AT",)),)
    found = dialect_of("oracle").missing_sql(ADDRESS, wanted, None, ("SALES",))
    assert found.splitlines() == [
        'CREATE USER "READER" NO AUTHENTICATION;',
        '-- then give it a password: ALTER USER "READER" IDENTIFIED BY "…"',
        'GRANT CREATE SESSION TO "READER";',
        *(f'GRANT SELECT ON {view} TO "READER";' for view in bound.VIEWS),
        "-- before 23ai there is no grant on a schema: grant each of its tables",
        'GRANT SELECT ANY TABLE ON SCHEMA "SALES" TO "READER";',
        'GRANT SELECT ON "SHOP"."ORDERS" TO "READER";',
    ]


def test_nothing_is_missing_where_all_is_granted_and_a_view_is_missed_by_name(server: Recorded) -> None:
    probe, wanted = SqlProbe(ADDRESS, "shop"), (Wanted(ORDERS, ("UPDATED_AT",)),)
    assert dialect_of("oracle").missing_sql(ADDRESS, wanted, probe.facts(wanted)) == ""
    server.answers = {**server.answers, "V$DATABASE": refused(942)}
    facts = probe.facts(wanted)
    assert not facts.says_which
    assert 'GRANT SELECT ON SYS.V_$DATABASE TO "READER";' in dialect_of("oracle").missing_sql(ADDRESS, wanted, facts)
