"""Where files are dropped, and which of them make which table: what only a source of this kind has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import takewhile

from incremental_assets.core.config.settings import SourceSettings
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.dataset import Dataset, dataset_at
from incremental_assets.core.model.dropped_file import Changed
from incremental_assets.core.model.identifiers import parse_table

SETTLE = timedelta(seconds=30)
"""How long a file stays as it is before it is read, unless configured otherwise."""


class FileFormat(StrEnum):
    """What a file holds."""

    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    CSV = "csv"
    JSON = "json"
    """One object in each line."""

    @property
    def names_types(self) -> bool:
        """Whether each file says itself what columns it has, and of which types."""
        return self in (FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO)


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How the rows of a CSV file are written."""

    header: bool = True
    """Whether its first row names the columns."""
    delimiter: str = ","
    quote: str = '"'
    """Around a value that has a delimiter or the end of a line in it; empty: values have neither."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one table."""

    table: str
    """As it is written: `schema.table`."""
    path: str
    """A pattern below the source's folder."""
    format: FileFormat
    columns: tuple[tuple[str, Coding], ...] = ()
    """As the configuration declares them; none where the files name them."""
    key: tuple[str, ...] = ()
    """Empty: each row is known by its file and its number there."""
    order: str = ""
    """The column by which the newer of two rows with one key is known; empty: by the file's path and the row's number."""
    csv: CsvForm = CsvForm()
    settle: timedelta = SETTLE
    marker: str = ""
    """What the name of another file ends with that says of a file that it is complete; empty: `settle` says so."""
    changed: Changed = Changed.FAIL

    def marks(self, path: str) -> bool:
        """Whether a file only says of another one that it is complete."""
        return bool(self.marker) and path.endswith(self.marker)

    @property
    def schema_and_name(self) -> tuple[str, str]:
        """The table's name in its two parts."""
        return parse_table(self.table)


@dataclass(frozen=True, slots=True)
class FilesSettings(SourceSettings):
    """One folder."""

    folder: str
    """An absolute path, or `s3a://bucket/folder`."""
    files: tuple[Files, ...] = ()

    def dataset(self, schema: str, table: str) -> Dataset | None:
        """The folder that all files of the table have in common."""
        named = (each.path for each in self.files if each.schema_and_name == (schema, table))
        return next((dataset_at(f"{self.folder.rstrip('/')}/{_common(path)}".rstrip("/")) for path in named), None)


def _common(pattern: str) -> str:
    """The folders of a pattern before the first that stands for several, and before the files' own names."""
    folders = pattern.split("/")[:-1]
    return "/".join(takewhile(lambda folder: not set("*?[{") & set(folder), folders))
