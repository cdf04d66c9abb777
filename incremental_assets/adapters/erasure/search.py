"""What is looked for in the files of one table, and under which names they have its key."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.delta.key_values import compared_text
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.subject import Subject, pattern

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_TRUNCATED = 16
"""Bytes of the shortest end that a writer cuts of a text."""


@dataclass(frozen=True)
class Search:
    """`names`: of each column of the key, other names that files may have for it; None where any column may be it. `keyed`: whether the rows are of the table."""

    subjects: tuple[Subject, ...]
    names: Mapping[str, frozenset[str]] | None = field(default_factory=dict)
    keyed: bool = True

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The columns of the key, by the source's names."""
        return tuple(name for name, _ in self.subjects[0].key) if self.keyed else ()

    @cached_property
    def keys(self) -> frozenset[tuple[str, ...]]:
        """The keys, as texts; of numbers also as they are without zeros at their end."""
        found = {tuple(text for _, text in subject.key) for subject in self.subjects}
        return frozenset(found | {tuple(map(_short, key)) for key in found})

    @cached_property
    def texts(self) -> re.Pattern[bytes]:
        """Texts that are no numbers."""
        return pattern(self.subjects, numbers=False)

    @cached_property
    def all_texts(self) -> re.Pattern[bytes]:
        """Numbers among them."""
        return pattern(self.subjects, numbers=True)

    def part(self, name: str) -> str | None:
        """The column of the key that a file calls so; None where it is none of it."""
        for logical in self.key:
            if name.lower() == logical.lower() or name in (self.names or {}).get(logical, ()):
                return logical
        return None

    def as_key(self, part: str, text: str) -> str:
        """A text of a column of the key that a source wrote, as keys are compared."""
        column = self._columns.get(part)
        return text if column is None else compared_text(text, column)

    @cached_property
    def _columns(self) -> Mapping[str, Column]:
        return {each.name: each for each in self.subjects[0].columns}

    def values_of(self, part: str) -> frozenset[str]:
        """What is looked for in one column of the key."""
        place = self.key.index(part)
        return frozenset(key[place] for key in self.keys)

    def in_text(self, text: str) -> bool:
        """Whether a text that may hold anything has one of the texts."""
        return self.texts.search(text.encode(errors="surrogatepass")) is not None


def plain(text: str, kind: pa.DataType, physical: str, length: int) -> bytes | None:
    """The bytes of a value as Parquet writes it plainly; None where the column cannot hold it."""
    try:
        return _plain(text, kind, physical, length)
    except (ValueError, ArithmeticError, struct.error, OverflowError):
        return None


def _plain(text: str, kind: pa.DataType, physical: str, length: int) -> bytes | None:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return text.encode()
    if pa.types.is_binary(kind):
        return bytes.fromhex(text)
    number = _number(text, kind)
    if number is None:
        return None
    if physical == "FIXED_LEN_BYTE_ARRAY":
        return number.to_bytes(length, "big", signed=True)
    formats = {"INT32": "<i", "INT64": "<q"}
    return struct.pack(formats[physical], number) if physical in formats else None


def _number(text: str, kind: pa.DataType) -> int | None:
    if pa.types.is_integer(kind):
        return int(text)
    if pa.types.is_date(kind):
        return (date.fromisoformat(text) - _EPOCH.date()).days
    if pa.types.is_timestamp(kind):
        moment = datetime.fromisoformat(text)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
        return int(
            (since.days * 86_400 + since.seconds) * _UNITS[kind.unit] + since.microseconds * _UNITS[kind.unit] // 10**6
        )
    if pa.types.is_decimal(kind):
        return int(Decimal(text).scaleb(kind.scale))
    return None


def is_end(bound: Any, values: Iterable[bytes]) -> bool:
    """Whether the lowest or the highest value that is kept of a column is one of these; long ones are kept cut, and of the highest the last byte is another."""
    if not isinstance(bound, bytes):
        return False
    for value in values:
        cut = value[: len(bound)]
        if bound == value or (len(bound) >= _TRUNCATED and len(value) > len(bound) and bound[:-1] == cut[:-1]):
            return True
    return False


def _short(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text and text.replace(".", "").lstrip("-").isdigit() else text
