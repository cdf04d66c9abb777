"""JSON in a binlog: MySQL's binary form becomes the text that a load reads, MariaDB has it as text."""

from __future__ import annotations

import random
from contextlib import closing

import pytest

from incremental_assets.adapters.logs.mysql.row_values import reader_of
from incremental_assets.adapters.logs.mysql.table_map import JSON, Mapped
from incremental_assets.core.errors import SourceRefused, StageBroken
from tests.adapters.logs.mirror import Mirror
from tests.conformance.worlds import MariaWorld

TEXTS = (
    "'null'",
    "'true'",
    "'[]'",
    "'{}'",
    "'\"\"'",
    "'[null, false, 1, -1, 32767, 32768, -32769, 65535, 65536, 2147483648, -2147483649, 18446744073709551615]'",
    "'[1.0, -0.0, 1e15, 1e16, 1e-14, 1e-16, 0.1, 1.7976931348623157e308, 3717193478185631.5]'",
    '\'{"b": 1, "aa": {"c": [1, {"d": null}]}, "a": "x"}\'',
    '\'{"größe": "𝄞 é", "": 1}\'',
    r"""'["\\"", "\\\\", "\\b\\f\\n\\r\\t", "\\u0001\\u001f", "/", "\\u00e4\\u2028"]'""",
)
MADE = (
    "JSON_ARRAY(1.50, -0.01, 123456789012345678901234567890.123456789)",
    "JSON_ARRAY(CAST('2024-02-29' AS DATE), CAST('-838:59:58.5' AS TIME(1)), CAST('2024-01-01 12:34:56.789' AS DATETIME(3)), CAST('0001-01-01' AS DATETIME))",
    "JSON_OBJECT('k', x'0102ff', 'l', CAST(repeat('y', 200) AS BINARY), 'b', b'1010')",
    "JSON_ARRAY(repeat('z', 127), repeat('z', 128), repeat('é', 40000))",
    "JSON_OBJECT('long', repeat('z', 70000), 'short', 1, 'n', 70000, 'l', JSON_ARRAY(1, 2))",
)
"""Kinds that no text of JSON makes; larger than what two bytes count."""


def numbers() -> str:
    chance = random.Random(5)
    made = [
        float(f"{chance.randint(10 ** (digits - 1), 10**digits - 1)}e{power}")
        for power in range(-30, 25)
        for digits in (1, 2, 9, 16, 17)
    ]
    return f"JSON_ARRAY({', '.join(f'{each!r}e0' if 'e' not in repr(each) else repr(each) for each in made)})"


def test_json_comes_as_a_load_reads_it(world: MariaWorld) -> None:
    world.execute("DROP TABLE orders", "CREATE TABLE orders (id int PRIMARY KEY, j json, after int)")
    mirror = Mirror.of(world)
    mirror.sync()
    with closing(world.open()) as connection, connection.cursor() as cursor:
        for number, value in enumerate((*TEXTS, *MADE, numbers())):
            cursor.execute(f"INSERT INTO orders VALUES ({number}, {value}, {number})")
        cursor.execute("INSERT INTO orders (id) VALUES (99)")
        cursor.execute("UPDATE orders SET j = JSON_SET(j, '$.a', 'other') WHERE id = 7")
    mirror.sync()
    assert len(mirror.rows) == len(TEXTS) + len(MADE) + 2
    assert mirror.rows == mirror.truth()
    assert mirror.rejected == []


def test_parts_of_json_stop_the_read_by_name(world: MariaWorld) -> None:
    if world.title == "MariaDB":
        pytest.skip("its values are texts, and always whole")
    world.execute(
        "ALTER TABLE orders ADD COLUMN j json",
        "INSERT INTO orders (id, j) VALUES (1, JSON_OBJECT('a', repeat('x', 500), 'b', 1))",
    )
    mirror = Mirror.of(world)
    mirror.sync()
    with closing(world.open()) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION binlog_row_value_options = PARTIAL_JSON")
        cursor.execute("UPDATE orders SET j = JSON_SET(j, '$.b', 2)")
    with pytest.raises(SourceRefused, match="binlog_row_value_options = PARTIAL_JSON is set"):
        mirror.sync()
    mirror.sync(again=True)
    assert mirror.rows == mirror.truth()


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("", b"null"),
        ("0400", b"null"),
        ("0401", b"true"),
        ("05ffff", b"-1"),
        ("0c0161", b'"a"'),
        ("0c020a5c", b'"\\n\\\\"'),
        ("0bcdcccccccc4c0f40", b"3.9125"),
        ("0200000400", b"[]"),
        ("0202000a00050100040000", b"[1, null]"),
        ("0001000c000b00010005070061", b'{"a": 7}'),
    ],
)
def test_bytes_of_json_are_read_as_the_server_prints_them(sent: str, text: bytes) -> None:
    read = reader_of(Mapped("", JSON, 4), "binary")
    assert read is not None
    value = bytes.fromhex(sent)
    assert read(len(value).to_bytes(4, "little") + value, 0) == (text, len(value) + 4)


@pytest.mark.parametrize("sent", ["0c05", "20", "0409", "0205000a00", "0b0000"])
def test_bytes_that_are_no_json_stop_the_read(sent: str) -> None:
    read = reader_of(Mapped("", JSON, 4), "binary")
    assert read is not None
    value = bytes.fromhex(sent)
    with pytest.raises(StageBroken, match="damaged"):
        read(len(value).to_bytes(4, "little") + value, 0)
