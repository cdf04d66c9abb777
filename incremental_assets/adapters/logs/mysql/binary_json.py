"""MySQL's binary form of a JSON value, as the text that the server prints of it."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable

from incremental_assets.core.errors import StageBroken

_OBJECTS, _ARRAYS, _LARGE = (0, 1), (2, 3), (1, 3)
_LITERAL, _STRING, _DOUBLE, _OPAQUE = 4, 12, 11, 15
_LITERALS = {0: b"null", 1: b"true", 2: b"false"}
_NUMBERS = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q"}
_INLINE = (4, 5, 6)
"""Kinds whose value lies in place of where it would be."""
_INLINE_LARGE = (*_INLINE, 7, 8)
_DATE, _TIMESTAMP, _TIME, _DATETIME, _DECIMAL = 10, 7, 11, 12, 246
_ESCAPES = {
    ord(each): escaped
    for each, escaped in zip('"\\\b\f\n\r\t', (b'\\"', b"\\\\", b"\\b", b"\\f", b"\\n", b"\\r", b"\\t"), strict=True)
}
_ESCAPES |= {code: b"\\u%04x" % code for code in range(32) if code not in _ESCAPES}
_FIXED = 15
"""Digits before the point, or zeros behind it, up to which a number is written without an exponent."""
_LINE = 76
"""Characters of a line of base64, between which the server puts the end of a line as it is."""
Decimals = Callable[[bytes, int, int], bytes]
"""The text of a decimal from its bytes, its digits, and those of its fraction."""


def text_of(value: bytes, decimal: Decimals) -> bytes:
    """Empty bytes are what is written for no value, by a session that lets that pass: it counts as null, as the server reads it. Raises StageBroken."""
    if not value:
        return b"null"
    try:
        return _Value(value[1:], decimal).of(value[0], 0)
    except (IndexError, struct.error, KeyError):
        raise StageBroken("a value of JSON in the binlog is damaged; nothing was written, please report it") from None


class _Value:
    def __init__(self, data: bytes, decimal: Decimals) -> None:
        self._data, self._decimal = data, decimal

    def of(self, kind: int, at: int) -> bytes:
        if kind in _OBJECTS:
            return b"{" + b", ".join(key + b": " + value for key, value in self._members(kind, at, keyed=True)) + b"}"
        if kind in _ARRAYS:
            return b"[" + b", ".join(value for _, value in self._members(kind, at, keyed=False)) + b"]"
        if kind == _LITERAL:
            return _LITERALS[self._data[at]]
        if kind in _NUMBERS:
            return b"%d" % struct.unpack_from(_NUMBERS[kind], self._data, at)[0]
        if kind == _DOUBLE:
            return _printed(struct.unpack_from("<d", self._data, at)[0])
        if kind == _STRING:
            size, begin = self._size(at)
            return _quoted(self._bytes(begin, size))
        if kind == _OPAQUE:
            size, begin = self._size(at + 1)
            return self._opaque(self._data[at], self._bytes(begin, size))
        raise KeyError(kind)

    def _members(self, kind: int, at: int, *, keyed: bool) -> list[tuple[bytes, bytes]]:
        width, inline = (4, _INLINE_LARGE) if kind in _LARGE else (2, _INLINE)
        count = self._number(at, width)
        keys = at + 2 * width
        values = keys + (count * (width + 2) if keyed else 0)
        found = []
        for place in range(count):
            key = b""
            if keyed:
                entry = keys + place * (width + 2)
                key = _quoted(self._bytes(at + self._number(entry, width), self._number(entry + width, 2)))
            entry = values + place * (width + 1)
            own = self._data[entry]
            found.append((key, self.of(own, entry + 1 if own in inline else at + self._number(entry + 1, width))))
        return found

    def _opaque(self, kind: int, value: bytes) -> bytes:
        if kind == _DECIMAL:
            return self._decimal(value[2:], value[0], value[1])
        if kind in (_DATE, _TIME, _DATETIME, _TIMESTAMP):
            return b'"' + _moment(kind, struct.unpack("<q", value)[0]) + b'"'
        encoded = base64.b64encode(value)
        lines = [encoded[place : place + _LINE] for place in range(0, len(encoded), _LINE)]
        return b'"base64:type%d:%s"' % (kind, b"\n".join(lines))

    def _size(self, at: int) -> tuple[int, int]:
        """A number of seven bits a byte, and the place behind it."""
        size = shift = 0
        while True:
            byte = self._data[at]
            size |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return size, at

    def _number(self, at: int, width: int) -> int:
        return int.from_bytes(self._bytes(at, width), "little")

    def _bytes(self, at: int, count: int) -> bytes:
        if at + count > len(self._data):
            raise IndexError
        return self._data[at : at + count]


def _quoted(text: bytes) -> bytes:
    if not any(byte < 32 or byte in b'"\\' for byte in text):
        return b'"' + text + b'"'
    return b'"' + b"".join(_ESCAPES.get(byte) or bytes((byte,)) for byte in text) + b'"'


def _moment(kind: int, packed: int) -> bytes:
    sign, packed = (b"-", -packed) if packed < 0 else (b"", packed)
    whole, micros = packed >> 24, packed & 0xFFFFFF
    day, clock = whole >> 17, whole & 0x1FFFF
    if kind == _TIME:
        return b"%s%02d:%02d:%02d.%06d" % (sign, whole >> 12 & 0x3FF, whole >> 6 & 63, whole & 63, micros)
    year, month = divmod(day >> 5, 13)
    date = b"%04d-%02d-%02d" % (year, month, day & 31)
    return (
        date if kind == _DATE else date + b" %02d:%02d:%02d.%06d" % (clock >> 12, clock >> 6 & 63, clock & 63, micros)
    )


def _printed(number: float) -> bytes:
    """The shortest digits that are this number, as the server lays them out."""
    mantissa, _, exponent = f"{number!r}".lower().partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    point = len(whole) + int(exponent or 0)
    digits = whole + part
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if not digits:
        return f"{sign}0.0".encode()
    if point >= -_FIXED + 1 and (point <= _FIXED or len(digits) > point):
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}".encode()
        if point >= len(digits):
            return f"{sign}{digits.ljust(point, '0')}.0".encode()
        return f"{sign}{digits[:point]}.{digits[point:]}".encode()
    more = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{more}e{point - 1}".encode()
