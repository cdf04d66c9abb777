"""What a server of MySQL's protocol sends, and the columns that it is read as."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

import pymysql
import pytest

from incremental_assets.adapters.databases.mysql.packets import packets

Sent = bytes | None
END = b"\x05\x00\x00\x09\xfe\x00\x00\x02\x00"
FULL = 0xFFFFFF


def told(value: Sent) -> bytes:
    """A value behind its length, as the protocol says it."""
    if value is None:
        return b"\xfb"
    size = len(value)
    if size < 251:
        return bytes([size]) + value
    if size < 1 << 16:
        return b"\xfc" + struct.pack("<H", size) + value
    return (b"\xfd" + struct.pack("<I", size)[:3] if size < 1 << 24 else b"\xfe" + struct.pack("<Q", size)) + value


def packed(payload: bytes) -> bytes:
    """A payload in as many packets as it takes."""
    part, rest = payload[:FULL], payload[FULL:]
    packet = struct.pack("<I", len(part))[:3] + b"\x01" + part
    return packet + packed(rest) if len(part) == FULL else packet


def row(*values: Sent) -> bytes:
    return packed(b"".join(map(told, values)))


def arriving(wire: bytes, *sizes: int) -> Callable[[memoryview], int]:
    """A read that fills its buffer in pieces of these sizes, drawn at random; it fails where more is asked for than was sent."""
    place, chosen = [0], random.Random(7)

    def fill(room: memoryview) -> int:
        piece = wire[place[0] : place[0] + min(len(room), chosen.choice(sizes))]
        assert piece, "asked for more than the server sends"
        room[: len(piece)] = piece
        place[0] += len(piece)
        return len(piece)

    return fill


def read(fill: Callable[[memoryview], int], columns: int, rows: int = 1000) -> list[tuple[Sent, ...]]:
    found: list[tuple[Sent, ...]] = []
    for each in packets(fill, rows):
        assert len(each.begins) <= rows
        found += zip(*(column.to_pylist() for column in each.columns(columns)), strict=True)
    return found


@pytest.mark.parametrize("sizes", [(1,), (3, 7), (5000,)])
def test_values_of_every_length_are_read_as_they_were_sent_however_they_arrive(sizes: Sequence[int]) -> None:
    rows = [
        (b"a", None, b""),
        (b"x" * 250, b"y" * 251, b"z" * 65535),
        (None, b"\xff\xfe", b"x" * 65536),
        (b"", b"", b""),
    ]
    wire = b"".join(row(*each) for each in rows) + END
    assert read(arriving(wire, *sizes), 3) == rows


def test_a_row_that_takes_several_packets_is_one_row() -> None:
    rows = [(b"before", b""), (b"x" * (2 * FULL + 5), None), (b"x" * (FULL - 4 - 1), b""), (b"after", b"y" * FULL)]
    wire = b"".join(row(*each) for each in rows) + END
    assert len(row(b"x" * (FULL - 4 - 1), b"")) == FULL + 8, "one that ends with its packet is followed by an empty one"
    assert read(arriving(wire, 1 << 20, 999), 2) == rows


def test_rows_come_a_limited_number_at_a_time() -> None:
    wire = b"".join(row(b"%d" % number) for number in range(2500)) + END
    assert [int(value or -1) for (value,) in read(arriving(wire, 1 << 20), 1, rows=1000)] == list(range(2500))


def test_an_answer_may_be_empty() -> None:
    assert read(arriving(END, 3), 2) == []


def test_an_answer_that_ends_with_an_error_gives_the_rows_before_it_and_the_error_as_the_driver_does() -> None:
    failure = packed(b"\xff" + struct.pack("<H", 1317) + b"#70100Query execution was interrupted")
    found = packets(arriving(row(b"1") + failure, 4), 1000)
    assert next(found).columns(1)[0].to_pylist() == [b"1"]
    with pytest.raises(pymysql.OperationalError, match="interrupted"):
        next(found)


def test_a_row_of_another_form_is_refused() -> None:
    with pytest.raises(pymysql.InternalError, match="another form"):
        read(arriving(row(b"1", b"2") + END, 64), 1)
