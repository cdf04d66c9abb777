"""A file in a store, read in parts: each answer tells which object it is a part of, and that is the one that was listed."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from incremental_assets.adapters.files import objects
from incremental_assets.adapters.files.objects import Bucket
from incremental_assets.adapters.files.refusals import Refusals
from incremental_assets.adapters.lake_store.ranges import Ranges
from incremental_assets.core.model.dropped_file import DroppedFile

_AT_ONCE = 1 << 20
"""Bytes that are asked for, at least, where less is wanted."""


def opened(folder: str, file: DroppedFile, refusals: Refusals) -> BinaryIO:
    """A file that asks for what is read of it. That raises SourceRefused where it has gone, may not be read or is another one than was listed; SourceUnreachable, SetupError."""
    parts = _Parts(Bucket.of(folder), file, refusals)
    if not file.size:
        # No part of it can be asked for.
        parts.check()
        return io.BytesIO()
    return io.BufferedReader(Ranges(parts.end, parts.between), _AT_ONCE)


@dataclass(frozen=True, slots=True)
class _Parts:
    bucket: Bucket
    file: DroppedFile
    refusals: Refusals

    def end(self, count: int) -> tuple[int, bytes]:
        """As `Ranges` asks for it; the size is known."""
        return self.file.size, self.between(max(0, self.file.size - count), self.file.size)

    def between(self, begin: int, stop: int) -> bytes:
        import obstore

        with objects.reading(self.refusals.table, self.file.path, self.refusals.gone(self.file)):
            found = obstore.get(self.bucket.client, self.bucket.key(self.file.path), options={"range": (begin, stop)})
            self._check(found.meta)
            return bytes(found.bytes())

    def check(self) -> None:
        import obstore

        with objects.reading(self.refusals.table, self.file.path, self.refusals.gone(self.file)):
            self._check(obstore.head(self.bucket.client, self.bucket.key(self.file.path)))

    def _check(self, told: Mapping[str, Any]) -> None:
        if (told["size"], objects.tag_of(told)) != (self.file.size, self.file.tag):
            raise self.refusals.another(self.file)
