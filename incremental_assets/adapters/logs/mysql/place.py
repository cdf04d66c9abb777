"""Places in a binlog as the numbers that positions are: a file and an offset, which grow together for as long as nobody resets the log."""

from __future__ import annotations

import re
from dataclasses import dataclass

from incremental_assets.core.errors import SourceRefused

_FILE = re.compile(r"(.*)\.(\d+)")
_TURNS, _FILES = 1 << 7, 1 << 24


@dataclass(frozen=True, slots=True)
class Place:
    """`turn` counts how often the log was begun anew here: a place of a later turn lies behind each of an earlier one."""

    turn: int
    file: int
    offset: int

    @classmethod
    def of(cls, position: int) -> Place:
        """From a number."""
        return cls(position >> 56, (position >> 32) % _FILES, position % (1 << 32))

    @property
    def position(self) -> int:
        """As a number."""
        return (self.turn << 56) | (self.file << 32) | self.offset


def place_of(turn: int, name: str, offset: int) -> Place:
    """From the name of a file. Raises SourceRefused where no number can be made of it."""
    found = _FILE.fullmatch(name)
    number = int(found[2]) if found else _FILES
    if turn >= _TURNS or number >= _FILES or offset >= 1 << 32:
        raise SourceRefused(
            f"the place {name}:{offset} of the binlog is beyond what can be kept here; write a cursor in place of `capture`"
        )
    return Place(turn, number, offset)


def file_name(like: str, number: int) -> str:
    """The name of the file of that number, beside one whose name is known."""
    base, _, digits = like.rpartition(".")
    return f"{base}.{number:0{min(len(digits), 6)}d}"
