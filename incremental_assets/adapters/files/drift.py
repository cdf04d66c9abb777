"""Columns of one file beside those of its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from incremental_assets.adapters.files.shapes import Described, is_wider
from incremental_assets.core.config.files_settings import Files
from incremental_assets.core.errors import SchemaChanged, SourceRefused
from incremental_assets.core.model.cures import full_refresh, sync
from incremental_assets.core.model.file_columns import NAMES
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.words import agreeing, counted

_NAMED = 5
"""Files that a sentence names."""


@dataclass
class Absent:
    """Columns that files lack, in whose rows they are NULL; of each some files by name."""

    files: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, path: str, names: Sequence[str]) -> None:
        """One file."""
        self.counts.update(names)
        for name in names:
            some = self.files.setdefault(name, [])
            if len(some) < _NAMED:
                some.append(path)

    @property
    def sentences(self) -> tuple[str, ...]:
        """For people, by the column."""
        return tuple(self._sentence(name) for name in self.files)

    def _sentence(self, name: str) -> str:
        count, some = self.counts[name], ", ".join(map(repr, self.files[name]))
        more = f" and {counted(count - _NAMED, 'other')}" if count > _NAMED else ""
        return (
            f"{counted(count, 'file')} of this sync {agreeing(count, 'has', 'have')} no column {name!r}, which is NULL in {agreeing(count, 'its', 'their')} rows: {some}{more}; "
            f"have {agreeing(count, 'it', 'them')} written with that, or set `schema_changes: freeze`, under which such a file stops the table"
        )


def check_columns(spec: TableSpec, files: Files, path: str, found: Described | None) -> tuple[str, ...]:
    """The columns that a file lacks. Raises SchemaChanged where it has one that the table does not have, or of another type, or lacks one that is needed."""
    if found is None:
        return ()
    if found.why:
        raise SourceRefused(f"{spec.id}: {found.why}")
    types = {each.name: each.spark_type for each in spec.columns if each.name not in NAMES}
    missing = _missing(spec, files, path, found, types)
    if files.columns and spec.evolve:
        # Those that the configuration does not name are not read.
        return missing
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
    if files.format.names_types:
        _check_types(spec, path, found, types)
    return missing


def _missing(spec: TableSpec, files: Files, path: str, found: Described, types: dict[str, str]) -> tuple[str, ...]:
    missing = tuple(name for name in types if name not in found.columns and name not in found.untyped)
    needed = [name for name in missing if name in spec.key or name == files.order]
    if needed:
        raise SchemaChanged(
            f"{spec.id}: the file {path!r} has no column {needed[0]!r}, by which its rows are known or ordered; have it written with that, or moved to where `path` does not find it"
        )
    if missing and not spec.evolve:
        raise SchemaChanged(
            f"{spec.id}: the file {path!r} has no column {missing[0]!r}, and `schema_changes: freeze` keeps it; have it written with that, or set `schema_changes: evolve` for this table"
        )
    return missing


def _check_types(spec: TableSpec, path: str, found: Described, types: dict[str, str]) -> None:
    for name, kind in found.columns.items():
        if name in types and kind != types[name] and not is_wider(types[name], kind):
            raise SchemaChanged(
                f"{spec.id}: the file {path!r} has {name!r} as {kind}, where the table has {types[name]}; have it written as that, or the others as this, "
                f"and load the table again with {full_refresh(spec)}"
            )
