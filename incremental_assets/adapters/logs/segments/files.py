"""The files of a segment: written whole and on disk before anything names them, and read only where they are as they were written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.logs.disk import RESTORE, read_from
from incremental_assets.adapters.logs.segments.manifest import Written
from incremental_assets.adapters.new_file import new_file
from incremental_assets.core.errors import LakeRefused

_ROW_GROUP = 65_536
_READ_BYTES = 2**20


class _Hashed:
    """A file that is hashed as it is written."""

    def __init__(self) -> None:
        self.file: BinaryIO | None = None
        self.digest, self.size, self.closed = hashlib.sha256(), 0, False

    def write(self, data: bytes) -> int:
        """As of any file."""
        self.digest.update(data)
        self.size += len(data)
        return len(data) if self.file is None else self.file.write(data)

    def tell(self) -> int:
        """As of any file."""
        return self.size

    def flush(self) -> None:
        """It is on disk when it is closed."""

    def close(self) -> None:
        """It is closed by who has opened it."""
        self.closed = True

    def readable(self) -> bool:
        """As of any file."""
        return False

    def writable(self) -> bool:
        """As of any file."""
        return True

    def seekable(self) -> bool:
        """As of any file."""
        return False


@dataclass
class TableFile:
    """Rows of one schema, which come some at a time and are written in groups. Used once, in one block."""

    path: Path
    schema: pa.Schema
    rows: int = 0
    waiting: list[pa.Table] = field(default_factory=list)
    waiting_bytes: int = 0
    _written: ExitStack | None = None
    _hashed: _Hashed = field(default_factory=_Hashed)
    _writer: Any = None

    def add(self, rows: pa.Table) -> None:
        """Some more."""
        self.waiting.append(rows)
        self.waiting_bytes += rows.nbytes
        self.rows += len(rows)
        if sum(map(len, self.waiting)) >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        """What waits is written as a group."""
        if self._written is None:
            # Not opened before: of a thousand tables most have a few rows, which are written at once.
            self._written = ExitStack()
            self._hashed.file = self._written.enter_context(new_file(self.path))
            self._writer = pq.ParquetWriter(
                pa.PythonFile(self._hashed, "w"), self.schema, compression="zstd", compression_level=1
            )
        if self.waiting:
            self._writer.write_table(pa.concat_tables(self.waiting).unify_dictionaries())
        self.waiting, self.waiting_bytes = [], 0

    def abandon(self) -> None:
        """Nobody wants it: it is closed and need not be whole."""
        self._hashed.file = None
        if self._written is not None:
            with suppress(OSError), self._written:
                self._writer.close()

    def close(self) -> Written:
        """The file, on disk."""
        self.flush()
        if self._written is not None:
            with self._written:
                self._writer.close()
        return Written(self.path.name, self.rows, self._hashed.size, self._hashed.digest.hexdigest())


def read_file(folder: Path, written: Written) -> pa.Table:
    """The rows of a file, if it is the one that was written. Raises LakeRefused."""
    check_file(folder, written)
    return pq.read_table(folder / written.name, use_threads=False)


def read_groups(folder: Path, written: Written) -> Iterator[pa.Table]:
    """The same, some thousands at a time: a file may have more than fits into memory."""
    check_file(folder, written)
    with pq.ParquetFile(folder / written.name) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, use_threads=False)


def check_file(folder: Path, written: Written) -> None:
    """Raises LakeRefused where it is missing, cut or altered, or cannot be read."""
    path = folder / written.name
    try:
        with read_from(path), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except FileNotFoundError:
        raise LakeRefused(f"{path} is missing, with {written.rows} changes of the log; {RESTORE}") from None
    if (size, digest) != (written.bytes, written.sha256):
        cut = "is cut" if size < written.bytes else "was altered"
        raise LakeRefused(f"{path} {cut}, so that its {written.rows} changes of the log cannot be trusted; {RESTORE}")
