"""Values of rows in the binlog as the texts that a SELECT of a session of ours gives: what makes values of a snapshot's texts makes them of these."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache

from incremental_assets.adapters.logs.mysql.binary_json import text_of
from incremental_assets.adapters.logs.mysql.table_map import BIT, BLOB, DECIMAL, ENUM, JSON, SET, STRING, Mapped

Read = Callable[[bytes, int], tuple[bytes, int]]
"""A value at a place in some bytes, and the place behind it."""

_INTEGERS = {1: 1, 2: 2, 3: 4, 9: 3, 8: 8}
_FRACTION_BYTES = (0, 1, 1, 2, 2, 3, 3)
_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Of decimal digits that are fewer than nine."""
_EPOCH_ORDINAL = 719163
_UTF8 = frozenset(("utf8mb4", "utf8mb3", "utf8", "ascii", "binary"))
CODECS: Mapping[str, str] = {"ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be"}
READ_CHARSETS = _UTF8 | {"latin1"} | set(CODECS)
"""Those whose texts are read here."""
_LATIN1 = {place: bytes((place,)).decode("cp1252", "replace") for place in range(256)}
_LATIN1 |= {place: chr(place) for place in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
"""The server's latin1 is the one of Windows, with what that leaves out."""


def latin1(octets: bytes) -> str:
    """A text of that charset."""
    return "".join(map(_LATIN1.__getitem__, octets))


def reader_of(column: Mapped, charset: str) -> Read | None:
    """None for a type that is not read here, or a charset."""
    kind = column.type
    if kind in _INTEGERS:
        return _integer(_INTEGERS[kind], unsigned=column.unsigned)
    if kind in _READERS:
        return _READERS[kind](column)
    if kind in (15, 253, STRING, BLOB, 249, 250, 251):
        to_text = _text_of(charset)
        return to_text and _prefixed(
            _prefix(column), to_text if kind != STRING or charset != "binary" else _filled(column.size)
        )
    if kind == 255:
        return _prefixed(column.size, bytes)
    if kind == JSON:
        return _prefixed(column.size, lambda value: text_of(value, _decimal_text))
    if kind in (ENUM, SET):
        to_text = _text_of(charset)
        return to_text and _labelled(column, [to_text(each) for each in column.labels])
    return None


def _prefix(column: Mapped) -> int:
    if column.type in (15, 253, STRING):
        return 1 if column.size < 256 else 2
    return column.size


def _integer(width: int, *, unsigned: bool) -> Read:
    def read(data: bytes, at: int) -> tuple[bytes, int]:
        end = at + width
        return b"%d" % int.from_bytes(data[at:end], "little", signed=not unsigned), end

    return read


def _prefixed(width: int, convert: Callable[[bytes], bytes]) -> Read:
    def read(data: bytes, at: int) -> tuple[bytes, int]:
        begin = at + width
        end = begin + int.from_bytes(data[at:begin], "little")
        return convert(data[begin:end]), end

    return read


def _text_of(charset: str) -> Callable[[bytes], bytes] | None:
    if charset in _UTF8:
        return bytes
    if charset == "latin1":
        return lambda value: latin1(value).encode()
    codec = CODECS.get(charset)
    # Half a surrogate stays one, as the server sends it: it is found where values are made.
    return (
        None if codec is None else lambda value: value.decode(codec, "surrogatepass").encode("utf-8", "surrogatepass")
    )


def _filled(size: int) -> Callable[[bytes], bytes]:
    """The log leaves out the zero bytes at the end of a BINARY."""
    return lambda value: value.ljust(size, b"\0")


def _labelled(column: Mapped, labels: list[bytes]) -> Read:
    width = column.size

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        end = at + width
        number = int.from_bytes(data[at:end], "little")
        if column.type == ENUM:
            return labels[number - 1] if number else b"", end
        return b",".join(label for place, label in enumerate(labels) if number >> place & 1), end

    return read


def _float(_: Mapped) -> Read:
    # As the snapshot's `+ 0e0` has it: zero has one sign.
    return lambda data, at: (repr(struct.unpack_from("<f", data, at)[0] + 0.0).encode(), at + 4)


def _double(_: Mapped) -> Read:
    return lambda data, at: (repr(struct.unpack_from("<d", data, at)[0] + 0.0).encode(), at + 8)


def _year(_: Mapped) -> Read:
    return lambda data, at: (b"%d" % (data[at] + 1900 if data[at] else 0), at + 1)


def _bit(column: Mapped) -> Read:
    width = column.size + (1 if column.digits else 0)
    return lambda data, at: (b"%d" % int.from_bytes(data[at : at + width], "big"), at + width)


def _date(_: Mapped) -> Read:
    def read(data: bytes, at: int) -> tuple[bytes, int]:
        value = int.from_bytes(data[at : at + 3], "little")
        return b"%04d-%02d-%02d" % (value >> 9, value >> 5 & 15, value & 31), at + 3

    return read


def _datetime(column: Mapped) -> Read:
    width = 5 + _FRACTION_BYTES[column.size]

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        packed = int.from_bytes(data[at : at + 5], "big") - 0x8000000000
        day, clock = packed >> 17, packed & 0x1FFFF
        year, month = divmod(day >> 5, 13)
        text = b"%04d-%02d-%02d %02d:%02d:%02d" % (year, month, day & 31, clock >> 12, clock >> 6 & 63, clock & 63)
        return text + _fraction(data[at + 5 : at + width], column.size), at + width

    return read


def _timestamp(column: Mapped) -> Read:
    width = 4 + _FRACTION_BYTES[column.size]

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        second, part = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + width]
        if not second and not any(part):
            return b"0000-00-00 00:00:00" + _fraction(part, column.size), at + width
        days, rest = divmod(second, 86_400)
        text = _day(days) + b" %02d:%02d:%02d" % (rest // 3600, rest // 60 % 60, rest % 60)
        return text + _fraction(part, column.size), at + width

    return read


def _time(column: Mapped) -> Read:
    digits, part = column.size, _FRACTION_BYTES[column.size]
    width, unit = 3 + part, 10 ** (6 - 2 * part)

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        # A whole number of the smallest part, negative ones below the middle.
        packed = int.from_bytes(data[at : at + width], "big") - (0x800000 << 8 * part)
        sign, packed = (b"-", -packed) if packed < 0 else (b"", packed)
        clock, small = packed >> 8 * part, packed & ((1 << 8 * part) - 1)
        text = b"%s%02d:%02d:%02d" % (sign, clock >> 12 & 0x3FF, clock >> 6 & 63, clock & 63)
        return text + (b".%06d" % (small * unit))[: digits + 1 if digits else 0], at + width

    return read


def _decimal(column: Mapped) -> Read:
    whole, scale = column.size - column.digits, column.digits
    heads = [_DIGIT_BYTES[whole % 9]] if whole % 9 else []
    groups = [(width, 0) for width in heads] + [(4, 9)] * (whole // 9)
    parts = [(4, 9)] * (scale // 9) + ([(_DIGIT_BYTES[scale % 9], scale % 9)] if scale % 9 else [])
    width = sum(each for each, _ in (*groups, *parts))

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        raw = bytearray(data[at : at + width])
        is_negative = not raw[0] & 0x80
        raw[0] ^= 0x80
        if is_negative:
            raw = bytearray(each ^ 0xFF for each in raw)
        texts, place = [], 0
        for size, digits in (*groups, *parts):
            texts.append(b"%0*d" % (digits or 1, int.from_bytes(raw[place : place + size], "big")))
            place += size
        integral = b"".join(texts[: len(groups)]).lstrip(b"0") or b"0"
        fraction = b"." + b"".join(texts[len(groups) :]) if scale else b""
        return (b"-" if is_negative else b"") + integral + fraction, at + width

    return read


def _decimal_text(data: bytes, digits: int, fraction: int) -> bytes:
    return _decimal(Mapped("", DECIMAL, digits, fraction))(data, 0)[0]


_READERS: Mapping[int, Callable[[Mapped], Read]] = {
    4: _float,
    5: _double,
    10: _date,
    13: _year,
    14: _date,
    BIT: _bit,
    17: _timestamp,
    18: _datetime,
    19: _time,
    DECIMAL: _decimal,
}


def _fraction(part: bytes, digits: int) -> bytes:
    if not digits:
        return b""
    micros = int.from_bytes(part, "big") * 10 ** (6 - 2 * len(part))
    return (b".%06d" % micros)[: digits + 1]


@lru_cache(maxsize=4096)
def _day(days: int) -> bytes:
    return date.fromordinal(days + _EPOCH_ORDINAL).isoformat().encode()
