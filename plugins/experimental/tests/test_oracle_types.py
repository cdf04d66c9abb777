"""Oracle's types: what holds them in Spark, how a value is selected and taken, and how a cursor is compared."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets_experimental.oracle import words
from incremental_assets_experimental.oracle.types import beyond, converter, declared, shown, spark_type


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
