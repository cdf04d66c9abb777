"""The rows of a snapshot, read by the very session that holds it and left in files: for a source to which no second session may be opened."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from incremental_assets.adapters.databases.dialect import Address, Numbers
from incremental_assets.adapters.databases.jdbc import bytes_of
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.pinned import deadline
from incremental_assets.adapters.databases.postgresql.rows.copy_part import CopyPart
from incremental_assets.adapters.databases.postgresql.rows.read import read_query
from incremental_assets.adapters.databases.spooled_rows import arrow_schema, spool
from incremental_assets.adapters.permissions import scratch_folder
from incremental_assets.core.planning.plan import SyncPlan


@dataclass
class Spooling:
    """Files that are there until the block ends, one for each plan."""

    address: Address
    folders: list[Path] = field(default_factory=list)

    def __enter__(self) -> None:
        """The files may be read."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove them."""
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
        self.folders.clear()

    def read(self, asked: Asked, plan: SyncPlan, numbers: Numbers) -> Numbers:
        """The numbers, by whose handle the rows are found in a file."""
        spec, since = plan.spec, numbers.handle.since
        sql = read_query(plan, 1, clean=numbers.rejected == 0, since=since).sql
        types = tuple(column.spark_type for column in spec.columns)
        part = CopyPart(
            self.address,
            spec.id,
            sql,
            numbers.handle.snapshot_id,
            numbers.handle.marked,
            types,
            bytes_of(spec.shape, numbers.rows),
        )
        folder = Path(tempfile.mkdtemp(prefix="rows-", dir=scratch_folder()))
        try:
            # One statement reads it all, however long that takes.
            asked.execute(deadline(None))
            schema = arrow_schema(spec)
            with spool(folder / "rows.parquet", schema, spec) as writer:
                for rows in part.copied(asked.connection):
                    writer.write_table(rows.cast(schema))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.folders.append(folder)
        return replace(numbers, handle=folder / "rows.parquet")
