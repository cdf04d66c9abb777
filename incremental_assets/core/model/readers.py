"""Which readers a copy is made for."""

import re
from enum import StrEnum

_MAPPED = re.compile(r"[ ,;{}()\n\t=]")
"""Delta takes names with these only under column mapping."""


class Readers(StrEnum):
    """What a reader of a copy has to know."""

    VECTORS = "vectors"
    """Rows may be marked as gone in their files, which costs a sync least."""
    ANY = "any"
    """Nothing beside files and columns: files with rows that change are written anew, and no name needs a mapping."""


def needs_mapping(name: str) -> bool:
    """Whether a copy has a column of this name only where its readers know which files call it what."""
    return _MAPPED.search(name) is not None
