"""Rows of an answer in the server's text protocol, as columns of Arrow: by whole buffers, because a Python object for each value costs more than all the rest."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pymysql.err import InternalError, raise_mysql_exception

Fill = Callable[[memoryview], int]
"""Puts what has arrived into a room, at least one byte, and tells how many."""
_Places = npt.NDArray[np.int64]

_HEADER = 4
"""Bytes before each packet: three of its length, one that numbers it."""
_FULL = 0xFFFFFF
"""A packet of this length goes on in the next one."""
_NULL = 0xFB
_WIDTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}
"""Bytes that tell the length of a value, by the one before them; any smaller one is the length itself."""
_END, _ERROR = 0xFE, 0xFF
_END_SIZE = 9
"""A packet that begins like the end, and is not shorter than this, is a row."""
_ROOM = 4 << 20
"""Bytes of a buffer; it grows where a single row is larger."""
_length = struct.Struct("<I").unpack_from


@dataclass(frozen=True, slots=True)
class Packets:
    """Payloads of rows: where each begins and ends in a buffer."""

    data: bytearray
    begins: Sequence[int]
    ends: Sequence[int]

    def columns(self, count: int) -> list[pa.BinaryArray]:
        """The values of each column, as they were sent."""
        data, at = np.frombuffer(self.data, np.uint8), np.array(self.begins, np.int64)
        found = []
        for _ in range(count):
            begins, sizes, missing = _measured(data, at)
            at = begins + sizes
            found.append(_gathered(self.data, begins, at, missing))
        if not np.array_equal(at, self.ends):
            raise InternalError("the server sent a row of another form than it had announced")
        return found


def packets(fill: Fill, rows: int) -> Iterator[Packets]:
    """The rows of an answer, up to so many at a time, until its end. Raises the driver's error where the server ends it with one."""
    received = _Received()
    while True:
        end = received.walk(rows)
        if received.begins and (end is not None or received.is_full or len(received.begins) == rows):
            yield Packets(received.data, received.begins, received.ends)
            received = received.rest()
            if end is None:
                continue
        if end:
            raise_mysql_exception(end)
        if end is not None:
            return
        received.more(fill)


@dataclass(slots=True)
class _Received:
    """A buffer that is filled, and the rows that were found in it so far."""

    data: bytearray = field(default_factory=lambda: bytearray(_ROOM))
    filled: int = 0
    at: int = 0
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return self.filled == len(self.data)

    def more(self, fill: Fill) -> None:
        """Some of what has not been received."""
        if self.is_full:
            self.data += bytes(len(self.data))
        with memoryview(self.data) as room:
            self.filled += fill(room[self.filled :])

    def rest(self) -> _Received:
        """What has arrived beyond these rows, in a buffer of its own."""
        left = self.data[self.at : self.filled]
        return _Received(left + bytes(max(0, _ROOM - len(left))), len(left))

    def walk(self, rows: int) -> bytes | None:
        """Notes each row that is there as a whole, up to so many. The end of the answer is empty, or what the server says of its failure."""
        data, at, filled = self.data, self.at, self.filled
        begins, ends = self.begins, self.ends
        for _ in range(rows - len(begins)):
            begin = at + _HEADER
            if begin >= filled:
                break
            size = _length(data, at)[0] & _FULL
            stop, first = begin + size, data[begin]
            if stop > filled:
                break
            if first >= _END and (first == _ERROR or size < _END_SIZE):
                self.at = stop
                return bytes(data[begin:stop]) if first == _ERROR else b""
            if size == _FULL:
                joined = self._joined(stop)
                if joined is None:
                    break
                stop, filled = joined, self.filled
            begins.append(begin)
            ends.append(stop)
            at = stop
        self.at = at
        return None

    def _joined(self, end: int) -> int | None:
        """The end of a row that goes on in the packets behind `end`, once their headers are out of the way; None where one has not arrived."""
        headers, size = [], _FULL
        while size == _FULL:
            if end + _HEADER > self.filled:
                return None
            size = _length(self.data, end)[0] & _FULL
            headers.append(end)
            end += _HEADER + size
        if end > self.filled:
            return None
        for header in reversed(headers):
            del self.data[header : header + _HEADER]
        self.filled -= _HEADER * len(headers)
        return end - _HEADER * len(headers)


def _measured(data: npt.NDArray[np.uint8], at: _Places) -> tuple[_Places, _Places, npt.NDArray[np.bool_]]:
    """Of the values whose length prefixes lie at some places: where each begins, how many bytes it has, and whether it is NULL."""
    heads = data[at]
    begins, sizes, missing = at + 1, heads.astype(np.int64), heads == _NULL
    sizes[missing] = 0
    if heads.max(initial=0) > _NULL:
        for head, width in _WIDTHS.items():
            (long,) = np.nonzero(heads == head)
            digits = data[at[long, None] + 1 + np.arange(width)].astype(np.int64)
            sizes[long] = (digits << (8 * np.arange(width))).sum(axis=1)
            begins[long] += width
    return begins, sizes, missing


def _gathered(data: bytearray, begins: _Places, ends: _Places, missing: npt.NDArray[np.bool_]) -> pa.BinaryArray:
    """The values that lie there. To Arrow the buffer is values that touch each other: every other one is a value of ours, and what is between them is none."""
    offsets = np.empty(2 * len(begins), np.int32)
    offsets[::2], offsets[1::2] = begins, ends
    touching = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    return touching.take(pa.array(np.arange(0, len(offsets), 2), mask=missing))
