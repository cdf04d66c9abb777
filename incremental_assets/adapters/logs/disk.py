"""A disk that takes nothing more, or does not give back what it took: the slot or the segments keep the log meanwhile, so that nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.cures import LOAD_AGAIN

IN_SOURCE = "the next sync reads it again: until then the source keeps it for the slot"
RESTORE = (
    f"restore it from a backup of the lake, or load the tables that have not landed it yet again with {LOAD_AGAIN}, as the source has given "
    "up that part of its log"
)
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


@contextmanager
def read_from(path: Path) -> Iterator[None]:
    """A file or folder that may be missing, which is left to the caller. Raises LakeRefused where it is there and cannot be read, as where a folder has the name of a file."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise LakeRefused(f"{path} cannot be read ({error.strerror or error}); give access, or {RESTORE}") from None
