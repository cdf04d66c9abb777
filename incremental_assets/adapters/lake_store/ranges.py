"""An object as a file of which a reader asks parts: each is a request, but for the end, where Parquet has its footer."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

_END_BYTES = 65_536
"""Of the end that comes with the size: the footer of nearly every file."""


class Ranges(io.RawIOBase):
    """`end`: the size of the object and its last bytes; `part`: those between two places."""

    def __init__(self, end: Callable[[int], tuple[int, bytes]], part: Callable[[int, int], bytes]) -> None:
        self._size, self._end = end(_END_BYTES)
        self._part, self._at = part, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Asks nothing."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readall(self) -> bytes:
        """What is left."""
        return self.read()

    def readinto(self, buffer: Any) -> int:
        """As `read`, for who has a buffer."""
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def read(self, size: int = -1) -> bytes:
        """At most one request."""
        begin, stop = self._at, self._size if size < 0 else min(self._size, self._at + size)
        if stop <= begin:
            return b""
        known = self._size - len(self._end)
        found = self._end[begin - known : stop - known] if begin >= known else self._part(begin, stop)
        self._at = stop
        return found
