"""One look at the files of a table: those that have settled, in columns, so that a million of them are little to hold and to compare."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.files import object_names, pattern
from incremental_assets.adapters.files.found_files import AT_ONCE, FOUND, MARKED, SCHEMA, TOUCHED
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
_SECOND = 1_000_000_000
_ASKED_AT_ONCE = 4
"""Times so many thousands of names of a folder."""
_Named = tuple[str, bool]
"""A path, and whether another file says that it is complete, where one has to."""


@dataclass(frozen=True)
class Listed:
    """Implements `core.captures.files.observation.Listing`."""

    rows: pa.Table
    """Path, size, tag and since when, in nanoseconds, by the path."""
    ledger: Ledger
    waiting: int
    oldest_waiting: float | None = None
    """Since when the one is there that has waited longest."""
    _against: dict[FilesPosition, tuple[Any, Any, Any]] = field(default_factory=dict)

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
        order = [(TOUCHED, "descending"), (PATH, "descending")]
        return _files(self.rows.sort_by(order)[:count])

    def oldest(self, at: FilesPosition, *, changed: bool) -> float | None:
        """Since when the file is there, in seconds since 1970, that has waited longest to land. `changed`: whether one that has landed and is another since is to land, too."""
        new, others, _ = self._compared(at)
        since = pc.min(self.rows.column(TOUCHED).filter(pc.or_(new, others) if changed else new)).as_py()
        found = (since and since / _SECOND, self.oldest_waiting)
        return min((each for each in found if each is not None), default=None)

    def _compared(self, at: FilesPosition) -> tuple[Any, Any, Any]:
        """Of each file whether it is new, another one than the one that landed, or the same."""
        if at not in self._against:
            landed = self.ledger.rows(at.pages)
            places = pc.index_in(self.rows.column(PATH), value_set=landed.column(PATH))
            there = pc.is_valid(places)
            known = landed.select([SIZE, TAG]).take(places)
            same = pc.and_(
                pc.equal(self.rows.column(SIZE), known.column(SIZE)), pc.equal(self.rows.column(TAG), known.column(TAG))
            )
            same = pc.fill_null(same, fill_value=False)
            self._against.clear()
            self._against[at] = pc.invert(there), pc.and_(there, pc.invert(same)), same
        return self._against[at]


def listed(folder: str, files: Files, table: TableId, known: Ledger, now: float) -> Listed:
    """The files that are there. Raises SourceUnreachable and SourceRefused."""
    until = int((now - files.settle.total_seconds()) * _SECOND)
    kept, waiting, since = [SCHEMA.empty_table()], 0, list[int]()
    for some in (_in_folder if is_local(folder) else object_names.found)(folder, files, table):
        is_ready = pc.and_(pc.less_equal(some.column(TOUCHED), until), some.column(MARKED))
        kept.append(some.filter(is_ready).select(SCHEMA.names))
        later = some.column(TOUCHED).filter(pc.invert(is_ready))
        if len(later):
            waiting += len(later)
            since.append(pc.min(later).as_py())
    return Listed(_in_order(pa.concat_tables(kept)), known, waiting, min(since) / _SECOND if since else None)


def _in_order(rows: pa.Table) -> pa.Table:
    """By the path; a store lists them so."""
    paths = rows.column(PATH)
    is_so = pc.all(pc.less(paths[:-1], paths[1:])).as_py()
    return (rows if is_so else rows.sort_by(PATH)).combine_chunks()


def _in_folder(folder: str, files: Files, table: TableId) -> Iterator[pa.Table]:
    try:
        yield from _asked(partial(_in_columns, folder, table), _named(folder, files))
    except FileNotFoundError:
        raise SourceUnreachable(
            f"{table}: the folder {folder!r} is not there; make it, mount it, or correct `folder`"
        ) from None
    except OSError as error:
        raise SourceRefused(
            f"{table}: {error.filename or folder!r} cannot be listed ({error.strerror}), so that nobody knows which files are there; give this user access"
        ) from None


def _named(folder: str, files: Files) -> Iterator[tuple[str, bool]]:
    """Each path that fits."""
    for found in pattern.found(folder, files.path):
        beside = frozenset(found.names if files.marker else ())
        for path in found.paths:
            if not files.marks(path):
                yield path, not files.marker or f"{Path(path).name}{files.marker}" in beside


def _asked(ask: Callable[[Sequence[_Named]], pa.Table], named: Iterator[_Named]) -> Iterator[pa.Table]:
    """The answers for all of them, in their order. While the system looks for some the next ones are asked for: in a mounted folder each takes its time."""
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
        asked: deque[Future[pa.Table]] = deque()
        while some := list(islice(named, AT_ONCE)):
            asked.append(pool.submit(ask, some))
            if len(asked) > _ASKED_AT_ONCE:
                yield asked.popleft().result()
        yield from (each.result() for each in asked)


def _in_columns(folder: str, table: TableId, some: Sequence[_Named]) -> pa.Table:
    paths, sizes, tags, touched, marked = [], [], [], [], []
    for path, is_marked in some:
        try:
            status = os.stat(f"{folder}/{path}")  # noqa: PTH116 - a path as a value takes as long as the question
        except (FileNotFoundError, NotADirectoryError):
            # It has gone since, or is a link to what is not there.
            continue
        if S_ISREG(status.st_mode):
            paths.append(path)
            sizes.append(status.st_size)
            tags.append(pattern.tag_of(status.st_ino, status.st_mtime_ns))
            touched.append(status.st_ctime_ns)
            marked.append(is_marked)
    try:
        return pa.table([pa.array(paths, pa.string()), sizes, tags, touched, marked], schema=FOUND)
    except UnicodeEncodeError as error:
        raise SourceRefused(
            f"{table}: the file {error.object!r} has a name that is no UTF-8, and no row could say that it comes from it; rename it"
        ) from None


def _files(rows: pa.Table) -> tuple[DroppedFile, ...]:
    columns = (rows.column(name).to_pylist() for name in (PATH, SIZE, TAG))
    return tuple(DroppedFile(*each) for each in zip(*columns, strict=True))
