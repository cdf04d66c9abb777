"""A value of a binlog is what a snapshot shows of it, bit for bit, whichever type it has: from real servers, and from bytes that they have sent."""

from __future__ import annotations

from contextlib import closing

import pytest

from incremental_assets.adapters.logs.mysql.row_values import reader_of
from incremental_assets.adapters.logs.mysql.table_map import BIT, BLOB, DECIMAL, ENUM, SET, STRING, Mapped
from tests.adapters.logs.mirror import Mirror
from tests.conformance.worlds import MariaWorld

VALUES = {
    "ti tinyint": ("-128", "127", "0"),
    "tu tinyint unsigned": ("255", "0", "1"),
    "su smallint unsigned": ("65535", "0", "1"),
    "mi mediumint": ("-8388608", "8388607", "-1"),
    "mu mediumint unsigned": ("16777215", "0", "1"),
    "iu int unsigned": ("4294967295", "0", "1"),
    "bi bigint": ("-9223372036854775808", "9223372036854775807", "-1"),
    "bu bigint unsigned": ("18446744073709551615", "0", "1"),
    "zf int(5) zerofill": ("42", "4294967295", "0"),
    "d1 decimal(10,2)": ("-12345678.91", "0", "0.01"),
    "d2 decimal(38,10)": ("1234567890123456789012345678.0123456789", "-0.0000000001", "1"),
    "d3 decimal(5,0) unsigned": ("99999", "0", "1"),
    "d4 decimal(65,30)": ("12345678901234567890123456789012345.123456789012345678901234567890", "-1", "0"),
    "d5 decimal(9,9)": ("0.123456789", "-0.000000001", "0"),
    "f float": ("16777217", "-0.0", "0.1"),
    "db double": ("1e300", "-1e-300", "0.1"),
    "b1 bit(1)": ("1", "0", "1"),
    "b20 bit(20)": ("1048575", "0", "1"),
    "b64 bit(64)": ("18446744073709551615", "0", "1"),
    "da date": ("'2024-02-29'", "'1000-01-01'", "'9999-12-31'"),
    "dt datetime": ("'2024-02-29 23:59:59'", "'1000-01-01'", "'9999-12-31'"),
    "dt3 datetime(3)": ("'2024-02-29 23:59:59.123'", "'0001-01-01'", "'2024-01-01 00:00:00.5'"),
    "dt6 datetime(6)": ("'9999-12-31 23:59:59.999999'", "'2024-01-01 00:00:00.000001'", "'2024-01-01'"),
    "ts timestamp NULL": ("'2038-01-18 03:14:07'", "'1970-01-02 00:00:01'", "'2024-10-27 01:30:00'"),
    "ts2 timestamp(2) NULL": ("'2024-10-27 01:30:00.12'", "'2024-01-01'", "'2024-03-31 02:30:00.99'"),
    "ts6 timestamp(6) NULL": ("'1970-01-02 00:00:01.000001'", "'2037-06-01 12:00:00'", "'2024-01-01 00:00:00.1'"),
    "t time": ("'838:59:59'", "'-838:59:59'", "'00:00:00'"),
    "t1 time(1)": ("'-12:34:56.7'", "'00:00:00.9'", "'01:00:00.5'"),
    "t4 time(4)": ("'00:00:00.1234'", "'-00:00:00.0001'", "'-01:00:00'"),
    "t6 time(6)": ("'-838:59:58.000001'", "'-00:59:59.999999'", "'00:00:01'"),
    "y year": ("2024", "0", "1901"),
    "c char(10)": ("'ab  '", "''", "'é'"),
    "v varchar(300)": ("REPEAT('v', 280)", "''", "'x'"),
    "vs varchar(20)": ("'é𝄞'", "''", "'y'"),
    "l char(5) CHARACTER SET latin1": ("'äé€'", "''", "'x'"),
    "u varchar(20) CHARACTER SET utf16": ("'𝄞x'", "''", "'x'"),
    "bn binary(6)": ("x'0102'", "x''", "x'010000'"),
    "vb varbinary(10)": ("x'610062'", "x''", "x'00'"),
    "tx text": ("'text'", "''", "REPEAT('é', 70000)"),
    "lb longblob": ("x'00ff'", "x''", "REPEAT(x'00', 70000)"),
    "e enum('x','ÿ','z,w')": ("'ÿ'", "'z,w'", "'x'"),
    "s set('a','b','c')": ("'c,a'", "''", "'b'"),
    "el enum('ä','b') CHARACTER SET latin1": ("'ä'", "'b'", "'ä'"),
    "g point": ("POINT(1, 2)", "NULL", "POINT(-1, 0)"),
}
"""Of each column three values; a fourth row has NULLs."""


