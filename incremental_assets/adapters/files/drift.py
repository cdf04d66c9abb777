"""Columns of one file beside those of its table."""

from __future__ import annotations

from incremental_assets.adapters.files.shapes import Described, is_wider
from incremental_assets.core.config.files_settings import FileFormat, Files
from incremental_assets.core.errors import SchemaChanged, SourceRefused
from incremental_assets.core.model.cures import full_refresh, sync
from incremental_assets.core.model.file_columns import NAMES
from incremental_assets.core.model.table import TableSpec


def check_columns(spec: TableSpec, files: Files, path: str, found: Described | None) -> None:
    """Raises SchemaChanged where a file has a column that the table does not have, or of another type, or lacks one that it needs."""
    if found is None:
        return
    if found.why:
        raise SourceRefused(f"{spec.id}: {found.why}")
    types = {each.name: each.spark_type for each in spec.columns if each.name not in NAMES}
    _check_missing(spec, files, path, found, types)
    if files.columns and spec.evolve:
        # Those that the configuration does not name are not read.
        return
    new = [name for name in found.columns if name not in {*types, *spec.shape.left_out, *spec.discarded}]
    if new:
        cure = (
            "`schema_changes: freeze` keeps them; have it written without it, or set `schema_changes: evolve` for this table"
            if not spec.evolve
            else f"run {sync(spec.id)} again, which knows it; where that does not help, as hundreds of files without it have come since, move the file so that it comes last"
        )
        raise SchemaChanged(
            f"{spec.id}: the file {path!r} has a column {new[0]!r}, which the table does not have: {cure}"
        )
    if files.format is FileFormat.PARQUET:
        _check_types(spec, path, found, types)


def _check_missing(spec: TableSpec, files: Files, path: str, found: Described, types: dict[str, str]) -> None:
    missing = [name for name in types if name not in found.columns]
    needed = [name for name in missing if name in spec.key or name == files.order]
    if needed:
        raise SchemaChanged(
            f"{spec.id}: the file {path!r} has no column {needed[0]!r}, by which its rows are known or ordered; have it written with that, or moved to where `path` does not find it"
        )
    if missing and not spec.evolve:
        raise SchemaChanged(
            f"{spec.id}: the file {path!r} has no column {missing[0]!r}, and `schema_changes: freeze` keeps it; have it written with that, or set `schema_changes: evolve` for this table"
        )


def _check_types(spec: TableSpec, path: str, found: Described, types: dict[str, str]) -> None:
    for name, kind in found.columns.items():
        if name in types and kind != types[name] and not is_wider(types[name], kind):
            raise SchemaChanged(
                f"{spec.id}: the file {path!r} has {name!r} as {kind}, where the table has {types[name]}; have it written as that, or the others as this, "
                f"and load the table again with {full_refresh(spec)}"
            )
