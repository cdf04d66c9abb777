"""What MariaDB and MySQL share beyond the contract of all databases: values, and those that Spark has no type for.

A module of either imports all of it and gives the fixture `server`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.databases.mysql.types import spark_type
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.model.key_parts import KeySpread
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases import contract
from tests.adapters.databases.contract import observe, orders, planned, rows_of, spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

from tests.adapters.databases.mysql_contract import NUMBERED, Shop


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("tinyint(1)", "smallint"),
        ("tinyint(3) unsigned", "smallint"),
        ("smallint(5) unsigned zerofill", "int"),
        ("int(10) unsigned", "bigint"),
        ("bigint(20) unsigned", "decimal(20,0)"),
        ("bit(1)", "boolean"),
        ("bit(8)", "bigint"),
        ("bit(64)", "decimal(20,0)"),
        ("decimal(38,10)", "decimal(38,10)"),
        ("decimal(65,30)", "string"),
        ("year(4)", "smallint"),
        ("date", "date"),
        ("datetime(6)", "timestamp_ntz"),
        ("timestamp", "timestamp"),
        ("time(3)", "string"),
        ("float", "float"),
        ("double(10,2)", "double"),
        ("enum('a','b')", "string"),
        ("set('x','y')", "string"),
        ("longtext", "string"),
        ("varbinary(16)", "binary"),
        ("point", "binary"),
        ("vector(3)", "binary"),
        ("uuid", "string"),
        ("inet6", "string"),
    ],
)
def test_a_declared_type_has_its_type_in_spark(declared: str, kind: str) -> None:
    assert spark_type(declared)[0] == kind


COLUMNS = """
    a tinyint(1), b bigint unsigned, c bit(1), d bit(64), e year, f decimal(38,10), g decimal(65,30), h float, i double,
    j time(3), k enum('x','y'), l set('x','z'), m varchar(20) CHARACTER SET latin1, n varchar(20) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin,
    o varbinary(10), p json, q int(5) unsigned zerofill, r {}, s point, t timestamp(6) NULL, u date, v char(5), w double(10,2)
"""
VALUES = """
    2, 18446744073709551615, b'1', 18446744073709551615, 0, -0.0000000001, 12345678901234567890123456789012345.123456789012345678901234567890,
    16777217, 0.1, '838:59:58.999', 'y', 'x,z', 'né', 'Ω, ok', 0x00FF2C, '{"b": 1, "a": 2}', 42, '123e4567-e89b-12d3-a456-426655440000',
    ST_GeomFromText('POINT(1 2)'), '2024-03-31 02:30:00.123456', '9999-12-31', 'ab ', 1.25
