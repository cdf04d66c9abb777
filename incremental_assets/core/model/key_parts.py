"""Keys on a line, so that both sides count and hash them by parts of it: pure arithmetic.

A key of one whole number has its own value as its place. Any other has a hash, 60 bits, which no collation orders differently on two
sides: of its canonical text, or of its bytes where both sides know that. A part holds the places that are equal without their last bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

HASH_BITS = 60
"""The bits of the hash in `adapters/databases/measure.py`, and of what is taken of the one in `byte_hash.py`."""
FEW = 5_000
"""Rows of a copy whose keys are read at once: for fewer of them a count by parts costs more than it spares."""
MOST_PARTS = 20_000
"""Parts that are asked for by their numbers: if more of them differ, keys are read of all that the look before had left."""
_FIRST = 8_192
"""Parts of the first look, at most: so many that of a few hundred keys that differ most parts have none, and need no second look."""
_SMALLEST = 32
"""Keys in a part of the first look, at least."""
_MOST_BITS = 63
"""The most bits by which a number of 64 bits is shifted: beyond that, databases and Java differ."""
_FINER = 8
"""Bits by which a look is finer at most."""
_HASHES = 8_192
"""Hashes that a further look brings while few parts differ."""
_LEAST = 3
"""Bits by which a look is finer at least. So of many parts that differ it brings eight times as many hashes, not 256 times."""


@dataclass(frozen=True, slots=True)
class KeySpread:
    """How many rows a copy holds, and between which places."""

    rows: int
    lowest: int
    highest: int
    by_hash: bool = False
    """Whether the place of a key is its hash, so that the sum of a part of keys is that of their places."""


@dataclass(frozen=True, slots=True)
class KeySum:
    """Keys of one part, and the sum of their hashes, which does not depend on their order."""

    rows: int
    digest: int


@dataclass(frozen=True, slots=True)
class KeyParts:
    """The places from `lowest` to `highest`; of them only the parts that `numbers` names, where it does."""

    lowest: int
    highest: int
    shift: int = 0
    """How many bits a place has more than the number of its part."""
    numbers: frozenset[int] | None = None

    def holds(self, place: int) -> bool:
        """Whether a place is among them."""
        inside = self.lowest <= place <= self.highest
        return inside and (self.numbers is None or place >> self.shift in self.numbers)

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The same as closed ranges, ascending, those that touch as one."""
        if self.numbers is None:
            return ((self.lowest, self.highest),)
        found: list[tuple[int, int]] = []
        for number in sorted(self.numbers):
            low = max(self.lowest, number << self.shift)
            high = min(self.highest, ((number + 1) << self.shift) - 1)
            if found and found[-1][1] + 1 == low:
                found[-1] = (found[-1][0], high)
            else:
                found.append((low, high))
        return tuple(found)


ANYWHERE = KeyParts(-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Selected:
    """What a comparison of a copy with a snapshot asks to be read: the rows whose keys lie at some places, or all of them (None)."""

    places: KeyParts | None
    rows: int
    """The rows that the snapshot shows of those that a copy can hold."""
    vanished: KeyParts | None = None
    """Those of the places where the copy alone has a row; None where that is not known."""


def everywhere(spread: KeySpread) -> KeyParts:
    """All that the copy can hold; what lies outside of it in the source can be no row that is gone."""
    return KeyParts(spread.lowest, spread.highest)


def coarse(spread: KeySpread) -> int:
    """The shift of the first look."""
    parts = max(1, min(_FIRST, spread.rows // _SMALLEST))
    return min(_MOST_BITS, ((spread.highest - spread.lowest) // parts).bit_length())


def finer(shift: int, unequal: int, rows: int) -> int:
    """The shift of the next look, into so many parts that differ and have so many rows."""
    parts = max(1, unequal)
    bits = (_HASHES // parts).bit_length() - 1
    # What is then read of a part that differs is about as much as the look itself brings of it.
    balanced = (rows // parts).bit_length() // 2
    return max(0, shift - min(_FINER, max(_LEAST, min(bits, balanced))))


def differing(within: KeyParts, shift: int, copy: Mapping[int, KeySum], source: Mapping[int, KeySum]) -> KeyParts:
    """The parts in which the copy holds anything and the source does not hold the same."""
    return KeyParts(
        within.lowest, within.highest, shift, frozenset(part for part, held in copy.items() if source.get(part) != held)
    )


def unlike(within: KeyParts, shift: int, one: Mapping[int, KeySum], other: Mapping[int, KeySum]) -> KeyParts:
    """The parts in which the two sides do not hold the same, whichever holds more."""
    found = frozenset(part for part in one.keys() | other.keys() if one.get(part) != other.get(part))
    return KeyParts(within.lowest, within.highest, shift, found)


def places_by_sums(parts: KeyParts, copy: Mapping[int, KeySum], source: Mapping[int, KeySum]) -> dict[int, int]:
    """The place of the one key that a part of the source lacks, for each such part, where places are hashes: it is what the sum lacks.

    Where others came and went as well, what it lacks is some number, which lies in the part by chance alone.
    """
    found: dict[int, int] = {}
    for part in parts.numbers or ():
        held, shown = copy[part], source.get(part, KeySum(0, 0))
        lacked = held.digest - shown.digest
        if held.rows - shown.rows == 1 and lacked >> parts.shift == part:
            found[part] = lacked
    return found


def without(parts: KeyParts, numbers: Iterable[int]) -> KeyParts:
    """Some parts but for these."""
    return replace(parts, numbers=(parts.numbers or frozenset()).difference(numbers))


def rows_in(parts: KeyParts, *sides: Mapping[int, KeySum]) -> int:
    """How many the side holds there that holds more."""
    numbers = parts.numbers or frozenset()
    return max(sum(side[part].rows for part in numbers if part in side) for side in sides)


def lacking(copy: Mapping[int, KeySum], source: Mapping[int, KeySum]) -> int:
    """The least number of the copy's keys that the source lacks, by the counts of the parts."""
    return sum(max(0, held.rows - _rows(source.get(part))) for part, held in copy.items())


def _rows(found: KeySum | None) -> int:
    return found.rows if found else 0


def summed(places: Iterable[tuple[int, int]], shift: int) -> dict[int, KeySum]:
    """Places and hashes, by part: for a side that counts in Python."""
    sums: dict[int, tuple[int, int]] = {}
    for place, hashed in places:
        rows, digest = sums.get(place >> shift, (0, 0))
        sums[place >> shift] = rows + 1, digest + hashed
    return {part: KeySum(*found) for part, found in sums.items()}
