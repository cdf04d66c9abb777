"""How a table looked when the rows behind were written, as the binlog itself tells it: `binlog_row_metadata = FULL`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from incremental_assets.adapters.logs.mysql.octets import Octets

YEAR, JSON, GEOMETRY = 13, 245, 255
BIT, STRING, BLOB, ENUM, SET, DECIMAL = 16, 254, 252, 247, 248, 246
_TEXTS = frozenset((15, 253, STRING, BLOB, 249, 250, 251, 140, 141))
_NUMBERS = frozenset((0, 1, 2, 3, 4, 5, 8, 9, DECIMAL))
_METADATA = {
    **dict.fromkeys((4, 5, 17, 18, 19, 140, 242, 244, 245, 249, 250, 251, BLOB, 255), 1),
    **dict.fromkeys((15, BIT, 141, DECIMAL, ENUM, SET, 253, STRING), 2),
}
"""Bytes of metadata that a type has; none where it is not named."""
_SIGNS, _DEFAULT_CHARSET, _CHARSETS, _NAMES, _SETS, _ENUMS, _DEFAULT_LABELS, _LABELS = 1, 2, 3, 4, 5, 6, 10, 11


@dataclass(frozen=True, slots=True)
class Mapped:
    """A column. `size`: bytes that a value has, or has at the most, or of its length; `digits`: of a fraction, of bits beyond whole bytes."""

    name: str
    type: int
    size: int = 0
    digits: int = 0
    unsigned: bool = False
    collation: int = 0
    labels: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table under the number that rows behind name it by."""

    number: int
    schema: str
    name: str
    columns: tuple[Mapped, ...]
    """Without names where the log has none."""
    or_else: tuple[Mapped, ...] = ()
    """The same with other signs, where the log does not tell which version of the server has counted how; empty where it does."""


@dataclass
class _Told:
    """What the log tells of columns beside their types."""

    signs: bytes = b""
    names: list[str] = field(default_factory=list)
    collations: list[int] = field(default_factory=list)
    label_collations: list[int] = field(default_factory=list)
    labels: dict[int, list[tuple[bytes, ...]]] = field(default_factory=lambda: {ENUM: [], SET: []})


def parse(body: bytes, *, is_mariadb: bool) -> TableMap:
    """From the body of an event."""
    octets = Octets(body)
    number = octets.number(6)
    octets.skip(2)
    schema, name = (_name(octets) for _ in range(2))
    types = octets.bytes(octets.length())
    metadata = Octets(octets.bytes(octets.length()))
    octets.skip((len(types) + 7) // 8)
    columns = [_typed(kind, metadata) for kind in types]
    # MariaDB counts shapes as texts, and years as numbers; of MySQL some versions count years so.
    texts = _TEXTS | {GEOMETRY} if is_mariadb else _TEXTS
    told = _told(octets, columns, texts)
    ways = [_NUMBERS | {YEAR}] if is_mariadb else [_NUMBERS, _NUMBERS | {YEAR}]
    signed = [_signs(told.signs, columns, numbers) for numbers in ways]
    first, *others = dict.fromkeys(each for each in signed if each is not None) or [(False,) * len(columns)]
    return TableMap(
        number, schema, name, *(tuple(_described(columns, told, signs, texts)) for signs in (first, *others))
    )


def _signs(bits: bytes, columns: list[Mapped], numbers: frozenset[int]) -> tuple[bool, ...] | None:
    """Which of the columns are unsigned, where these have bits; None where the bits are none of these."""
    told = iter([bool(each & (0x80 >> place)) for each in bits for place in range(8)])
    found = tuple(next(told, False) if each.type in numbers else False for each in columns)
    years = [sign for each, sign in zip(columns, found, strict=True) if each.type == YEAR]
    count = sum(each.type in numbers for each in columns)
    fits = len(bits) == (count + 7) // 8 and not any(told) and (YEAR not in numbers or all(years))
    return found if fits else None


def _name(octets: Octets) -> str:
    found = octets.bytes(octets.number(1)).decode("utf-8", "backslashreplace")
    octets.skip(1)
    return found


def _typed(kind: int, metadata: Octets) -> Mapped:
    told = metadata.bytes(_METADATA.get(kind, 0))
    if kind == STRING:
        # Another type may hide behind it, and the length have bits in its byte.
        real, size = told
        if real & 0x30 != 0x30:
            return Mapped("", real | 0x30, size | (((real & 0x30) ^ 0x30) << 4))
        return Mapped("", real, size)
    if kind == BIT:
        return Mapped("", kind, told[1], told[0])
    if kind == DECIMAL:
        return Mapped("", kind, told[0], told[1])
    return Mapped("", kind, int.from_bytes(told, "little"))


def _told(octets: Octets, columns: list[Mapped], texts: frozenset[int]) -> _Told:
    told = _Told()
    written = sum(each.type in texts for each in columns)
    labelled = sum(each.type in (ENUM, SET) for each in columns)
    while octets.left:
        kind = octets.number(1)
        value = Octets(octets.bytes(octets.length()))
        if kind == _SIGNS:
            told.signs = value.bytes(value.left)
        elif kind == _DEFAULT_CHARSET:
            told.collations = _with_default(value, written)
        elif kind == _CHARSETS:
            told.collations = list(_lengths(value))
        elif kind == _NAMES:
            told.names = [each.decode("utf-8", "backslashreplace") for each in _strings(value)]
        elif kind in (_SETS, _ENUMS):
            while value.left:
                labels = tuple(value.bytes(value.length()) for _ in range(value.length()))
                told.labels[SET if kind == _SETS else ENUM].append(labels)
        elif kind == _DEFAULT_LABELS:
            told.label_collations = _with_default(value, labelled)
        elif kind == _LABELS:
            told.label_collations = list(_lengths(value))
    return told


def _described(
    columns: list[Mapped], told: _Told, unsigned: tuple[bool, ...], texts: frozenset[int]
) -> Iterator[Mapped]:
    """Each list is of the columns of its kind alone, in their order."""
    names = iter(told.names)
    collations, of_labels = iter(told.collations), iter(told.label_collations)
    labels: Mapping[int, Iterator[tuple[bytes, ...]]] = {kind: iter(each) for kind, each in told.labels.items()}
    for each, sign in zip(columns, unsigned, strict=True):
        has_labels = each.type in labels
        collation = next(of_labels, 0) if has_labels else next(collations, 0) if each.type in texts else 0
        own = next(labels[each.type], ()) if has_labels else ()
        yield Mapped(next(names, ""), each.type, each.size, each.digits, sign, collation, own)


def _with_default(value: Octets, count: int) -> list[int]:
    default = value.length()
    found = [default] * count
    while value.left:
        place = value.length()
        found[place] = value.length()
    return found


def _lengths(value: Octets) -> Iterator[int]:
    while value.left:
        yield value.length()


def _strings(value: Octets) -> Iterator[bytes]:
    while value.left:
        yield value.bytes(value.length())
