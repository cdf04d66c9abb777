"""Follows the quoted values of CSV as its bytes pass. Arrow takes what stands behind a closing quote for more of the value, without a word: `"a\\"b"` would land as another text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_MOST = 32 << 20
"""Bytes of a value that has no end yet; Arrow refuses one that is as long."""


@dataclass
class Quotes:
    """Of one file, without a mark of the order of bytes: `sign` is its quote, without which nothing is followed."""

    sign: bytes
    delimiter: bytes
    _rest: bytes = b""
    """What has no end yet."""
    _line: int = 1
    _fault: str = ""
    _values: re.Pattern[bytes] = field(init=False, repr=False)
    _open: re.Pattern[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.sign:
            return
        parts = {b"sign": re.escape(self.sign), b"ends": re.escape(self.delimiter) + rb"\r\n"}
        quoted = rb"%(sign)s(?:[^%(sign)s]++|%(sign)s%(sign)s)*+" % parts
        # All up to the next quote at once, a quoted value, or one within which a quote is a sign like others.
        value = rb"[^%(sign)s]*[%(ends)s]|(?:%(quoted)s%(sign)s|[^%(sign)s%(ends)s][^%(ends)s]*+)[%(ends)s]"
        self._values = re.compile(rb"(?:%s)*+" % (value % {**parts, b"quoted": quoted}))
        self._open = re.compile(rb"%s(?:%s)?+\Z" % (quoted, parts[b"sign"]))

    def add(self, data: bytes) -> None:
        """The next bytes."""
        if not self.sign or self._fault:
            return
        data = self._rest + data
        found = self._values.match(data)
        end = found.end() if found else 0
        self._line += data.count(b"\n", 0, end)
        self._rest = data[end:]
        if self._rest.startswith(self.sign) and not self._open.match(self._rest):
            self._fault = (
                f"a value in line {self._line} goes on behind its closing quote; have quotes within a value written twice, "
                "or write `quote: none` where quotes are signs like others"
            )
        elif len(self._rest) > _MOST:
            self._rest = b""

    def fault(self) -> str:
        """Of all bytes why they are no values; empty where they are."""
        if self._fault or not self._rest or not self._rest.startswith(self.sign):
            return self._fault
        self.add(b"\n")
        return "a quote is not closed; write `quote: none` where quotes are signs like others" if self._rest else ""
