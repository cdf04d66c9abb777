"""The ledger of files: pages beside the lake's tables, each written once and named by the position of a commit.

A page is on disk before the commit that names it. One that no commit came to name says nothing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.new_file import new_file, sync_folder
from incremental_assets.adapters.permissions import own_folder
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
_MERGED = 512
"""A page of as many files or more looks for pages that are named no more."""


@dataclass(frozen=True)
class Ledger:
    """Of one table, in a folder of its own."""

    folder: Path
    table: TableId
    _read: dict[tuple[Page, ...], pa.Table] = field(default_factory=dict)

    def rows(self, pages: Sequence[Page]) -> pa.Table:
        """The files that have landed; where a path is there more than once the first counts. Raises LakeRefused."""
        named = tuple(pages)
        if named not in self._read:
            with self._explained():
                # What a later page says of a path counts.
                read = [pq.read_table(self._path(page.name), schema=SCHEMA) for page in reversed(named)]
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
                older = pq.read_table(self._path(left.pop().name), schema=SCHEMA)
                rows = _latest(pa.concat_tables([rows, older]))
            page = Page(uuid.uuid4().hex, rows.num_rows)
            self._write(page, rows)
            if page.files >= _MERGED:
                self._sweep({each.name for each in (*before, *left, page)})
        return (*left, page)

    def _write(self, page: Page, rows: pa.Table) -> None:
        own_folder(self.folder)
        with new_file(self._path(page.name)) as file:
            pq.write_table(rows, file, compression="zstd")
        sync_folder(self.folder)

    def _sweep(self, named: set[str]) -> None:
        old = time.time() - KEEP
        for path in self.folder.glob("*.parquet"):
            if path.stem not in named and path.stat().st_mtime < old:
                path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

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