def test_every_type_comes_as_a_load_reads_it(world: MariaWorld) -> None:
    columns = ", ".join(VALUES)
    if world.title == "MariaDB":
        # A collation that has one name for several charsets, and by itself no number.
        columns = columns.replace("vs varchar(20)", "vs varchar(20) COLLATE utf8mb4_uca1400_ai_ci")
    world.execute(
        "DROP TABLE orders",
        f"CREATE TABLE orders (id int PRIMARY KEY, {columns}, gs int AS (id + 1) STORED, gv int AS (id + 2) VIRTUAL, after int unsigned) CHARACTER SET utf8mb4",
    )
    mirror = Mirror.of(world)
    mirror.sync()
    names = ", ".join(each.split()[0] for each in VALUES)
    with closing(world.open()) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = 'America/New_York'" if _has_zones(world) else "SET time_zone = '-05:00'")
        for number in range(3):
            values = ", ".join(each[number] for each in VALUES.values())
            cursor.execute(f"INSERT INTO orders (id, {names}, after) VALUES ({number}, {values}, {number})")
        cursor.execute("INSERT INTO orders (id) VALUES (3)")
        # Old and new rows, both of all types.
        cursor.execute("UPDATE orders SET id = id + 10, after = 4294967295 WHERE id IN (0, 3)")
    mirror.sync()
    assert sorted(mirror.rows) == [(1,), (2,), (10,), (13,)]
    assert mirror.rows == mirror.truth()


def test_what_no_copy_can_hold_goes_to_quarantine_as_of_a_load(world: MariaWorld) -> None:
    world.execute("ALTER TABLE orders ADD COLUMN day date, ADD COLUMN at timestamp NULL")
    mirror = Mirror.of(world)
    mirror.sync()
    with closing(world.open()) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = 'ALLOW_INVALID_DATES'")
        for number, day in enumerate(("0000-00-00", "2024-02-31", "2024-00-10"), 1):
            cursor.execute(f"INSERT INTO orders (id, day) VALUES ({number}, '{day}')")
        cursor.execute("INSERT INTO orders (id, at) VALUES (4, '0000-00-00 00:00:00')")
        cursor.execute("INSERT INTO orders (id, day) VALUES (5, '2024-02-29')")
    mirror.sync()
    truth = mirror.truth()
    assert mirror.rows == truth
    assert list(truth) == [(5,)]
    reason, other = "this date is no day of the calendar", "this timestamp is no day of the calendar"
    assert mirror.rejected == [("1", reason), ("2", reason), ("3", reason), ("4", other)]


def test_a_type_that_is_not_read_is_refused_by_name(world: MariaWorld) -> None:
    if world.title == "MariaDB":
        world.execute("ALTER TABLE orders ADD COLUMN odd inet6")
        with pytest.raises(Exception, match="its column 'odd' is inet6, which is not read of the binlog"):
            Mirror.of(world).sync()
        world.execute("ALTER TABLE orders DROP COLUMN odd")
    world.execute("ALTER TABLE orders ADD COLUMN far varchar(9) CHARACTER SET big5")
    with pytest.raises(Exception, match="its column 'far' has the charset big5"):
        Mirror.of(world).sync()


def _has_zones(world: MariaWorld) -> bool:
    return world.rows("SELECT CONVERT_TZ('2024-01-01', 'UTC', 'America/New_York')") != [(None,)]


@pytest.mark.parametrize(
    ("column", "charset", "sent", "text"),
    [
        (Mapped("", 1), "", "80", b"-128"),
        (Mapped("", 9, unsigned=True), "", "ffffff", b"16777215"),
        (Mapped("", 8, unsigned=True), "", "ff" * 8, b"18446744073709551615"),
        (Mapped("", DECIMAL, 10, 2), "", "7f439eb1a4", b"-12345678.91"),
        (Mapped("", DECIMAL, 9, 9), "", "875bcd15", b"0.123456789"),
        (Mapped("", BIT, 2, 4), "", "0fffff", b"1048575"),
        (Mapped("", 13), "", "00", b"0"),
        (Mapped("", 13), "", "7c", b"2024"),
        (Mapped("", 10), "", "000000", b"0000-00-00"),
        (Mapped("", 10), "", "5dd00f", b"2024-02-29"),
        (Mapped("", 17, 2), "", "0000000000", b"0000-00-00 00:00:00.00"),
        (Mapped("", 17, 0), "", "7fffffff", b"2038-01-19 03:14:07"),
        (Mapped("", 18, 0), "", "8000000000", b"0000-00-00 00:00:00"),
        (Mapped("", 19, 0), "", "b46efb", b"838:59:59"),
        (Mapped("", 19, 4), "", "7fffffffff", b"-00:00:00.0001"),
        (Mapped("", STRING, 6), "binary", "020102", b"\x01\x02\0\0\0\0"),
        (Mapped("", STRING, 5), "latin1", "03e4e980", "äé€".encode()),
        (Mapped("", BLOB, 2), "utf8mb4", "0200c3a9", "é".encode()),
        (Mapped("", ENUM, 1, labels=(b"x", b"y")), "utf8mb4", "00", b""),
        (Mapped("", ENUM, 1, labels=(b"x", b"y")), "utf8mb4", "02", b"y"),
        (Mapped("", SET, 1, labels=(b"a", b"b", b"c")), "utf8mb4", "05", b"a,c"),
    ],
)
def test_bytes_of_a_row_are_read_as_the_server_prints_them(
    column: Mapped, charset: str, sent: str, text: bytes
) -> None:
    read = reader_of(column, charset)
    assert read is not None
    data = bytes.fromhex(sent)
    assert read(b"\xaa" + data + b"\xbb", 1) == (text, len(data) + 1)


@pytest.mark.parametrize("kind", [7, 11, 12, 140, 141, 242, 244])
def test_bytes_of_a_type_that_is_not_known_are_not_read(kind: int) -> None:
    assert reader_of(Mapped("", kind, 4), "utf8mb4") is None
