"""Messages of the log on their way: written to disk as they come, read again in blocks, so that a transaction of any size takes the same memory.

Two files: the messages, one after the other, and the length of each as 32 bits. A spool ends with its range and is never read by another process.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np
import numpy.typing as npt

from incremental_assets.adapters.logs.changes import Offsets
from incremental_assets.adapters.logs.disk import written_to
from incremental_assets.adapters.permissions import nameless_file

BLOCK_MESSAGES = 65_536
BLOCK_BYTES = 64 * 2**20
"""A block ends with either; one message of more bytes is a block of its own."""

Octets = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Block:
    """Some messages: all bytes, where each message starts, and how long each is. `first` numbers the first of them in its range, for people."""

    data: Octets
    starts: Offsets
    lengths: Offsets
    first: int


class Spool:
    """Filled by a transport, then read in blocks; its files are removed when the block ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.before = 0
        """Bytes before each message that the transport has put there."""
        self._lengths = array("I")
        self._files: tuple[IO[bytes], IO[bytes]] = (nameless_file(folder), nameless_file(folder))
        self.messages = 0
        self.bytes = 0

    def add(self, message: memoryview | bytes) -> None:
        """One message, whole."""
        self.add_all((message,))

    def add_all(self, messages: Iterable[memoryview | bytes]) -> None:
        """Whole messages, as they come."""
        write, lengths = self._files[0].write, self._lengths
        with written_to(self._folder):
            for message in messages:
                write(message)
                lengths.append(len(message))
                if len(lengths) >= BLOCK_MESSAGES:
                    self._written()

    def add_read(self, messages: int, size: int, read: Callable[[IO[bytes], int], None]) -> None:
        """So many messages of so many bytes at once, of which `read` writes so many bytes to a file: first the length of each, as here, then the messages."""
        with written_to(self._folder):
            self._written()
            for file, count in zip(reversed(self._files), (self._lengths.itemsize * messages, size), strict=True):
                read(file, count)
        self.messages += messages
        self.bytes += size

    def clear(self) -> None:
        """Forget what was added."""
        del self._lengths[:]
        self.messages = self.bytes = 0
        for file in self._files:
            file.seek(0)
            file.truncate()

    def blocks(self) -> Iterator[Block]:
        """All messages in their order; may be asked again. None may be added after."""
        messages, lengths = self._files
        with written_to(self._folder):
            self._written()
            messages.seek(0)
            lengths.seek(0)
        first = 0
        while raw := lengths.read(4 * BLOCK_MESSAGES):
            sizes = np.frombuffer(raw, np.uint32).astype(np.int64)
            for some in _parts(sizes):
                data = np.frombuffer(messages.read(int(some.sum())), np.uint8)
                yield Block(data, np.cumsum(some) - some + self.before, some - self.before, first)
                first += len(some)

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            # What cannot be written any more is not wanted any more.
            with suppress(OSError):
                file.close()

    def _written(self) -> None:
        self.messages += len(self._lengths)
        self.bytes += sum(self._lengths)
        self._lengths.tofile(self._files[1])
        del self._lengths[:]


def _parts(sizes: Offsets) -> Iterator[Offsets]:
    begin, ends = 0, np.cumsum(sizes)
    while begin < len(sizes):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + BLOCK_BYTES, "right")))
        yield sizes[begin:end]
        begin = end
