"""An object that is written from its begin to its end, as the file that Arrow writes to."""

from __future__ import annotations

import io
from typing import Any

from incremental_assets.adapters.lake_store.explained import explained


class Sink(io.RawIOBase):
    """`writer`: the client's own, which is closed by whoever has opened it."""

    def __init__(self, writer: Any, key: str) -> None:
        self._writer, self._key, self._size = writer, key, 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """What is sent once it is enough for a part."""
        sent = memoryview(data).cast("B")
        if len(sent):
            with explained(self._key):
                self._writer.write(sent)
        self._size += len(sent)
        return len(sent)

    def tell(self) -> int:
        """How many bytes it has so far."""
        return self._size
