"""Files of a list read in its order: while the rows of one are on their way the next small ones are read and decoded side by side, and no more of them than memory is little for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from incremental_assets.adapters.files.drift import Absent, check_columns
from incremental_assets.adapters.files.formats import begun, rows_of
from incremental_assets.adapters.files.opened import Opening
from incremental_assets.adapters.files.raw import Rows, Unfitted
from incremental_assets.core.config.files_settings import Files
from incremental_assets.core.model.dropped_file import DroppedFile
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.table import TableSpec

_AT_ONCE, _AHEAD = 2, 8
"""Files that are decoded side by side, and those that are held."""
_SMALL, _HELD = 1 << 20, 4 << 20
"""Bytes of a file that is read whole, and of its rows, at the most."""


@dataclass(frozen=True, slots=True)
class _Whole:
    """A small file. `content`: where it has more rows than are held."""

    missing: tuple[str, ...]
    pieces: list[Rows | Unfitted]
    content: Any = None


@dataclass(frozen=True, slots=True)
class ReadingAhead:
    """Of one table. `absent` hears what columns files lack."""

    spec: TableSpec
    files: Files
    opening: Opening
    absent: Absent

    def pieces(self, files: Iterable[DroppedFile]) -> Iterator[tuple[str, Rows | Unfitted]]:
        """The rows of each file, with its path. Raises what `Opening` and `check_columns` raise, of the first file in the list that is concerned."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            ahead: deque[tuple[DroppedFile, Future[_Whole] | AbstractContextManager[BinaryIO]]] = deque()
            try:
                for file, to_open in self.opening.each(files):
                    # Of a store only the parts that are wanted are asked for, ahead of their turn already.
                    small = file.size <= _SMALL and is_local(self.opening.folder)
                    ahead.append((file, pool.submit(self._whole, file, to_open) if small else to_open))
                    if len(ahead) > _AHEAD:
                        yield from self._taken(*ahead.popleft())
                while ahead:
                    yield from self._taken(*ahead.popleft())
            finally:
                pool.shutdown(cancel_futures=True)

    def _taken(
        self, file: DroppedFile, found: Future[_Whole] | AbstractContextManager[BinaryIO]
    ) -> Iterator[tuple[str, Rows | Unfitted]]:
        if not isinstance(found, Future):
            yield from self._streamed(file, found)
            return
        whole = found.result()
        if whole.content is not None:
            yield from self._streamed(file, self.opening.explained(file, lambda: nullcontext(whole.content)))
            return
        self.absent.add(file.path, whole.missing)
        for piece in whole.pieces:
            yield file.path, piece

    def _streamed(
        self, file: DroppedFile, to_open: AbstractContextManager[Any]
    ) -> Iterator[tuple[str, Rows | Unfitted]]:
        with to_open as opened:
            missing, pieces = self._begun(file, opened)
            self.absent.add(file.path, missing)
            for piece in pieces:
                yield file.path, piece

    def _whole(self, file: DroppedFile, to_open: AbstractContextManager[BinaryIO]) -> _Whole:
        """Runs in a thread."""
        with to_open as opened:
            # One that has grown is found to have when all that was listed is read.
            content = pa.BufferReader(opened.read(file.size))
            missing, pieces = self._begun(file, content)
            held, size = list[Rows | Unfitted](), 0
            for piece in pieces:
                held.append(piece)
                size += piece.size
                if size > _HELD:
                    content.seek(0)
                    return _Whole(missing, [], content)
            return _Whole(missing, held)

    def _begun(self, file: DroppedFile, opened: Any) -> tuple[tuple[str, ...], Iterator[Rows | Unfitted]]:
        found, read = begun(self.files, file.path, opened)
        missing = check_columns(self.spec, self.files, file.path, found)
        return missing, rows_of(self.spec, self.files, file.path, opened, read)
