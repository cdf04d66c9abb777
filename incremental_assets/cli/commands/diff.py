"""`diff`: which rows of a copy are not those of the source, and which of their values."""

from __future__ import annotations

import csv
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import DONE, FAILED, Answer, Cell, Grid, Note, Shown, exit_code_of, worst
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.progress import ProgressDisplay, progress_display
from incremental_assets.cli.selection import Selection, selected, with_problems
from incremental_assets.core.checks.differing_rows import DifferingRows, differing_rows
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError, SelectionError, sentence_of
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.partition import Grid as PartitionGrid
from incremental_assets.core.model.row_difference import RowDifference, Values
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.retry_once import retry_once
from incremental_assets.core.words import agreeing, counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_COLUMNS = ("key", "row", "column", "source", "copy")
_CSV_COLUMNS = ("table", *_COLUMNS)
_NULL = "NULL"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """`most`: rows of a table; `file`: where they are written as CSV."""

    most: int
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A table that could not be compared, and why."""

    table: TableId
    error: Exception


def run(config: Path | None, patterns: Sequence[str], options: Options) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime, progress_display() as display, runtime.observer.joined_by(display):
        selection = selected(runtime, patterns)
        found = list(_compared(runtime, selection, options.most, display))
    notes = (
        [_written(options.file, [each for each in found if isinstance(each, DifferingRows)])] if options.file else []
    )
    return with_problems(_answer(found, notes), selection)


def _compared(
    runtime: Runtime, selection: Selection, most: int, display: ProgressDisplay
) -> Iterator[DifferingRows | Failed]:
    runtime.expect_full_reads(spec.id for spec in selection.specs)
    for source in runtime.configuration.sources:
        specs = selection.of(source.name)
        display.begin(spec.id for spec in specs)
        for spec in specs:
            display.show(spec.id, "comparing")
            yield _rows_or_failed(spec, terms_of(source, spec.id).partitions, most, runtime.ports(source.name))
            display.show(spec.id, "compared")
    yield from (Failed(each.table, each.error) for each in selection.troubles)


def _rows_or_failed(spec: TableSpec, grid: PartitionGrid | None, most: int, ports: Ports) -> DifferingRows | Failed:
    try:
        return retry_once(partial(differing_rows, spec, grid, most, ports), spec.id, ports)
    except IncrementalAssetsError as error:
        return Failed(spec.id, error)
    except Exception as error:  # noqa: BLE001 - the other tables go on, whatever this one met
        _log.exception("%s: could not be compared because of an unexpected error", spec.id)
        return Failed(spec.id, error)


def _answer(found: Sequence[DifferingRows | Failed], notes: Sequence[Note]) -> Answer:
    shown: list[Shown] = [part for each in found for part in _shown(each)]
    codes = [exit_code_of(each.error) if isinstance(each, Failed) else _code(each) for each in found]
    return Answer({"tables": [_entry(each) for each in found]}, (*shown, *notes), worst(codes))


def _code(found: DifferingRows) -> int:
    return FAILED if any(not row.is_newer for row in found.rows) or not found.is_all else DONE


def _shown(found: DifferingRows | Failed) -> Iterator[Shown]:
    if isinstance(found, Failed):
        yield Note(sentence_of(found.table, found.error), "bad")
        return
    spec = found.spec
    if found.rows:
        yield Grid(_COLUMNS, tuple(_lines(found)), prose=("source", "copy"), title=str(spec.id))
    tone = "bad" if _code(found) else "warn" if found.quarantined != 0 else "good"
    yield Note(f"{spec.id}: {_summary(found)}{_beside(found)}", tone)


def _summary(found: DifferingRows) -> str:
    below = f" below {found.through}" if found.through else ""
    compared = (
        f"{counted(found.compared, 'row')} of the source{below} {agreeing(found.compared, 'was', 'were')} compared"
    )
    if not found.rows:
        return f"{compared}, and none differs"
    newer = sum(row.is_newer for row in found.rows)
    rest = (
        f"; {counted(newer, 'row')} {agreeing(newer, 'has', 'have')} changed in the source since, which the next sync brings"
        if newer
        else ""
    )
    differ = counted(len(found.rows), "row")
    if not found.is_all:
        return f"{compared}; the first {differ} of those that differ {agreeing(len(found.rows), 'is', 'are')} shown, and --limit shows more{rest}"
    return f"{compared}, and {differ} {agreeing(len(found.rows), 'differs', 'differ')}{rest}"


def _beside(found: DifferingRows) -> str:
    """Rows in quarantine are compared with none."""
    if found.quarantined is None:
        return "; rows in quarantine could not be counted, and are not compared"
    waiting = counted(found.quarantined, "row")
    return (
        f"; {waiting} in quarantine {agreeing(found.quarantined, 'is', 'are')} not compared"
        if found.quarantined
        else ""
    )


def _lines(found: DifferingRows) -> Iterator[tuple[Cell | str, ...]]:
    """A line for each value that differs; for a row that one side lacks one, with all values."""
    for row in found.rows:
        key, kind = _key_of(found.spec, row), Cell(_kind(row), "warn" if row.is_newer else "bad")
        if row.source is None or row.copy is None:
            yield key, kind, "", _whole(found.spec, row.source), _whole(found.spec, row.copy)
            continue
        for name, there, here in _values(found.spec, row):
            yield key, kind, name, _text(there), _text(here)


def _kind(row: RowDifference) -> str:
    if row.source is None:
        return "only in the copy"
    if row.copy is None:
        return "only in the source"
    return "changed since" if row.is_newer else "different"


def _key_of(spec: TableSpec, row: RowDifference) -> str:
    named = dict(zip(spec.shape.names, row.values, strict=True))
    return ", ".join(_text(named[name]) for name in spec.named_key)


def _whole(spec: TableSpec, values: Values | None) -> str:
    if values is None:
        return ""
    named = zip(spec.shape.names, values, strict=True)
    return ", ".join(f"{name}={_text(value)}" for name, value in named if name not in spec.named_key)


def _values(spec: TableSpec, row: RowDifference) -> Iterator[tuple[str, str | None, str | None]]:
    """Name and value of either side of each column that differs."""
    names = spec.shape.names
    for place in row.places():
        yield (
            names[place],
            row.source[place] if row.source is not None else None,
            row.copy[place] if row.copy is not None else None,
        )


def _text(value: str | None) -> str:
    return _NULL if value is None else value


def _written(file: Path, found: Sequence[DifferingRows]) -> Note:
    lines = [
        (str(each.spec.id), _key_of(each.spec, row), _kind(row), name, there, here)
        for each in found
        for row in each.rows
        for name, there, here in _values(each.spec, row)
    ]
    try:
        number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(number, "w", encoding="utf-8", newline="") as out:
            # A file that was there has kept who may read it.
            os.fchmod(number, 0o600)
            writer = csv.writer(out)
            writer.writerow(_CSV_COLUMNS)
            writer.writerows(lines)
    except OSError as error:
        raise SelectionError(f"--csv {file}: cannot be written: {error.strerror}; name another file") from error
    return Note(f"{counted(len(lines), 'value')} written to {file}")


def _entry(found: DifferingRows | Failed) -> dict[str, Any]:
    table = found.table if isinstance(found, Failed) else found.spec.id
    entry: dict[str, Any] = {"source": table.source, "table": render_table(table.schema, table.name)}
    if isinstance(found, Failed):
        return {
            **entry,
            "error": sentence_of(table, found.error),
            "rows": [],
            "compared": None,
            "through": None,
            "is_all": None,
            "quarantined": None,
        }
    return {
        **entry,
        "error": None,
        "compared": found.compared,
        "through": found.through,
        "is_all": found.is_all,
        "quarantined": found.quarantined,
        "rows": [_row(found.spec, row) for row in found.rows],
    }


def _row(spec: TableSpec, row: RowDifference) -> dict[str, Any]:
    named = dict(zip(spec.shape.names, row.values, strict=True))
    return {
        "key": {name: named[name] for name in spec.named_key},
        "row": _kind(row),
        "columns": [{"name": name, "source": there, "copy": here} for name, there, here in _values(spec, row)],
    }
