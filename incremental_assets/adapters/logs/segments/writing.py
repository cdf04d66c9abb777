"""A segment on its way: its files are written in a folder that nobody reads, which gets its name when all of them are on disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from incremental_assets.adapters.logs.changes import Offsets
from incremental_assets.adapters.logs.segments.files import TableFile
from incremental_assets.adapters.logs.segments.manifest import FILE, Manifest, Piece, ReadColumn, Written
from incremental_assets.adapters.new_file import new_file, sync_folder
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.model.column import Column

UNFINISHED = "unfinished"
TRANSACTIONS = "transactions.parquet"
_WAITING_BYTES = 128 * 2**20
"""Of all tables together, before all are written."""

_TRANSACTIONS = pa.schema(
    [
        pa.field("xid", pa.int64()),
        pa.field("lsn", pa.int64()),
        pa.field("committed_at", pa.timestamp("us", "UTC")),
        pa.field("changes", pa.int64()),
    ]
)


class Layout(Protocol):
    """A table as it was when some rows of it were written."""

    @property
    def number(self) -> int:
        """What the source numbers the table by."""

    @property
    def place(self) -> tuple[str, str]:
        """Its schema and its name."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those that are read, as a snapshot's catalogue has them."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of one table, in the order of their commits; columns as in `logs.changes`, then the layout's."""

    layout: Layout
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Committed:
    """Transactions that end in a block and change something: as columns."""

    xid: Offsets
    commit_lsn: Offsets
    committed_at: Offsets
    changes: Offsets


@dataclass
class _Part:
    layout: Layout
    file: TableFile


@dataclass
class Segment:
    """`folder` is that of the segments. One at a time, as there is one name for what is unfinished."""

    folder: Path
    parts: list[_Part] = field(default_factory=list)
    _latest: dict[int, _Part] = field(default_factory=dict)
    _transactions: TableFile | None = None

    def __post_init__(self) -> None:
        """Nothing of an unfinished one is left."""
        shutil.rmtree(self.unfinished, ignore_errors=True)
        own_folder(self.unfinished)
        self._transactions = TableFile(self.unfinished / TRANSACTIONS, _TRANSACTIONS)

    @property
    def unfinished(self) -> Path:
        """Where its files are."""
        return self.folder / UNFINISHED

    def add(self, changes: Iterable[Changes], committed: Committed) -> None:
        """What a block has."""
        for each in changes:
            self._part(each).file.add(each.rows)
        if self._transactions is not None and len(committed.xid):
            when = pa.array(committed.committed_at).cast(pa.timestamp("us", "UTC"))
            columns = [pa.array(committed.xid), pa.array(committed.commit_lsn), when, pa.array(committed.changes)]
            self._transactions.add(pa.Table.from_arrays(columns, schema=_TRANSACTIONS))
        if sum(part.file.waiting_bytes for part in self.parts) > _WAITING_BYTES:
            for part in self.parts:
                part.file.flush()

    def files(self) -> tuple[Written, tuple[Piece, ...]]:
        """The transactions and the changes of the tables, on disk. Once."""
        pieces = tuple(_piece(part.layout, part.file.close()) for part in self.parts)
        if self._transactions is None:
            raise ValueError("the files of a segment are closed once")
        transactions, self._transactions = self._transactions.close(), None
        return transactions, pieces

    def finish(self, manifest: Manifest) -> None:
        """The manifest last; then the folder gets its name, and from then on the segment is there."""
        with new_file(self.unfinished / FILE) as file:
            file.write(manifest.to_json().encode())
        sync_folder(self.unfinished)
        self.unfinished.rename(self.folder / manifest.name)
        sync_folder(self.folder)

    def discard(self) -> None:
        """It takes no place on the disk any more."""
        for file in (*(part.file for part in self.parts), *filter(None, (self._transactions,))):
            file.abandon()
        shutil.rmtree(self.unfinished, ignore_errors=True)

    def _part(self, changes: Changes) -> _Part:
        latest = self._latest.get(changes.layout.number)
        if latest is not None and latest.layout == changes.layout:
            return latest
        name = f"{changes.layout.number}-{len(self.parts)}.parquet"
        part = _Part(changes.layout, TableFile(self.unfinished / name, changes.rows.schema))
        self._latest[changes.layout.number] = part
        self.parts.append(part)
        return part


def _piece(layout: Layout, file: Written) -> Piece:
    columns = tuple(ReadColumn(each.name, each.source_type, each.spark_type) for each in layout.columns)
    return Piece(layout.number, *layout.place, columns, file)
