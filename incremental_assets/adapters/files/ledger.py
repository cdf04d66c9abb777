"""The ledger of files: pages beside the lake's tables, each written once and named by the position of a commit.

A page is on disk before the commit that names it. One that no commit came to name says nothing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.core.captures.files.position import Page
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.cures import full_refresh_of
from incremental_assets.core.model.dropped_file import DroppedFile
from incremental_assets.core.model.table_id import TableId

PATH, SIZE, TAG = "path", "size", "tag"
SCHEMA = pa.schema([(PATH, pa.string()), (SIZE, pa.int64()), (TAG, pa.string())])
KEEP = 31 * 86_400.0
"""Seconds for which a page stays that is named no more: a rollback may name it again."""
_TIMES = 4
"""A page becomes one with the next, unless it has as many times its files: so that there are few, and each file is written few times."""
_END = ".parquet"
_MERGED = 512
"""A page of as many files or more looks for pages that are named no more."""


@dataclass(frozen=True)
class Ledger:
    """Of one table, in a folder of its own."""

    folder: str
    table: TableId
    _read: dict[tuple[Page, ...], pa.Table] = field(default_factory=dict)

    def rows(self, pages: Sequence[Page]) -> pa.Table:
        """The files that have landed; where a path is there more than once the first counts. Raises LakeRefused."""
        named = tuple(pages)
        if named not in self._read:
            with self._explained():
                # What a later page says of a path counts.
                read = [self._table(page) for page in reversed(named)]
            self._read.clear()
            self._read[named] = pa.concat_tables([SCHEMA.empty_table(), *read])
        return self._read[named]

    def added(self, before: Sequence[Page], files: Sequence[DroppedFile]) -> tuple[Page, ...]:
        """The pages with these files as well, on disk. Raises LakeRefused."""
        if not files:
            return tuple(before)
        rows = pa.table(
            [[each.path for each in files], [each.size for each in files], [each.tag for each in files]], schema=SCHEMA
        )
        left = list(before)
        with self._explained():
            while left and left[-1].files <= _TIMES * rows.num_rows:
                older = self._table(left.pop())
                rows = _latest(pa.concat_tables([rows, older]))
            page = Page(uuid.uuid4().hex, rows.num_rows)
            self._write(page, rows)
            if page.files >= _MERGED:
                self._sweep({each.name for each in (*before, *left, page)})
        return (*left, page)

    @property
    def _store(self) -> LakeStore:
        found = store_of(self.folder)
        if found is None:
            raise LakeRefused(
                f"{self.table}: only Spark can reach its lake, where it is to be kept which files have landed; land files in a lake on a disk or in a store of objects"
            )
        return found

    def _table(self, page: Page) -> pa.Table:
        return pq.read_table(self._store.for_arrow(self._key(page)), schema=SCHEMA)

    def _write(self, page: Page, rows: pa.Table) -> None:
        store, key = self._store, self._key(page)
        store.own_folder(self.folder)
        with store.new(store.unfinished(key)) as file:
            pq.write_table(rows, file, compression="zstd")
        store.finish(key)
        store.settle(self.folder)

    def _sweep(self, named: set[str]) -> None:
        old = time.time() - KEEP
        for name, head in self._store.files_in(self.folder):
            if name.removesuffix(_END) not in named and head.at.timestamp() < old:
                self._store.delete(f"{self.folder}/{name}")

    def _key(self, page: Page) -> str:
        return f"{self.folder}/{page.name}{_END}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            what = error.strerror if isinstance(error, OSError) and error.strerror else str(error).partition("\n")[0]
            raise LakeRefused(
                f"{self.table}: {self.folder}, where it is kept which files have landed, cannot be used ({what}); make room or give access, restore it from a backup of the lake, "
                f"or load the table again with {full_refresh_of(self.table)}"
            ) from None


def _latest(rows: pa.Table) -> pa.Table:
    """Each path once, as its first row has it."""
    firsts = rows.append_column("n", pa.array(range(rows.num_rows))).group_by(PATH).aggregate([("n", "min")])
    return rows.take(firsts["n_min"].sort())
