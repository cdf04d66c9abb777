"""`peek`: what a table looks like on both sides: its columns, and the first rows that come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import Answer, Grid, Note, Shown, exit_code_of, worst
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import Trouble, selected, with_problems
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.words import agreeing, counted
from incremental_assets.resources.erasures import open_erasures

if TYPE_CHECKING:
    from incremental_assets.adapters.delta.first_rows import FirstRows
    from incremental_assets.resources.runtime import Runtime

ROWS = 10
_HIDDEN, _MASKED, _NULL, _LONGEST = "(hidden: pii)", "(hidden: masked)", "NULL", 40
"""What stands for a value of `pii` and for no value, and how much of a long one people see; JSON has all of it."""

Row = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Peeked:
    """One table. A side is None where it has no rows to show, or where `errors` says why it cannot. `left_out`: rows of each side whose keys were erased."""

    spec: TableSpec
    source: tuple[Row, ...] | None
    copy: FirstRows | None
    errors: tuple[IncrementalAssetsError, ...]
    left_out: tuple[int, int] = (0, 0)


def run(config: Path | None, tables: Sequence[str]) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        selection = selected(runtime, tables, option="TABLE")
        found: list[Peeked | Trouble] = [*(_peeked(runtime, spec) for spec in selection.specs), *selection.troubles]
    return with_problems(_answer(found), selection)


def _peeked(runtime: Runtime, spec: TableSpec) -> Peeked:
    from incremental_assets.adapters.delta.first_rows import first_rows

    errors: list[IncrementalAssetsError] = []
    source = copy = None
    of_source = of_copy = 0
    try:
        erased = open_erasures(runtime.configuration).keys(spec.id)
        if erased is not None:
            erased.places(spec)
    except IncrementalAssetsError as error:
        return Peeked(spec, None, None, (error,))
    try:
        database = runtime.database(spec.id.source)
        rows = database.peek(spec, ROWS) if database else None
        asked = [column.name for column in spec.without_masked.source_columns]
        names = [column.name for column in spec.source_columns]
        known = None if rows is None else [dict(zip(asked, row, strict=True)) for row in rows]
        shown = [row for row in known or () if erased is None or not erased.may_hold(spec, row)]
        source = None if known is None else tuple(_of_source(spec, names, row) for row in shown)
        of_source = len(known or ()) - len(shown)
    except IncrementalAssetsError as error:
        errors.append(error)
    try:
        copy = first_rows(spec.id, table_path(runtime.configuration.lake, spec.id), ROWS)
        if copy is not None and erased is not None:
            here = tuple(row for row in copy.rows if not erased.may_hold(spec, row))
            copy, of_copy = replace(copy, rows=here), len(copy.rows) - len(here)
    except IncrementalAssetsError as error:
        errors.append(error)
    return Peeked(spec, source, copy, tuple(errors), (of_source, of_copy))


def _of_source(spec: TableSpec, names: Sequence[str], row: Row) -> Row:
    """In the order of the table; the source is not asked for values that are masked."""
    return _masked(spec, {name: row.get(name, _MASKED) for name in names})


def _masked(spec: TableSpec, row: Row) -> Row:
    """Without values of `pii`; of such a table nothing is shown either that the source does not have by that name, as it may have had another one."""
    hidden = {name.lower() for name in spec.personal}
    shown = {name.lower() for name in spec.shape.names} - hidden if hidden else {name.lower() for name in row}
    return {name: value if value is None or name.lower() in shown else _HIDDEN for name, value in row.items()}


def _answer(found: Sequence[Peeked | Trouble]) -> Answer:
    shown: list[Shown] = [part for each in found for part in _shown(each)]
    errors = [error for each in found for error in _errors(each)]
    return Answer({"tables": [_entry(each) for each in found]}, shown, worst([exit_code_of(error) for error in errors]))


def _errors(found: Peeked | Trouble) -> tuple[IncrementalAssetsError, ...]:
    return (found.error,) if isinstance(found, Trouble) else found.errors


def _shown(found: Peeked | Trouble) -> Iterator[Shown]:
    if isinstance(found, Peeked):
        table = str(found.spec.id)
        columns = tuple(tuple(value or "" for value in each.values()) for each in _columns(found))
        yield Grid(("column", "in the source", "in the copy"), columns, title=table)
        for side, rows in (("source", found.source), ("copy", _copied(found))):
            yield from _side(table, side, rows)
        for side, count in zip(("source", "copy"), found.left_out, strict=True):
            if count:
                those = agreeing(
                    count, "is not shown, as its key was erased", "are not shown, as their keys were erased"
                )
                yield Note(f"{table}: {counted(count, 'row')} of the {side} {those}", "dim")
    yield from (Note(str(error), "bad") for error in _errors(found))


def _side(table: str, side: str, rows: Sequence[Row] | None) -> Iterator[Shown]:
    if rows:
        lines = tuple(tuple(_short(value) for value in row.values()) for row in rows)
        yield Grid(tuple(rows[0]), lines, title=f"{table}: {counted(len(rows), 'row')} of the {side}")
    else:
        yield Note(f"{table}: no row of the {side} to show", "dim")


def _short(value: str | None) -> str:
    if value is None:
        return _NULL
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"


def _copied(found: Peeked) -> tuple[Row, ...] | None:
    if found.copy is None:
        return None
    kept = [name for name in found.copy.types if not name.startswith("_sync_")]
    return tuple(_masked(found.spec, {name: row[name] for name in kept}) for row in found.copy.rows)


def _columns(found: Peeked) -> list[dict[str, str | None]]:
    """Those of the source in its order, then those that only the copy has."""
    there = {column.name: column.source_type for column in found.spec.source_columns}
    here = found.copy.types if found.copy else {}
    return [
        {"name": name, "source": there.get(name), "copy": here.get(name)} for name in dict.fromkeys((*there, *here))
    ]


def _entry(found: Peeked | Trouble) -> dict[str, Any]:
    table: TableId = found.table if isinstance(found, Trouble) else found.spec.id
    entry: dict[str, Any] = {
        "source": table.source,
        "table": render_table(table.schema, table.name),
        "errors": [str(error) for error in _errors(found)],
    }
    if isinstance(found, Trouble):
        return {**entry, "columns": [], "rows": {"source": None, "copy": None}, "left_out": {"source": 0, "copy": 0}}
    rows = {"source": found.source, "copy": _copied(found)}
    left_out = dict(zip(("source", "copy"), found.left_out, strict=True))
    return {**entry, "columns": _columns(found), "rows": rows, "left_out": left_out}
