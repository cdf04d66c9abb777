"""One look at the files of a table: those that have settled, in columns, so that a hundred thousand of them are little to hold and to compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.files import object_names, pattern
from incremental_assets.adapters.files.ledger import PATH, SIZE, TAG, Ledger
from incremental_assets.core.captures.files.observation import News
from incremental_assets.core.captures.files.position import FilesPosition
from incremental_assets.core.config.files_settings import Files
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.dropped_file import DroppedFile
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.table_id import TableId

MOST_BYTES, MOST_FILES = 256 << 20, 20_000
"""What one sync reads of what has come; one file at least."""
_SINCE = "since"
_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Listed:
    """Implements `core.captures.files.observation.Listing`."""

    rows: pa.Table
    """Path, size, tag and since when, by the path."""
    ledger: Ledger
    waiting: int
    oldest_waiting: float | None = None
    """Since when the one is there that has waited longest."""

    def news(self, at: FilesPosition) -> News:
        """What has come since."""
        new, changed, _ = self._compared(at)
        sizes = self.rows.column(SIZE).filter(new)
        within = pc.less_equal(pc.cumulative_sum(sizes), MOST_BYTES)
        count = max(min(pc.sum(within).as_py() or 0, MOST_FILES), min(1, len(sizes)))
        files = self.rows.filter(new)
        return News(_files(files[:count]), files.num_rows - count, _files(self.rows.filter(changed)[:MOST_FILES]))

    def known(self, at: FilesPosition) -> tuple[DroppedFile, ...]:
        """Those that have landed and are as they were."""
        return _files(self.rows.filter(self._compared(at)[2]))

    def everything(self) -> tuple[DroppedFile, ...]:
        """All."""
        return _files(self.rows)

    def last(self, count: int) -> tuple[DroppedFile, ...]:
        """Those that came last, the last one first."""
        order = [(_SINCE, "descending"), (PATH, "descending")]
        return _files(self.rows.sort_by(order)[:count])

    def oldest(self, at: FilesPosition) -> float | None:
        """Since when the file is there, in seconds since 1970, that has waited longest to land."""
        new, changed, _ = self._compared(at)
        since = pc.min(self.rows.filter(pc.or_(new, changed)).column(_SINCE)).as_py()
        return min((each for each in (since, self.oldest_waiting) if each is not None), default=None)

    def _compared(self, at: FilesPosition) -> tuple[Any, Any, Any]:
        """Of each file whether it is new, another one than the one that landed, or the same."""
        landed = self.ledger.rows(at.pages)
        places = pc.index_in(self.rows.column(PATH), value_set=landed.column(PATH))
        there = pc.is_valid(places)
        known = landed.take(places)
        same = pc.and_(
            pc.equal(self.rows.column(SIZE), known.column(SIZE)), pc.equal(self.rows.column(TAG), known.column(TAG))
        )
        same = pc.fill_null(same, fill_value=False)
        return pc.invert(there), pc.and_(there, pc.invert(same)), same


def listed(folder: str, files: Files, table: TableId, known: Ledger, now: float) -> Listed:
    """The files that are there. Raises SourceUnreachable and SourceRefused."""
    ready: list[pattern.Found] = []
    waiting: list[pattern.Found] = []
    until = int((now - files.settle.total_seconds()) * _SECOND)
    for each in _found(folder, files, table):
        is_ready = each.touched <= until and _is_marked(each, files)
        (ready if is_ready else waiting).append(each)
    # By the path, which is first.
    ready.sort()
    _check_names(table, ready)
    rows = pa.table(
        {
            PATH: pa.array([each.path for each in ready], pa.string()),
            SIZE: pa.array([each.size for each in ready], pa.int64()),
            TAG: pa.array([each.tag for each in ready], pa.string()),
            _SINCE: pa.array([each.touched / _SECOND for each in ready], pa.float64()),
        }
    )
    return Listed(rows, known, len(waiting), min((each.touched / _SECOND for each in waiting), default=None))


def _found(folder: str, files: Files, table: TableId) -> Iterator[pattern.Found]:
    return _in_folder(folder, files, table) if is_local(folder) else object_names.found(folder, files, table)


def _in_folder(folder: str, files: Files, table: TableId) -> Iterator[pattern.Found]:
    try:
        yield from (each for each in pattern.found(folder, files.path) if not files.marks(each.path))
    except FileNotFoundError:
        raise SourceUnreachable(
            f"{table}: the folder {folder!r} is not there; make it, mount it, or correct `folder`"
        ) from None
    except OSError as error:
        raise SourceRefused(
            f"{table}: {error.filename or folder!r} cannot be listed ({error.strerror}), so that nobody knows which files are there; give this user access"
        ) from None


def _is_marked(file: pattern.Found, files: Files) -> bool:
    return not files.marker or f"{Path(file.path).name}{files.marker}" in file.names


def _check_names(table: TableId, files: list[pattern.Found]) -> None:
    for each in files:
        if not each.path.isascii():
            try:
                each.path.encode()
            except UnicodeEncodeError:
                raise SourceRefused(
                    f"{table}: the file {each.path!r} has a name that is no UTF-8, and no row could say that it comes from it; rename it"
                ) from None


def _files(rows: pa.Table) -> tuple[DroppedFile, ...]:
    columns = (rows.column(name).to_pylist() for name in (PATH, SIZE, TAG))
    return tuple(DroppedFile(*each) for each in zip(*columns, strict=True))
