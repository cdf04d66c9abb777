"""The terms on which rows landed, by the names that their columns have now: key and cursor, and what `where` and the masks name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from incremental_assets.core.model.as_copied import source_name
from incremental_assets.core.model.rename import Rename, name_after
from incremental_assets.core.model.row_condition import with_names
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.terms import Terms

_NAMES = re.compile(r"""'(?:[^']|'')*'|"(?P<quoted>(?:[^"]|"")*)"|(?P<word>[^\W\d]\w*)""")
"""What stands in the text of a condition: texts, and names with quotes and without."""


def renamed_terms(spec: TableSpec, terms: Terms, renames: tuple[Rename, ...]) -> Terms:
    """Key and cursor are the columns that they were. So are those of a condition and of masks, which have the source's names, where nothing else about them has changed."""
    cursor, separator, kind = terms.cursor.rpartition(":")
    now = spec.terms
    masked = [part.rpartition(": ")[0] for part in terms.masks.split(", ")]
    return replace(
        terms,
        key=tuple(name_after(renames, name) for name in terms.key),
        cursor=f"{name_after(renames, cursor)}{separator}{kind}",
        fallback=terms.fallback and name_after(renames, terms.fallback),
        where=now.where if _where_before(spec, terms.where, renames) == terms.where else terms.where,
        masks=now.masks if _masks_before(spec, masked, renames) == terms.masks else terms.masks,
    )


def named_by_terms(spec: TableSpec) -> tuple[str, ...]:
    """The copy's names of the columns that a condition and masks name."""
    chosen = {column.name for column in spec.where_columns}
    masked = {each.name for each in spec.masks}
    return tuple(name for name in spec.shape.names if name in masked or source_name(spec, name) in chosen)


def _where_before(spec: TableSpec, text: str, renames: Iterable[Rename]) -> str:
    if spec.where is None:
        return ""
    matches = _NAMES.finditer(text)
    names = [(match["quoted"] or "").replace('""', '"') or match["word"] for match in matches]
    before = _before(spec, [name for name in names if name], renames)
    return str(with_names(spec.where, before))


def _masks_before(spec: TableSpec, names: Iterable[str], renames: Iterable[Rename]) -> str:
    before = _before(spec, names, renames)
    sources = tuple((each.name, before.get(now, now)) for each in spec.masks for now in (source_name(spec, each.name),))
    return replace(spec, source_names=sources).terms.masks


def _before(spec: TableSpec, names: Iterable[str], renames: Iterable[Rename]) -> Mapping[str, str]:
    """What the source called its columns, of these names, by what it calls them now."""
    was = {each.after.lower(): each.before.lower() for each in renames}
    known = {spec.column_names.of(name).lower(): name for name in names}
    found = {source_name(spec, name): known.get(was.get(name.lower(), name.lower())) for name in named_by_terms(spec)}
    return {now: before for now, before in found.items() if before is not None}
