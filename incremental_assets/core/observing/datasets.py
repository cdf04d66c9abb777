"""What catalogues of lineage call the tables of a configuration and their copies, for observers that tell of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from incremental_assets.core.model.dataset import Dataset, dataset_at
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId


@dataclass(frozen=True, slots=True)
class Datasets:
    """`named` is what a kind of source calls a table, and None where it has no such name."""

    lake: str
    named: Callable[[TableId], Dataset | None]

    def source(self, table: TableId) -> Dataset:
        """The table where it comes from; without a name of its own by the configuration's."""
        return self.named(table) or Dataset(table.source, f"{table.schema}.{table.name}")

    def copy(self, table: TableId) -> Dataset:
        """Its copy, or the versions of its rows, by the table that they are."""
        return dataset_at(table_path(self.lake, table))
