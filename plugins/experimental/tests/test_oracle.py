"""Oracle, which was never run against a real server: its SQL, its types, its bound and its refusals, and the whole of a look on recorded answers."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.cli.findings.finding import Health
from incremental_assets.cli.findings.of_source import of_source
from incremental_assets.cli.findings.of_table import of_table
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.config.database_settings import DatabaseSettings
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.table_shape import Arrival
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import NothingToDo
from incremental_assets.core.strategies import Strategy
from incremental_assets_experimental.oracle import bound, row_dialect, settings
from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED
from plugins.experimental.tests.oracle_recorded import ADDRESS, IDENTITY, NOW, ORDERS, TEN, refused
from plugins.experimental.tests.recorded import Recorded, decided, planned, synced
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = Path(__file__).with_name("golden") / "oracle.sql"
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
            "SELECT CURRENT_SCN": [(900,)],
            "V$DATABASE": [IDENTITY],
            "PRODUCT_COMPONENT_VERSION": [("19.0.0.0.0", "READER", 0)],
            "ALL_POLICIES": [],
            "ALL_TAB_IDENTITY_COLS": COLUMNS,
            "ALL_MVIEWS": [("SHOP", "ORDERS", "TABLE", 3, 300, 0, 0, None, "DISABLED")],
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
    monkeypatch.setattr(row_dialect, "ORACLE", replace(row_dialect.ORACLE, connect=lambda _: connection))
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
        (("VIEW", None, None, 0, 0, None, None), (Arrival.VIEW,)),
        (("TABLE", 1, 1, 1, 0, None, "DISABLED"), (Arrival.MATERIALIZED,)),
        (("TABLE", 1, 1, 0, 1, None, "DISABLED"), (Arrival.FOREIGN,)),
        (("TABLE", 1, 1, 0, 0, None, "ENABLED"), ()),
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


BY_CHANGE = Cursor("ORA_ROWSCN", CursorType.INTEGER, by_transaction=True)


def followed_by_change(server: Recorded) -> TableSpec:
    """A table whose rows show the change that wrote them, as no column of the stand-in's can that no statement names."""
    server.tables.execute("ALTER TABLE SHOP.ORDERS ADD COLUMN ORA_ROWSCN DEFAULT 880")
    spec = spec_of(BY_CHANGE)
    return replace(spec, shape=spec.shape.numbered())


@pytest.mark.parametrize(
    ("answer", "columns", "said"),
    [
        (("TABLE", 1, 1, 0, 0, None, "DISABLED"), COLUMNS, "wrote the block in which the row lies last"),
        (("TABLE", 1, 1, 0, 0, None, "ENABLED "), COLUMNS, "wrote the row last"),
        (("VIEW", None, None, 0, 0, None, None), COLUMNS, ""),
        (("TABLE", 1, 1, 0, 1, None, "DISABLED"), COLUMNS, ""),
        (("TABLE", 1, 1, 0, 0, None, "ENABLED"), [*COLUMNS, (*COLUMNS[0][:2], "ORA_ROWSCN", *COLUMNS[0][3:])], ""),
    ],
    ids=["of blocks", "of rows", "view", "external", "a column of its name"],
)
def test_which_tables_show_the_change_that_wrote_a_row(
    server: Recorded, answer: tuple[Any, ...], columns: list[Any], said: str
) -> None:
    server.answers = {
        **server.answers,
        "ALL_TAB_IDENTITY_COLS": columns,
        "ALL_MVIEWS": [("SHOP", "ORDERS", *answer)],
    }
    (shape,) = SqlProbe(ADDRESS, "shop").catalogue()
    assert said in (shape.numbering.comment if shape.numbering else "")
    assert bool(said) is (shape.numbering is not None)


def test_by_the_change_of_a_row_all_below_the_database_s_own_has_settled_whoever_is_at_work(server: Recorded) -> None:
    spec = followed_by_change(server)
    server.answers = {**server.answers, "V$TRANSACTION": refused(942), "LAST_CALL_ET": refused(942)}
    rows, state = synced(ADDRESS, spec)
    assert rows.column("c6").to_pylist() == [880, 880, 880]
    assert str(state.position.watermark) == "900"

    server.answers = {"SELECT CURRENT_SCN": [(950,)], **{k: v for k, v in server.answers.items() if "SCN" not in k}}
    server.tables.execute("UPDATE SHOP.ORDERS SET NOTE = 'second', ORA_ROWSCN = 920 WHERE ID = 2")
    server.tables.execute("UPDATE SHOP.ORDERS SET ORA_ROWSCN = 960 WHERE ID = 3")
    rows, state = synced(ADDRESS, spec, state)

    assert sorted(rows.column("c0").to_pylist()) == [2, 3]
    assert str(state.position.watermark) == "950", "above it one may commit that has not"
    assert any("ORA_ROWSCN >= 900" in sql and '"ORA_ROWSCN"' not in sql for sql in server.asked)


