"""The files of a folder in a store, by the keys of its objects. A store has no folders: what one would have is what keys begin with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from incremental_assets.adapters.files import objects, pattern
from incremental_assets.adapters.files.objects import Bucket
from incremental_assets.core.config.files_settings import Files
from incremental_assets.core.model.table_id import TableId

_NANO = 1_000_000_000
_ASKED_AT_ONCE = 16


def found(folder: str, files: Files, table: TableId) -> Iterator[pattern.Found]:
    """Each file whose path fits, in any order. Raises SourceRefused, SourceUnreachable, SetupError."""
    import obstore

    bucket, fits = Bucket.of(folder), pattern.fitting(files.path)
    seen, empty = _Seen(), list[pattern.Found]()
    with objects.listing(table, folder):
        for page in obstore.list(bucket.client, bucket.key(pattern.fixed(files.path)) or None):
            for each in page:
                path = each["path"].removeprefix(bucket.prefix)
                if files.marker:
                    seen.beside(path)
                if fits(path) and not files.marks(path):
                    (seen.files if each["size"] else empty).append(_file(path, each))
        seen.files += _that_are_files(bucket, empty)
    return seen.all()


@dataclass
class _Seen:
    """What lies beside a file may come later in a listing."""

    files: list[pattern.Found] = field(default_factory=list)
    names: dict[str, set[str]] = field(default_factory=dict)

    def beside(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self.names.setdefault(folder, set()).add(name)

    def all(self) -> Iterator[pattern.Found]:
        names = {folder: frozenset(each) for folder, each in self.names.items()}
        for each in self.files:
            yield each._replace(names=names[each.path.rpartition("/")[0]]) if names else each


def _file(path: str, told: Any) -> pattern.Found:
    touched = int(told["last_modified"].timestamp()) * _NANO
    return pattern.Found(path, told["size"], objects.tag_of(told), touched, frozenset())


def _that_are_files(bucket: Bucket, empty: Sequence[pattern.Found]) -> list[pattern.Found]:
    """Without what some programs put for a folder: its key ends with a slash, which a listing does not show. Each has to be asked for."""
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
        is_file = pool.map(partial(_is_file, bucket), empty)
        return [each for each, found in zip(empty, is_file, strict=True) if found]


def _is_file(bucket: Bucket, empty: pattern.Found) -> bool:
    import obstore

    try:
        obstore.head(bucket.client, bucket.key(empty.path))
    except FileNotFoundError:
        return False
    return True
