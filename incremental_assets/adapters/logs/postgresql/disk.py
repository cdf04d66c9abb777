"""A disk that takes nothing more: the slot or the segments keep the log meanwhile, so that nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incremental_assets.core.errors import LakeRefused

IN_SOURCE = "the next sync reads it again: until then the source keeps it for the slot"
IN_SEGMENTS = "the next sync lands it from its segments, which keep it"


@contextmanager
def written_to(folder: Path, kept: str = IN_SOURCE) -> Iterator[None]:
    """Whatever the disk of this folder refuses inside. Raises LakeRefused, which tells where the range is kept."""
    try:
        yield
    except OSError as error:
        raise LakeRefused(
            f"{folder}: a range of the log could not be written there ({error.strerror or error}); make room or give access, and {kept}"
        ) from None
