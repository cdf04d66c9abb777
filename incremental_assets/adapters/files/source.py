"""Reads closed lists of files: each row of each with its place there, or of each key the newest."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.databases.file_part import RowsPart
from incremental_assets.adapters.files.drift import Absent
from incremental_assets.adapters.files.gathering import gathered
from incremental_assets.adapters.files.landing_rows import schema_of
from incremental_assets.adapters.files.ledger import Ledger
from incremental_assets.adapters.files.opened import Opening
from incremental_assets.adapters.files.ranking import CopyRows, Ranking
from incremental_assets.adapters.files.reading_ahead import ReadingAhead
from incremental_assets.adapters.spark.own_names import REJECT_REASON
from incremental_assets.adapters.spark.row_groups import row_groups
from incremental_assets.core.captures.files.position import Page
from incremental_assets.core.captures.files.reading import FilesReading, of_files
from incremental_assets.core.config.files_settings import Files
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.file_columns import PLACE
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import SyncPlan

_GROUP_ROWS, _GROUP_BYTES = 128 * 1024, 16 * 2**20
"""What is written together, at the most: many files are small, and rows may be wide."""
_FOLDED = 1_000_000
"""Rows of which each key is looked for once; then again when there are twice as many as were left."""


@dataclass(frozen=True)
class Read:
    """Implements `core.ports.Snapshot` and `core.captures.files.reading.FilesSnapshot`."""

    rows: int
    rejected: int
    parts: tuple[RowsPart, ...]
    pages: tuple[Page, ...]
    warnings: tuple[str, ...] = ()
    keys: None = None
    selected: None = None

    @property
    def frame(self) -> Any:
        """Of a Spark elsewhere, which does not see this machine's files."""
        raise SourceRefused(
            "files are read by tasks on this machine: sync their tables by a session or an engine of the same machine"
        )


@dataclass(frozen=True)
class FilesSource:
    """Implements `core.ports.Source`."""

    folder: str
    files: Mapping[TableId, Files]
    ledgers: Mapping[TableId, Ledger]
    copy: CopyRows

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Read]:
        """The files of the plan, each as it was listed. Raises SourceRefused."""
        spec, reading = plan.spec, of_files(plan)
        with tempfile.TemporaryDirectory(prefix="files-") as scratch:
            path = Path(scratch) / "rows.parquet"
            count = rejected = 0
            schema, absent = schema_of(spec), Absent()
            with _written(path, schema) as write:
                for rows in row_groups(self._rows(spec, reading, absent), _GROUP_ROWS, _GROUP_BYTES):
                    write(rows)
                    count += rows.num_rows
                    rejected += rows.num_rows - rows.column(REJECT_REASON).null_count
            before = reading.before.pages
            # On disk before the commit that names them.
            pages = before if reading.is_again else self.ledgers[spec.id].added(before, reading.files)
            yield Read(count, rejected, RowsPart.of(path, spec.id), pages, absent.sentences)

    @property
    def differing(self) -> None:
        """Nothing: it tells only what comes."""

    def _rows(self, spec: TableSpec, reading: FilesReading, absent: Absent) -> Iterator[pa.Table]:
        files = self.files[spec.id]
        read = self._read(spec, files, reading, absent)
        if spec.traits.keeps_versions:
            yield from read
            return
        _check_known(spec, files)
        ranking = Ranking(spec, files.order)
        rows = (
            _folded(ranking, read, schema_of(spec))
            if files.key
            else pa.concat_tables([schema_of(spec).empty_table(), *read])
        )
        if not reading.begins_anew:
            rows = ranking.against(
                rows, self.copy, reading.replaced, looks=bool(files.key) and _may_be_older(files, reading)
            )
        yield rows

    def _read(self, spec: TableSpec, files: Files, reading: FilesReading, absent: Absent) -> Iterator[pa.Table]:
        ahead = ReadingAhead(spec, files, Opening(self.folder, spec.id), absent)
        return gathered(spec, ahead.pieces(reading.files))


@contextmanager
def _written(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """Writes the tables that it is given, one while the next is made. Nobody asks the file for a value: dictionaries and statistics would take most of its time."""
    options = {"compression": "zstd", "compression_level": 1, "use_dictionary": False, "write_statistics": False}
    with pq.ParquetWriter(path, schema, **options) as writer, ThreadPoolExecutor(1) as pool:
        begun: list[Future[None]] = []

        def write(rows: pa.Table) -> None:
            while begun:
                begun.pop().result()
            begun.append(pool.submit(writer.write_table, rows))

        yield write
        for each in begun:
            each.result()


def _check_known(spec: TableSpec, files: Files) -> None:
    missing = [name for name in (*PLACE, *filter(None, (files.order,))) if name not in spec.shape.names]
    if missing:
        raise SourceRefused(
            f"{spec.id}: `columns` leaves out {missing[0]}, by which the newer of two rows is known; add it to `include`, or remove it from `exclude`"
        )


def _may_be_older(files: Files, reading: FilesReading) -> bool:
    """Whether the copy may have newer rows than these files: not where paths decide, and all of these lie behind those that have landed."""
    last = reading.before.last
    return bool(files.order or not last or any(each.path <= last for each in reading.files))


def _folded(ranking: Ranking, read: Iterator[pa.Table], schema: pa.Schema) -> pa.Table:
    held, rows, least = [schema.empty_table()], 0, _FOLDED
    for each in read:
        held.append(each)
        rows += each.num_rows
        if rows >= least:
            held = [ranking.newest(pa.concat_tables(held))]
            rows = held[0].num_rows
            least = max(_FOLDED, 2 * rows)
    return ranking.newest(pa.concat_tables(held))
