"""What catalogues of lineage call the tables of a configuration and their copies, for observers that tell of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from incremental_assets.core.config.settings import SourceSettings
from incremental_assets.core.model.dataset import Dataset, dataset_at
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId


@dataclass(frozen=True, slots=True)
class Datasets:
    """`settings` are those of a source by its name, with the references in its address followed; asked for when a table of it is named first."""

    lake: str
    settings: Callable[[str], SourceSettings]

    def source(self, table: TableId) -> Dataset:
        """The table where it comes from; of a kind of source that has no such names, by the configuration's."""
        found = self.settings(table.source).dataset(table.schema, table.name)
        return found or Dataset(table.source, f"{table.schema}.{table.name}")

    def copy(self, table: TableId) -> Dataset:
        """Its copy, or the versions of its rows, by the table that they are."""
        return dataset_at(table_path(self.lake, table))
