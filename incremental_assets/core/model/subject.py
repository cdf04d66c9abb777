"""Whose data is looked for: one key of a table, and what else is known of its rows, as texts. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.key_text import canonical, key_text

LEAST = 5
"""Characters of a text that is looked for in other texts: a shorter one is found in those of anybody."""
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


def subjects_in(text: str, key: Sequence[Column], place: str) -> tuple[Subject, ...]:
    """Those of a file of keys: a line is the key, or a JSON object of columns. Raises SelectionError, which quotes no value."""
    lines = (line.strip() for line in text.split("\n"))
    found = [_subject(line, tuple(key), f"{place}:{number}") for number, line in enumerate(lines, 1) if line]
    if not found:
        raise SelectionError(f"{place}: no key is in it; write one key in each line")
    return tuple(dict.fromkeys(found))


def _subject(line: str, key: tuple[Column, ...], place: str) -> Subject:
    if not line.startswith("{"):
        if len(key) != 1:
            raise SelectionError(
                f"{place}: the key of the table has {len(key)} columns; write an object such as "
                f"{{{', '.join(f'{json.dumps(each.name)}: …' for each in key)}}}"
            )
        return Subject(_cells(key, {key[0].name: line}, place), columns=key)
    try:
        # A number keeps its digits.
        row = json.loads(line, parse_float=str, parse_int=str)
    except ValueError:
        raise SelectionError(f"{place}: this line begins like a JSON object and is none; write it as one") from None
    names = {each.name for each in key}
    missing = next((each.name for each in key if row.get(each.name) is None), None)
    if missing is not None:
        raise SelectionError(f"{place}: the column {missing!r} of the key is missing; write it into the object")
    texts = {name: canonical(value) for name, value in row.items() if value is not None}
    others = tuple((name, text) for name, text in texts.items() if name not in names)
    return Subject(_cells(key, texts, place), others, key)


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
