"""One file of a list, open: it is the one that was listed, before it is read and after."""

from __future__ import annotations

import bz2
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from incremental_assets.adapters.files.listing import tag_of
from incremental_assets.adapters.permissions import plain_file
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cures import sync
from incremental_assets.core.model.dropped_file import DroppedFile
from incremental_assets.core.model.table import TableId

_PACKED = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4"}
"""By the end of a name, in Arrow's words."""
_BZ2 = ".bz2"


class Broken(ValueError):
    """A file that is none of its format; the text says why."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Where the files of a table are."""

    folder: str
    table: TableId

    @contextmanager
    def open(self, file: DroppedFile) -> Iterator[BinaryIO]:
        """Raises SourceRefused where it has gone, may not be read, is another file than was listed or becomes one, and where reading it says that it is Broken."""
        try:
            with self._plain(file) as opened:
                self._check(file, opened)
                yield opened
                self._check(file, opened)
        except FileNotFoundError:
            raise SourceRefused(
                f"{self.table}: the file {file.path!r} was listed, and has gone before it was read, so that nothing of this list has landed; run {sync(self.table)} again, which goes on without it, "
                "and have files stay until they have landed"
            ) from None
        except OSError as error:
            raise SourceRefused(
                f"{self.table}: the file {file.path!r} cannot be read ({error.strerror or error}); give this user access, or have it sent again"
            ) from None
        except (Broken, EOFError) as error:
            raise SourceRefused(
                f"{self.table}: the file {file.path!r} is broken ({error}), so that nothing of this list has landed; have it sent again, or moved to where `path` does not find it"
            ) from None

    def _plain(self, file: DroppedFile) -> BinaryIO:
        descriptor = plain_file(Path(self.folder, file.path))
        if descriptor is None:
            raise FileNotFoundError(file.path)
        return os.fdopen(descriptor, "rb")

    def _check(self, file: DroppedFile, opened: BinaryIO) -> None:
        status = os.fstat(opened.fileno())
        if (status.st_size, tag_of(status.st_ino, status.st_mtime_ns)) != (file.size, file.tag):
            raise SourceRefused(
                f"{self.table}: the file {file.path!r} was written while it was read, so that nothing of this list has landed; run {sync(self.table)} again once it is complete, "
                "and write a longer `settle`, or have files renamed into the folder when they are complete"
            )


def unpacked(path: str, opened: BinaryIO) -> Any:
    """What it holds, as the end of its name says how it is packed."""
    if path.endswith(_BZ2):
        return bz2.open(opened)
    kind = next((kind for end, kind in _PACKED.items() if path.endswith(end)), None)
    return opened if kind is None else pa.CompressedInputStream(pa.PythonFile(_Kept(opened), mode="r"), kind)


class _Kept(io.RawIOBase):
    """A file that whoever reads it does not close."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._opened.read(size)