def test_a_value_that_spark_cannot_hold_is_rejected_alone(server: Recorded) -> None:
    server.tables.execute(
        "INSERT INTO SHOP.ORDERS VALUES (9, 'old', NULL, NULL, '2024-05-01 09:00:00', '-4712-01-01 00:00:00')"
    )
    with SqlProbe(ADDRESS, "shop").snapshot(planned(ADDRESS, spec_of(BY_TIME))) as seen:
        assert (seen.rows, seen.rejected) == (4, 1)


def test_every_run_says_that_no_server_has_played_it(server: Recorded) -> None:
    for spec in (spec_of(BY_TIME), replace(spec_of(BY_TIME), strategy=Strategy.FULL_REFRESH)):
        settled = planned(ADDRESS, spec).reading.settled
        assert settled.guarantee is Guarantee.BEST_EFFORT
        assert UNPLAYED in settled.reason


def test_plan_shows_the_select_and_says_that_no_server_has_played_it(server: Recorded) -> None:
    (found,) = SqlProbe(ADDRESS, "shop").estimates([planned(ADDRESS, spec_of(BY_TIME))])
    assert found.sql.startswith(
        """SELECT "ID", "NOTE", "PRICE", "WEIGHT", TO_CHAR("UPDATED_AT", 'SYYYY-MM-DD"T"HH24:MI:SS.FF6'), """
    )
    assert UNPLAYED in found.unknown


def test_doctor_says_of_every_table_that_no_server_has_played_it(server: Recorded) -> None:
    spec = spec_of(BY_TIME)
    facts = SqlProbe(ADDRESS, "shop").facts((Wanted(spec.id, ("UPDATED_AT",)),))
    (table,) = facts.tables
    assert (table.exists, table.writable, table.unindexed) == (True, False, ())
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
    source = SourceConfig("shop", "oracle", DatabaseSettings("oracle", "127.0.0.1", 1521, "shop", "reader"))
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
    assert decision.reading.settled.value is not None
    assert str(decision.reading.settled.value) < "2024-05-01T09:20:00"
    assert decision.reading.bound.holder == "session 55, APP, till"


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
    synced(ADDRESS, followed_by_change(server))
    SqlProbe(ADDRESS, "shop").facts((Wanted(ORDERS, ("UPDATED_AT",)),))
    asked = "\n;\n".join([*settings.statements(), settings.QUESTION.strip(), *dict.fromkeys(server.asked)]) + "\n"
    assert asked == GOLDEN.read_text(encoding="utf-8")


def test_another_error_than_a_missing_grant_is_not_taken_for_one(server: Recorded) -> None:
    server.answers = {**server.answers, "V$TRANSACTION": refused(1410)}
    with pytest.raises(SourceRefused, match="refused the query"):
        SqlProbe(ADDRESS, "shop").bound()


def test_a_comparison_ends_when_it_is_interrupted(server: Recorded) -> None:
    spec = spec_of(BY_NUMBER)

    def interrupted(sql: str) -> list[Any]:
        this_process.ask()
        try:
            until(lambda: "abort" in server.events)
        finally:
            this_process.go_on()
        return []

    server.answers = {'FROM "SHOP"."ORDERS"': interrupted, **server.answers}
    reader = dialect_of("oracle").reader(ADDRESS)
    reader.unholdable_keys(cast("SparkSession", None), spec, (Window(None, None),))
    assert server.events[-4:] == ["snapshot", "abort", "over", "close"]


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


def test_nobody_is_told_to_take_a_user_s_rights_on_its_own_table(server: Recorded) -> None:
    probe, wanted = SqlProbe(ADDRESS, "shop"), (Wanted(ORDERS, ("UPDATED_AT",)),)
    facts = probe.facts(wanted)
    able = replace(facts, tables=tuple(replace(each, writable=True) for each in facts.tables))
    of_others = dialect_of("oracle").missing_sql(ADDRESS, wanted, able)
    assert of_others == f'REVOKE INSERT, UPDATE, DELETE ON "SHOP"."ORDERS" FROM "{facts.user}";'
    of_its_own = dialect_of("oracle").missing_sql(ADDRESS, wanted, replace(able, user="SHOP"))
    assert of_its_own == '-- "SHOP"."ORDERS" belongs to "SHOP": read it as another user'


def test_nothing_is_missing_where_all_is_granted_and_a_view_is_missed_by_name(server: Recorded) -> None:
    probe, wanted = SqlProbe(ADDRESS, "shop"), (Wanted(ORDERS, ("UPDATED_AT",)),)
    assert dialect_of("oracle").missing_sql(ADDRESS, wanted, probe.facts(wanted)) == ""
    server.answers = {**server.answers, "V$DATABASE": refused(942)}
    facts = probe.facts(wanted)
    assert not facts.says_which
    assert 'GRANT SELECT ON SYS.V_$DATABASE TO "READER";' in dialect_of("oracle").missing_sql(ADDRESS, wanted, facts)