"""
EXPECTED = (
    2,
    Decimal(18446744073709551615),
    True,
    Decimal(18446744073709551615),
    0,
    Decimal("-0.0000000001"),
    "12345678901234567890123456789012345.123456789012345678901234567890",
    16777216.0,
    0.1,
    "838:59:58.999",
    "y",
    "x,z",
    "né",
    "Ω, ok",
    bytearray(b"\x00\xff,"),
    '{"b": 1, "a": 2}',
    42,
    "123e4567-e89b-12d3-a456-426655440000",
    bytearray(bytes.fromhex("000000000101000000000000000000f03f0000000000000040")),
    datetime(2024, 3, 31, 2, 30, 0, 123456, tzinfo=UTC),
    date(9999, 12, 31),
    "ab",
    1.25,
)


def test_no_value_is_altered_and_both_sides_hash_it_alike(shop: Shop, spark: SparkSession) -> None:
    is_mariadb = shop.address.dialect == "mariadb"
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE kinds (id {NUMBERED}, {COLUMNS.format('uuid' if is_mariadb else 'char(36)')}, updated_at datetime NOT NULL DEFAULT NOW())"
        )
        names = ", ".join("abcdefghijklmnopqrstuvw")
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"INSERT INTO kinds ({names}) VALUES ({VALUES})")
        cursor.execute("INSERT INTO kinds () VALUES ()")
    probe, spec = SqlProbe(shop.address, "shop"), spec_of(shop, "kinds")
    full, empty = rows_of(spark, shop, planned(probe, spec))
    found = [each.astimezone(UTC) if isinstance(each, datetime) else each for each in full[1:-1]]
    landed = dict(zip("abcdefghijklmnopqrstuvw", found, strict=True))
    wanted = dict(zip("abcdefghijklmnopqrstuvw", EXPECTED, strict=True))
    if not is_mariadb:
        # It keeps no text but what it means.
        wanted["p"] = '{"a": 2, "b": 1}'
    assert landed == wanted
    assert set(empty[1:-1]) == {None}
    hashed_alike(shop, spark, spec, 2)


def hashed_alike(shop: Shop, spark: SparkSession, spec: contract.TableSpec, rows: int) -> None:
    probe = SqlProbe(shop.address, "shop")
    with contract.SparkSource(probe, shop.address, lambda: spark).snapshot(planned(probe, spec)) as seen:
        landable = seen.frame.where(f"{contract.REJECT_COLUMN} IS NULL")
        hashed = landable.select(contract.sf.expr(contract.spark_row_hash(spec.columns)).alias("hash"))
        count, total = hashed.agg(
            contract.sf.count("*"), contract.sf.sum(contract.sf.expr("CAST(hash AS decimal(38,0))"))
        ).collect()[0]
    (measured,) = probe.measure(spec, (contract.WHOLE,))
    assert (measured.rows, int(measured.digest)) == (rows, int(total)) == (count, int(total))


def test_doubles_have_the_same_text_on_both_sides_bit_for_bit(shop: Shop, spark: SparkSession) -> None:
    numbers = (
        0.1, -0.1, 1.0, -1.0, 2.0, 3.0, 0.5, 1e300, -1e-300, 1.7976931348623157e308, 2.2250738585072014e-308,
        2.225073858507201e-308, 5e-324, 1e-310, 4503599627370497.0, 9007199254740993.0, 1 / 3, 0.0, 2.0**-1000, 2.0**1000,
        0.9999999999999999, 1.0000000000000002, 7.999999999999999, 8.000000000000002,
    )  # fmt: skip
    shop.execute(f"CREATE TABLE doubles (id {NUMBERED}, x double, y float, updated_at datetime NOT NULL DEFAULT NOW())")
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO doubles (x, y) VALUES (%s, %s)", [(repr(x), x if abs(x) < 1e30 else 1) for x in numbers]
        )
    spec = spec_of(shop, "doubles")
    found = rows_of(spark, shop, planned(SqlProbe(shop.address, "shop"), spec))
    assert sorted(row[1] for row in found) == sorted(numbers)
    hashed_alike(shop, spark, spec, len(numbers))


def test_what_spark_cannot_hold_goes_to_quarantine_as_it_stands(shop: Shop, spark: SparkSession) -> None:
    shop.execute(
        f"CREATE TABLE odd (id {NUMBERED}, day date, at timestamp NULL, text varchar(9), updated_at datetime NOT NULL DEFAULT NOW())",
        "INSERT INTO odd (day) VALUES ('0000-00-00')",
        "INSERT INTO odd (day) VALUES ('2024-00-15')",
        "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
        "INSERT INTO odd (day) VALUES ('2024-02-31')",
        "SET SESSION sql_mode = 'ANSI_QUOTES'",
        "INSERT INTO odd (at) VALUES ('0000-00-00 00:00:00')",
        "INSERT INTO odd (day, text) VALUES ('2024-02-29', 'fine, 🎉')",
    )
    halves = 0
    if shop.address.dialect == "mariadb":
        # The other one lets nobody write half a surrogate.
        shop.execute("INSERT INTO odd (text) VALUES (_utf8mb4 0xEDA080)")
        halves = 1
    probe, spec = SqlProbe(shop.address, "shop"), spec_of(shop, "odd")
    with contract.SparkSource(probe, shop.address, lambda: spark).snapshot(planned(probe, spec)) as seen:
        assert (seen.rows, seen.rejected) == (5 + halves, 4 + halves)
        found = seen.frame.where("_sync_column IS NOT NULL").select("_sync_column", "_sync_raw").collect()
    assert sorted(row[0] for row in found) == ["at", "day", "day", "day", "text"][: 4 + halves]
    assert any('"day": "2024-02-31"' in row[1] for row in found)
    hashed_alike(shop, spark, spec, 1)
    reader = contract.dialect_of(shop.address.dialect).reader(shop.address)
    keys = reader.unholdable_keys(spark, spec, (contract.WHOLE,))
    assert keys is not None
    assert sorted(row[0] for row in keys.collect()) == ["1", "2", "3", "4", "6"][: 4 + halves]


def test_a_key_of_bits_lies_at_its_number(shop: Shop) -> None:
    shop.execute(
        "CREATE TABLE flags (id bit(9) PRIMARY KEY, note text)", "INSERT INTO flags VALUES (b'1', 'a'), (257, 'b')"
    )
    spec = replace(spec_of(shop, "flags", strategy=Strategy.FULL_REFRESH), cursor=None)
    with SqlProbe(shop.address, "shop").placed_rows(spec, (contract.WHOLE,)) as found:
        assert found.spread() == KeySpread(2, 1, 257)


@pytest.mark.parametrize(("value", "left"), [(None, 1), ("x", 2)])
def test_rows_that_the_source_marks_as_gone_are_not_measured(shop: Shop, value: str | None, left: int) -> None:
    spec = orders(shop)
    shop.execute("UPDATE orders SET note = NULL WHERE id = 1", "UPDATE orders SET note = 'x' WHERE id = 2")
    marked = replace(spec, deletes=contract_deletes(value))
    probe = SqlProbe(shop.address, "shop")
    assert probe.measure(spec, (contract.WHOLE,))[0].rows == 3
    assert probe.measure(marked, (contract.WHOLE,))[0].rows == left


def contract_deletes(value: str | None) -> Any:
    from incremental_assets.core.model.deletes import DeleteMode, Deletes

    return Deletes(DeleteMode.SOFT, column="note", value=value)


def test_a_row_with_a_zero_stamp_is_one_without_a_cursor(shop: Shop) -> None:
    shop.execute(
        f"CREATE TABLE visits (id {NUMBERED}, updated_at datetime NOT NULL DEFAULT '0000-00-00')",
        "INSERT INTO visits () VALUES ()",
        "INSERT INTO visits (updated_at) VALUES (NOW())",
    )
    probe, spec = SqlProbe(shop.address, "shop"), spec_of(shop, "visits")
    with probe.snapshot(planned(probe, spec)) as seen:
        assert (seen.rows, seen.nulls, seen.rejected) == (2, 1, 1)
        assert seen.highest is not None
    assert observe(probe, spec).highest is None
