"""What the folders of a table in a lake hold: every file below them, of every version that is still there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from incremental_assets.adapters.erasure import delta_log, parquet
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.adapters.logs.segments.manifest import FILE
from incremental_assets.core.model.erasure import Holds, Place
from incremental_assets.core.model.subject import Subject
from incremental_assets.core.model.table_id import TableId

Look = tuple[Place, str, frozenset[Holds]]
"""One file, and how it holds something."""

_LOG = "/_delta_log/"


def of_table(
    store: LakeStore,
    folder: str,
    subjects: tuple[Subject, ...],
    places: tuple[Place, Place],
    source_names: Mapping[str, str] = delta_log.NO_NAMES,
) -> Iterator[Look]:
    """Of a Delta table, its data files and its log, which are the two places. `source_names`: of columns that may have had the source's name in it."""
    files, log = places
    keys = _keys(store, folder)
    logged = [key for key in keys if _LOG in key[len(folder) :]]
    key = [name for name, _ in subjects[0].key]
    names = delta_log.names_in(chain.from_iterable(_actions(store, each) for each in logged), key, source_names)
    search = Search(subjects, names)
    for each in keys:
        is_log = _LOG in each[len(folder) :]
        yield (
            log if is_log else files,
            each,
            _of_log(store.read(each), each, search) if is_log else of_file(store.read(each), search),
        )


def search_of(
    metadata: delta_log.Action, subjects: tuple[Subject, ...], source_names: Mapping[str, str] = delta_log.NO_NAMES
) -> Search:
    """Of the files of a table whose columns are these."""
    key = [name for name, _ in subjects[0].key]
    return Search(subjects, delta_log.names_in([{"metaData": metadata}], key, source_names))


def of_folder(store: LakeStore, folder: str, search: Search, place: Place) -> Iterator[Look]:
    """Of a folder of files."""
    for each in _keys(store, folder):
        yield place, each, of_file(store.read(each), search)


def of_segments(store: LakeStore, folder: str, table: TableId, search: Search) -> Iterator[Look]:
    """Of the folder of a source's log: pieces of the table by its key, those of other tables as texts."""
    keys = _keys(store, folder)
    others = set[str]()
    for each in keys:
        if each.endswith(f"/{FILE}"):
            others.update(f"{each.removesuffix(FILE)}{name}" for name in _of_others(store.read(each), table))
    apart = replace(search, keyed=False)
    for each in keys:
        yield Place.SEGMENTS, each, of_file(store.read(each), apart if each in others else search)


def _of_others(manifest: bytes, table: TableId) -> Iterator[str]:
    try:
        pieces = json.loads(manifest)["pieces"]
    except (ValueError, KeyError, TypeError):
        return
    yield from (each["file"]["name"] for each in pieces if (each["schema"], each["name"]) != (table.schema, table.name))


def of_file(data: bytes, search: Search) -> frozenset[Holds]:
    """Of any file: of Parquet all that is in it, of others their bytes."""
    if data[:4] == parquet.MAGIC:
        return parquet.held(data, search)
    return frozenset({Holds.TEXT}) if search.texts.search(data) else frozenset()


def _of_log(data: bytes, key: str, search: Search) -> frozenset[Holds]:
    name = key.rpartition("/")[2]
    if data[:4] == parquet.MAGIC:
        return delta_log.of_checkpoint(data, search)
    if ".json" in name and not name.endswith(".crc"):
        # Also what a writer that died has left, under another name.
        return delta_log.of_commit(data, search)
    if name.endswith(".crc") and not name.endswith((".json.crc", ".parquet.crc")) and not name.startswith("."):
        return delta_log.of_checksum(data, search)
    return of_file(data, search)


def _keys(store: LakeStore, folder: str) -> list[str]:
    return sorted(f"{folder}/{name}" for name, _ in store.files_in(folder))


def _actions(store: LakeStore, key: str) -> Iterator[delta_log.Action]:
    if ".checkpoint" in key and key.endswith(".parquet"):
        yield from delta_log.actions_in(store.read(key))
    elif key.endswith(".json"):
        yield from delta_log.commit_actions(store.read(key))
