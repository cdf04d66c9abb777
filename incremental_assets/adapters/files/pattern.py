"""The files below a folder whose paths fit a pattern: `*`, `?` and `[…]` within a name, `**` for any folders. A name that begins with a dot fits where the pattern says so."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

ANY_FOLDERS = "**"
_FOLDERS = 1024
_MAGIC = re.compile(r"[*?[]")


class Found(NamedTuple):
    """What fits in one folder."""

    paths: list[str]
    """Below the folder where the pattern begins. Not only files: nothing is asked yet of any of them."""
    names: Sequence[str]
    """All that lies there."""


def tag_of(inode: int, written: int) -> str:
    """Of a file on a disk; `written`: when its content was, in nanoseconds."""
    return f"{inode}-{written}"


def fixed(pattern: str) -> str:
    """The folders with which every path begins that fits."""
    folders = pattern.split("/")[:-1]
    known = (n for n, each in enumerate(folders) if each == ANY_FOLDERS or _MAGIC.search(each))
    return "/".join(folders[: next(known, len(folders))])


def fitting(pattern: str) -> Callable[[str], bool]:
    """Whether a path fits, as `found` finds it. Many files lie in one folder, of which it is known once."""
    *folders, name = pattern.split("/")
    segments = [None if each == ANY_FOLDERS else _fitting(each) for each in folders]

    def fits(names: Sequence[str], place: int) -> bool:
        if place == len(segments):
            return not names
        segment = segments[place]
        if segment is not None:
            return bool(names) and segment(names[0]) and fits(names[1:], place + 1)
        return fits(names, place + 1) or (bool(names) and not names[0].startswith(".") and fits(names[1:], place))

    @lru_cache(_FOLDERS)
    def has(folder: str, slash: str) -> bool:
        return fits(folder.split("/") if slash else (), 0)

    named = _fitting(name)

    def is_fit(path: str) -> bool:
        folder, slash, last = path.rpartition("/")
        return named(last) and has(folder, slash)

    return is_fit


def found(folder: str, pattern: str) -> Iterator[Found]:
    """Each path once, in any order. What goes while they are listed is left out. Raises OSError for a folder that is not there, or may not be listed."""
    Path(folder).stat()
    segments = tuple(pattern.split("/"))
    if segments.count(ANY_FOLDERS) < 2:
        yield from _within(folder, "", segments, ())
        return
    seen: set[str] = set()
    for each in _within(folder, "", segments, ()):
        new = [path for path in each.paths if path not in seen]
        seen.update(new)
        yield each._replace(paths=new)


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
        for name in _folders(here, lambda name: not name.startswith(".")):
            yield from _within(root, _below(below, name), segments, inside)
    elif rest:
        # A name is looked up where it is known, among however many.
        for name in _folders(here, _fitting(segment)) if _MAGIC.search(segment) else [segment]:
            yield from _within(root, _below(below, name), rest, above)
    else:
        yield from _files(here, below, _fitting(segment))


def _files(here: Path, below: str, fits: Callable[[str], bool]) -> Iterator[Found]:
    try:
        names = os.listdir(here)  # noqa: PTH208 - of a million names the path of each would take as long as the list
    except (FileNotFoundError, NotADirectoryError):
        return
    prefix = _below(below, "")
    yield Found([prefix + name for name in names if fits(name)], names)


def _folders(here: Path, fits: Callable[[str], bool]) -> list[str]:
    """Of a folder that has gone since, or is none, nothing."""
    try:
        with os.scandir(here) as listed:
            return sorted(entry.name for entry in listed if fits(entry.name) and entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _fitting(segment: str) -> Callable[[str], bool]:
    matches = re.compile(fnmatch.translate(segment)).match
    hidden = segment.startswith(".")
    return lambda name: matches(name) is not None and (hidden or not name.startswith("."))
