"""Bytes that are read from the first to the last."""

from __future__ import annotations

from incremental_assets.core.errors import StageBroken

_WIDTHS = {252: 2, 253: 3, 254: 8}


class Octets:
    """`at`: where the next one is."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        """How many there are behind."""
        return len(self.data) - self.at

    def bytes(self, count: int) -> bytes:
        """The next ones. Raises StageBroken where there are fewer."""
        self.skip(count)
        return self.data[self.at - count : self.at]

    def skip(self, count: int) -> None:
        """Pass them."""
        self.at += count
        if self.at > len(self.data):
            raise StageBroken("an event of the binlog ends too early; nothing was written, please report it")

    def number(self, count: int) -> int:
        """The next ones as a number, the lowest byte first."""
        return int.from_bytes(self.bytes(count), "little")

    def length(self) -> int:
        """A number that says itself how many bytes it has."""
        first = self.number(1)
        return self.number(_WIDTHS[first]) if first in _WIDTHS else first
