"""What is packed by bzip2 or xz, stream by stream. Python's own readers take what begins no stream for nothing: of a file of several, whatever comes behind a damaged one would be missing without a word."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable
from typing import Any, BinaryIO

_BLOCK = 1 << 20


class Streams(io.RawIOBase):
    """All streams of a file, one behind the other. Reading raises OSError, LZMAError and EOFError where one is damaged or cut. `padding`: what may stand between two."""

    def __init__(self, opened: BinaryIO, begin: Callable[[], Any], padding: bytes = b"") -> None:
        self._opened, self._begin, self._padding = opened, begin, padding
        self._stream = begin()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while True:
            if self._stream.eof:
                rest = self._next()
                if not rest:
                    return b""
                self._stream = self._begin()
            elif self._stream.needs_input:
                rest = self._opened.read(_BLOCK)
                if not rest:
                    raise EOFError("it ends within what is packed")
            else:
                rest = b""
            if data := self._stream.decompress(rest, size):
                return bytes(data)

    def _next(self) -> bytes:
        # Without padding nothing is taken away: b"" names no byte.
        rest: bytes = self._stream.unused_data.lstrip(self._padding)
        while not rest and (more := self._opened.read(_BLOCK)):
            rest = more.lstrip(self._padding)
        return rest


def of_bzip2(opened: BinaryIO) -> Streams:
    """A file of bzip2."""
    return Streams(opened, bz2.BZ2Decompressor)


def of_xz(opened: BinaryIO) -> Streams:
    """A file of xz, which may have zeros behind each stream."""
    return Streams(opened, lzma.LZMADecompressor, b"\0")
