"""The files below a folder whose paths fit a pattern: `*`, `?` and `[…]` within a name, `**` for any folders. A name that begins with a dot fits where the pattern says so."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG

ANY_FOLDERS = "**"
_MAGIC = re.compile(r"[*?[]")


@dataclass(frozen=True, slots=True)
class Found:
    """A file, and what the folder says of it."""

    path: str
    """Below the folder."""
    size: int
    inode: int
    written: int
    """When its content was, in nanoseconds."""
    touched: int
    """When anything of it was, which nobody sets: also when it came under this name."""
    names: frozenset[str]
    """All that lies beside it."""


def found(folder: str, pattern: str) -> Iterator[Found]:
    """Each file once, in any order. What goes while they are listed is left out. Raises OSError for a folder that is not there, or may not be listed."""
    Path(folder).stat()
    segments = tuple(pattern.split("/"))
    if segments.count(ANY_FOLDERS) < 2:
        yield from _within(folder, "", segments, ())
        return
    seen: set[str] = set()
    for each in _within(folder, "", segments, ()):
        if each.path not in seen:
            seen.add(each.path)
            yield each


def _within(root: str, below: str, segments: tuple[str, ...], above: tuple[tuple[int, int], ...]) -> Iterator[Found]:
    segment, rest = segments[0], segments[1:]
    here = Path(root, below)
    if segment == ANY_FOLDERS:
        try:
            status = here.stat()
        except FileNotFoundError:
            return
        if (status.st_dev, status.st_ino) in above:
            # A link that leads back to where it lies.
            return
        yield from _within(root, below, rest, above)
        inside = (*above, (status.st_dev, status.st_ino))
        for name in _names(here, lambda name: not name.startswith(".")):
            if _is_folder(here / name):
                yield from _within(root, _below(below, name), segments, inside)
    elif rest:
        names = [segment] if not _MAGIC.search(segment) else _names(here, _fitting(segment))
        for name in names:
            if _is_folder(here / name):
                yield from _within(root, _below(below, name), rest, above)
    else:
        yield from _files(here, below, _fitting(segment))


def _files(here: Path, below: str, fits: Callable[[str], bool]) -> Iterator[Found]:
    try:
        with os.scandir(here) as listed:
            entries = list(listed)
    except FileNotFoundError:
        return
    names = frozenset(entry.name for entry in entries)
    for entry in entries:
        if not fits(entry.name):
            continue
        try:
            status = entry.stat()
        except FileNotFoundError:
            # It has gone since, or is a link to what is not there.
            continue
        if S_ISREG(status.st_mode):
            path = _below(below, entry.name)
            yield Found(path, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, names)


def _names(here: Path, fits: Callable[[str], bool]) -> list[str]:
    try:
        return sorted(filter(fits, (each.name for each in here.iterdir())))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_folder(path: Path) -> bool:
    try:
        return S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _fitting(segment: str) -> Callable[[str], bool]:
    matches = re.compile(fnmatch.translate(segment)).match
    hidden = segment.startswith(".")
    return lambda name: matches(name) is not None and (hidden or not name.startswith("."))
