"""The terms on which rows landed, by the names that their columns have now: key and cursor, and what `where` and the masks name. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from incremental_assets.core.model.as_copied import source_name
from incremental_assets.core.model.rename import Rename, name_after
from incremental_assets.core.model.row_condition import with_names
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.terms import Terms

_NAMES = re.compile(r"""'(?:[^']|'')*'|"(?P<quoted>(?:[^"]|"")*)"|(?P<word>[^\W\d]\w*)""")
"""What stands in the text of a condition: texts, and names with quotes and without."""
_NOTHING = ""


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
        where=_as_now(
            terms.where,
            _where_before(spec, terms.where, renames),
            now.where,
            lambda: _forward(spec, terms.where, renames),
        ),
        masks=_as_now(
            terms.masks, _masks_before(spec, masked, renames), now.masks, lambda: _forward(spec, terms.masks, renames)
        ),
    )


def _as_now(landed: str, before: str, now: str, forward: Callable[[], str]) -> str:
    """What landed in the words of now, where only names have changed; in its own else. Those may be the same words of other columns: then by the names that these have now."""
    if before == landed:
        return now
    return forward() if landed == now else landed


def _forward(spec: TableSpec, text: str, renames: Iterable[Rename]) -> str:
    def after(match: re.Match[str]) -> str:
        name = (match["quoted"] or "").replace('""', '"') or match["word"]
        landed = spec.column_names.of(name) if name else ""
        now = name_after(renames, landed)
        return match[0] if now == landed else source_name(spec, now)

    return _NAMES.sub(after, text)


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
    """What the source called its columns, of these names, by what it calls them now. One that has taken the name of another was called as nothing is: its terms are others."""
    known = {spec.column_names.of(name).lower(): name for name in names}
    was = dict.fromkeys((each.before.lower() for each in renames), _NOTHING)
    was |= {each.after.lower(): each.before.lower() for each in renames}
    found = {}
    for name in named_by_terms(spec):
        now = name.lower()
        before = known.get(was.get(now, now), _NOTHING if now in was else None)
        if before is not None:
            found[source_name(spec, name)] = before
    return found
