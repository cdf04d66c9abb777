"""Each format by its name: what columns a file has, and its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from incremental_assets.adapters.files import avro_rows, orc_rows, parquet_rows
from incremental_assets.adapters.files.csv_rows import header, rows_of_csv
from incremental_assets.adapters.files.json_rows import rows_of_json
from incremental_assets.adapters.files.opened import unpacked
from incremental_assets.adapters.files.raw import Rows, Unfitted
from incremental_assets.adapters.files.shapes import Described, of_header, of_schema
from incremental_assets.core.config.files_settings import FileFormat, Files
from incremental_assets.core.model.file_columns import NAMES
from incremental_assets.core.model.table import TableSpec

_TYPED = {
    FileFormat.PARQUET: (parquet_rows.schema_of, parquet_rows.rows_of_parquet),
    FileFormat.ORC: (orc_rows.schema_of, orc_rows.rows_of_orc),
    FileFormat.AVRO: (avro_rows.schema_of, avro_rows.rows_of_avro),
}
"""Those that say their columns' types, by how these and the rows are read."""


def columns_of(files: Files, path: str, opened: Any) -> Described | None:
    """The columns that a file names, before its first row; None of one that names none. Raises Broken."""
    return begun(files, path, opened)[0]


def begun(files: Files, path: str, opened: Any) -> tuple[Described | None, Any]:
    """The same, and what was read for it, which `rows_of` goes on from. Raises Broken."""
    if files.format.names_types:
        schema_of, _ = _TYPED[files.format]
        schema, read = schema_of(opened)
        return of_schema(path, schema), read
    if files.format is FileFormat.CSV and files.csv.header:
        names, _ = header(unpacked(path, opened), files.csv)
        opened.seek(0)
        return None if names is None else of_header(names), None
    return None, None


def rows_of(spec: TableSpec, files: Files, path: str, opened: Any, read: Any) -> Iterator[Rows | Unfitted]:
    """The table's columns of all rows, in their order. Raises Broken."""
    types = {each.name: each.spark_type for each in spec.columns if each.name not in NAMES}
    if files.format.names_types:
        _, rows_of_typed = _TYPED[files.format]
        return rows_of_typed(read, types)
    if files.format is FileFormat.CSV:
        return rows_of_csv(unpacked(path, opened), files.csv, _in_order(files, types))
    return rows_of_json(unpacked(path, opened), [each for each in files.columns if each[0] in types])


def _in_order(files: Files, types: dict[str, str]) -> dict[str, str]:
    """Without a header values have their places, also those that the table leaves out."""
    return types if files.csv.header else {name: coding.type for name, coding in files.columns}
