"""Whose data is looked for: one key of a table, and what else is known of its rows, as texts. Pure."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.key_text import canonical, key_text
from incremental_assets.core.words import counted

LEAST = 5
"""Characters of a text that is looked for in other texts: a shorter one is found in those of anybody."""
_SEPARATORS = (",", ";", "\t")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NOTHING = re.compile(rb"(?!)")

Cells = tuple[tuple[str, str], ...]
"""Columns of the source, each with the text of a value."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The rows of one key. `others`: values of theirs that are looked for in texts, too; `columns`: the key's, by which texts of it that a source wrote are read."""

    key: Cells = field(repr=False)
    others: Cells = field(default=(), repr=False)
    columns: tuple[Column, ...] = field(default=(), repr=False, compare=False)

    @property
    def texts(self) -> tuple[str, ...]:
        """What is looked for in texts: long enough that it is nobody else's by chance."""
        found = (text for _, text in (*self.key, *self.others))
        return tuple(dict.fromkeys(text for text in found if len(text) >= LEAST))


def is_number(text: str) -> bool:
    """Whether its neighbours decide whether a text is it: 900001 is not in 19000012."""
    return _NUMBER.fullmatch(text) is not None


def pattern(subjects: Iterable[Subject], *, numbers: bool) -> re.Pattern[bytes]:
    """What finds their texts in bytes: as they are, as JSON has them once and twice, and the hash by which verdicts name a key.

    Without `numbers` only what is no number: in a file of counts and of other keys, one says nothing.
    """
    wanted = {
        part for subject in subjects for text in subject.texts if numbers or not is_number(text) for part in _ways(text)
    }
    return re.compile(b"|".join(sorted(wanted))) if wanted else _NOTHING


def _ways(text: str) -> Iterator[bytes]:
    digest = re.escape(hashlib.sha256(text.encode()).hexdigest()[:16].encode())
    if is_number(text):
        yield rb"(?<![0-9.])" + re.escape(text.encode()) + rb"(?![0-9])"
        yield digest
        return
    for as_ascii in (False, True):
        once = json.dumps(text, ensure_ascii=as_ascii)[1:-1]
        twice = json.dumps(once, ensure_ascii=as_ascii)[1:-1]
        yield from (re.escape(each.encode()) for each in (text, once, twice))
    yield digest


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a CSV file, which names columns."""

    line: int
    names: tuple[str, ...]
    separator: str

    def row(self, line: str, place: str) -> dict[str, str]:
        """The values of another line by their columns, without those that are empty. Raises SelectionError."""
        cells = _cells_of(line, self.separator)
        if len(cells) != len(self.names):
            raise SelectionError(
                f"{place}: the header has {counted(len(self.names), 'column')} and this line another number of values, or quotes that do not end; write it as CSV"
            )
        return {name: cell for name, cell in zip(self.names, cells, strict=True) if cell}


def header_in(text: str, key: Sequence[Column]) -> Header | None:
    """That of a file of keys whose first line names every column of the key; None of one without."""
    number, line = next(((number, line) for number, line in _lines(text)), (0, ""))
    known = {each.name.lower(): each.name for each in key}
    for separator in _SEPARATORS:
        names = [known.get(cell.strip().lower(), cell.strip()) for cell in _cells_of(line, separator)]
        if known and set(known.values()) <= set(names) and len(set(names)) == len(names):
            return Header(number, tuple(names), separator)
    return None


def subjects_in(text: str, key: Sequence[Column], place: str) -> tuple[Subject, ...]:
    """Those of a file of keys: a line is the key, a JSON object of columns, or behind a header a line of CSV. Raises SelectionError, which quotes no value."""
    header = header_in(text, key)
    found = [
        _subject(line if header is None else header.row(line, f"{place}:{number}"), tuple(key), f"{place}:{number}")
        for number, line in _lines(text)
        if header is None or number != header.line
    ]
    if not found:
        behind = "" if header is None else " behind its header"
        raise SelectionError(f"{place}: no key is in it{behind}; write one key in each line")
    return tuple(dict.fromkeys(found))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.strip()


def _cells_of(line: str, separator: str) -> list[str]:
    """None where it is no line of CSV."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error:
        return []


def _subject(line: str | Mapping[str, Any], key: tuple[Column, ...], place: str) -> Subject:
    if isinstance(line, str) and not line.startswith("{"):
        if len(key) != 1:
            raise SelectionError(
                f"{place}: the key of the table has {len(key)} columns; write an object such as "
                f"{{{', '.join(f'{json.dumps(each.name)}: …' for each in key)}}}, or CSV with a header"
            )
        return Subject(_cells(key, {key[0].name: line}, place), columns=key)
    row = _object(line, place) if isinstance(line, str) else line
    names = {each.name for each in key}
    missing = next((each.name for each in key if row.get(each.name) is None), None)
    if missing is not None:
        raise SelectionError(f"{place}: the column {missing!r} of the key is missing; write it into this line")
    texts = {name: canonical(value) for name, value in row.items() if value is not None}
    others = tuple((name, text) for name, text in texts.items() if name not in names)
    return Subject(_cells(key, texts, place), others, key)


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        # A number keeps its digits.
        row: Mapping[str, Any] = json.loads(line, parse_float=str, parse_int=str)
    except ValueError:
        raise SelectionError(f"{place}: this line begins like a JSON object and is none; write it as one") from None
    return row


def _cells(key: tuple[Column, ...], texts: Mapping[str, str], place: str) -> Cells:
    """As files have them: of a value that is written in another way nothing would be found, and nothing erased."""
    found = []
    for column in key:
        try:
            found.append((column.name, key_text(column, texts[column.name])))
        except ValueError:
            raise SelectionError(
                f"{place}: the value of {column.name!r} is no {column.spark_type}, so that no row has it; write it as the source has it"
            ) from None
    return tuple(found)
