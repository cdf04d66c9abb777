"""The types of SQL Server, which was never run against a real server: what each becomes in Spark, and how its values are taken and compared."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets_experimental.sqlserver import words
from incremental_assets_experimental.sqlserver.types import beyond, converter, declared, shown, spark_type


@pytest.mark.parametrize(
    ("catalogued", "source", "spark"),
    [
        (("tinyint", 1, 3, 0), "tinyint", "smallint"),
        (("bit", 1, 1, 0), "bit", "boolean"),
        (("numeric", 17, 38, 10), "decimal(38,10)", "decimal(38,10)"),
        (("money", 8, 19, 4), "money", "decimal(19,4)"),
        (("float", 8, 53, 0), "float", "double"),
        (("real", 4, 24, 0), "real", "float"),
        (("nvarchar", -1, 0, 0), "nvarchar(max)", "string"),
        (("nchar", 20, 0, 0), "nchar(10)", "string"),
        (("varbinary", 16, 0, 0), "varbinary(16)", "binary"),
        (("timestamp", 8, 0, 0), "rowversion", "bigint"),
        (("date", 3, 10, 0), "date", "date"),
        (("datetime", 8, 23, 3), "datetime", "timestamp_ntz"),
        (("datetime2", 8, 26, 6), "datetime2(6)", "timestamp_ntz"),
        (("datetime2", 8, 27, 7), "datetime2(7)", "string"),
        (("datetimeoffset", 10, 33, 6), "datetimeoffset(6)", "timestamp"),
        (("datetimeoffset", 10, 34, 7), "datetimeoffset(7)", "string"),
        (("time", 5, 16, 7), "time(7)", "string"),
        (("uniqueidentifier", 16, 0, 0), "uniqueidentifier", "string"),
        (("sql_variant", 8016, 0, 0), "sql_variant", "string"),
    ],
)
def test_a_declared_type_has_its_type_in_spark(catalogued: tuple[str, int, int, int], source: str, spark: str) -> None:
    assert declared(*catalogued) == source
    assert spark_type(source)[0] == spark


def column(source: str, name: str = "c") -> Column:
    return Column(name, source, *spark_type(source))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("sql_variant", "of the type sql_variant"),
        ("geography", "of the type geography"),
        ("masked nvarchar(50)", "GRANT UNMASK"),
        ("encrypted nvarchar(50)", "encrypted by its client"),
    ],
)
def test_a_type_that_nothing_holds_is_refused_by_its_name(source: str, said: str) -> None:
    assert spark_type(source) == ("string", Fidelity.TEXT)
    with pytest.raises(SourceRefused, match=said):
        shown(column(source, "c"), "[c]")


@pytest.mark.parametrize(
    ("source", "brought", "value"),
    [
        ("decimal(10,2)", Decimal("1.5"), Decimal("1.50")),
        (
            "decimal(38,10)",
            Decimal("1234567890123456789012345678.5"),
            Decimal("1234567890123456789012345678.5000000000"),
        ),
        ("bit", 1, True),
        ("rowversion", 2**63 - 1, 2**63 - 1),
        ("date", date(2024, 2, 29), date(2024, 2, 29)),
        (
            "datetimeoffset(6)",
            datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            datetime(2024, 1, 1, 10, tzinfo=UTC),
        ),
    ],
)
def test_a_value_is_taken_as_it_is(source: str, brought: Any, value: Any) -> None:
    found = converter(column(source))(brought)
    assert (found, str(found)) == (value, str(value))


def test_half_a_surrogate_is_no_text_and_every_other_one_is_exact() -> None:
    convert = converter(column("varchar(10)"))
    assert convert("naïve, 🎉".encode("utf-16-le")) == "naïve, 🎉"
    with pytest.raises(Unfit, match="half a surrogate"):
        convert("\ud800".encode("utf-16-le", "surrogatepass"))


def test_a_datetime_is_compared_as_it_prints_beside_what_its_index_finds() -> None:
    """It counts in three-hundredths of a second: `10:00:00.007` lies a little below seven thousandths."""
    at = CursorValue(CursorType.DATETIME, "2024-01-01T10:00:00.007")
    assert beyond(column("datetime"), "[c]", ">=", at) == (
        "[c] >= CONVERT(datetime, '2024-01-01T09:59:59') AND CONVERT(datetime2(3), [c]) >= CONVERT(datetime2(7), '2024-01-01T10:00:00.007')"
    )


@pytest.mark.parametrize(
    ("source", "sign", "expected"),
    [
        ("date", ">", "[c] > CONVERT(date, '2024-02-29')"),
        ("datetime2(6)", "<", "[c] < CONVERT(datetime2(0), '2024-02-29')"),
        ("datetime2(6)", ">", "[c] >= CONVERT(datetime2(0), '2024-03-01')"),
    ],
)
def test_a_moment_that_stands_for_a_day_is_compared_by_its_day(source: str, sign: str, expected: str) -> None:
    assert beyond(column(source), "[c]", sign, CursorValue(CursorType.DATE, "2024-02-29")) == expected


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1))
def test_a_name_and_a_text_end_where_they_end(name: str) -> None:
    for quoted, closing in ((words.identifier(name), "]"), (words.text(name), "'")):
        inner = quoted[1:-1] if closing == "]" else quoted[2:-1]
        assert quoted[-1] == closing
        assert closing not in inner.replace(closing * 2, "")
        assert inner.replace(closing * 2, closing) == name
