"""One file of a list, open: it is the one that was listed, before it is read and after."""

from __future__ import annotations

import io
import lzma
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from incremental_assets.adapters.files import object_parts
from incremental_assets.adapters.files.packed import of_bzip2, of_xz
from incremental_assets.adapters.files.pattern import tag_of
from incremental_assets.adapters.files.refusals import Broken, Refusals
from incremental_assets.adapters.permissions import plain_file
from incremental_assets.core.model.dropped_file import DroppedFile
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.table_id import TableId

_PACKED = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4"}
"""By the end of a name, in Arrow's words."""
_BY_STREAMS = {".bz2": of_bzip2, ".xz": of_xz}
_ASKED_AT_ONCE = 16
"""Files of a store, of each of which the end is held."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Where the files of a table are."""

    folder: str
    table: TableId

    def each(self, files: Iterable[DroppedFile]) -> Iterator[tuple[DroppedFile, AbstractContextManager[BinaryIO]]]:
        """Each file, to be opened. Of a store, which takes its time for each answer, the next ones are asked for meanwhile.

        Opening and reading raise SourceRefused where a file has gone, may not be read, is another one than was listed or becomes one, and where reading it says that it is Broken; SourceUnreachable.
        """
        if is_local(self.folder):
            yield from ((file, self.explained(file, partial(self._unaltered, file))) for file in files)
            return
        ask = partial(object_parts.opened, self.folder, refusals=Refusals(self.table))
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            asked: deque[tuple[DroppedFile, Future[BinaryIO]]] = deque()
            for file in files:
                asked.append((file, pool.submit(ask, file)))
                if len(asked) == _ASKED_AT_ONCE:
                    first, answer = asked.popleft()
                    yield first, self.explained(first, answer.result)
            for file, answer in asked:
                yield file, self.explained(file, answer.result)

    @contextmanager
    def explained(
        self, file: DroppedFile, to_open: Callable[[], AbstractContextManager[BinaryIO]]
    ) -> Iterator[BinaryIO]:
        """Whoever reads it in this block has its errors explained, as `each` says."""
        refusals = Refusals(self.table)
        try:
            with to_open() as opened:
                yield opened
        except FileNotFoundError:
            raise refusals.gone(file) from None
        except OSError as error:
            if error.errno is None:
                # Whoever unpacks has no other word for what is none of its format.
                raise refusals.broken(file, error) from None
            raise refusals.unreadable(file, error.strerror or str(error)) from None
        except (Broken, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
            # The last of names of columns; values are looked at one by one.
            raise refusals.broken(file, error) from None

    @contextmanager
    def _unaltered(self, file: DroppedFile) -> Iterator[BinaryIO]:
        with self._plain(file) as opened:
            self._check(file, opened)
            yield opened
            self._check(file, opened)

    def _plain(self, file: DroppedFile) -> BinaryIO:
        descriptor = plain_file(Path(self.folder, file.path))
        if descriptor is None:
            raise FileNotFoundError(file.path)
        return os.fdopen(descriptor, "rb")

    def _check(self, file: DroppedFile, opened: BinaryIO) -> None:
        status = os.fstat(opened.fileno())
        if (status.st_size, tag_of(status.st_ino, status.st_mtime_ns)) != (file.size, file.tag):
            raise Refusals(self.table).another(file)


def unpacked(path: str, opened: BinaryIO) -> Any:
    """What it holds, as the end of its name says how it is packed. Raises Broken."""
    by_streams = next((to_open for end, to_open in _BY_STREAMS.items() if path.endswith(end)), None)
    if by_streams is not None:
        return by_streams(opened)
    kind = next((kind for end, kind in _PACKED.items() if path.endswith(end)), None)
    if kind is None:
        return opened
    if not opened.read(1):
        raise Broken("it is empty, which nothing is that was packed")
    opened.seek(0)
    return pa.CompressedInputStream(pa.PythonFile(_Kept(opened), mode="r"), kind)


class _Kept(io.RawIOBase):
    """A file that whoever reads it does not close."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._opened.read(size)
