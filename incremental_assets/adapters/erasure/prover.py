"""Looks for a person in every place that one table can have put them: a search of files alone finds nothing of what is packed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import inspect, text

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.erasure import in_files, in_lake
from incremental_assets.adapters.erasure.former import Former
from incremental_assets.adapters.erasure.in_lake import Look
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.adapters.lake_store.local import LocalStore
from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.erasure import Examined, Found, Holds, Place
from incremental_assets.core.model.paths import files_path, quarantine_path, staging_path, table_path, tombstones_path
from incremental_assets.core.model.subject import Subject
from incremental_assets.core.model.table_id import TableId


@dataclass(frozen=True)
class Grounds:
    """Where to look. `segments`: the folder of the source's log, empty where none is read; `checkpoints`: the address of the database."""

    lake: str
    table: TableId
    checkpoints: str
    home: Path
    segments: str = ""
    source_names: Mapping[str, str] = field(default_factory=dict)
    """The source's name of each column that has another one in the copy."""
    former: Former = field(default_factory=Former)
    """Where its copy lay before."""

    @property
    def store(self) -> LakeStore:
        """Of the lake. Raises LakeRefused where only Spark can reach it."""
        found = store_of(self.lake)
        if found is None:
            raise LakeRefused(
                f"{self.table}: only Spark can reach the lake {self.lake}, so that nobody can decode what is left in it; "
                "erasure needs a lake on a disk or in a store of objects"
            )
        return found


def examine(grounds: Grounds, subjects: tuple[Subject, ...]) -> Examined:
    """Every place, file by file."""
    found, looked = [], Counter[Place]()
    for place, where, how in _looks(grounds, subjects):
        looked[place] += 1
        if how:
            found.append(Found(place, where, tuple(sorted(how))))
    return Examined(tuple(found), dict(looked))


def tombstones_of(grounds: Grounds) -> str:
    """The folder of the keys that topics have deleted, of whichever topic."""
    return tombstones_path(grounds.lake, grounds.table, "-").rpartition("/")[0]


def _looks(grounds: Grounds, subjects: tuple[Subject, ...]) -> Iterator[Look]:
    store, lake, table = grounds.store, grounds.lake, grounds.table
    for folder, files, log in (
        (table_path(lake, table), Place.COPY, Place.COPY_LOG),
        (table_path(lake, table.history), Place.HISTORY, Place.HISTORY_LOG),
        (quarantine_path(lake, table), Place.QUARANTINE, Place.QUARANTINE_LOG),
    ):
        yield from in_lake.of_table(store, folder, subjects, (files, log))
    for folder in grounds.former.all:
        yield from _of_former(grounds, store, folder, subjects)
    key = [name for name, _ in subjects[0].key]
    placed = {name: frozenset({f"key{place}"}) for place, name in enumerate(key)}
    apart = Search(subjects, keyed=False)
    for folder, search, place in (
        (staging_path(lake, table), Search(subjects, None), Place.STAGED),
        (tombstones_of(grounds), Search(subjects, placed), Place.TOMBSTONES),
        (files_path(lake, table), apart, Place.LEDGER),
    ):
        yield from in_lake.of_folder(store, folder, search, place)
    if grounds.segments:
        names = {name: frozenset({grounds.source_names.get(name, name)}) for name in key}
        yield from in_lake.of_segments(LocalStore(), grounds.segments, table, Search(subjects, names))
    yield from _of_checkpoints(grounds, apart)
    yield from in_files.of_home(grounds.home, apart, table.name)
    for path in in_files.logs_of_commands():
        yield from in_files.of_path(path, apart, table.name, Place.LOGS)


def _of_former(grounds: Grounds, store: LakeStore, folder: str, subjects: tuple[Subject, ...]) -> Iterator[Look]:
    """A copy of before may have had other columns: without those of the key nobody finds a row by it."""
    names = {each.name.lower() for each in log.columns()} if (log := open_log(folder)) else set()
    sources = grounds.source_names
    if all({name.lower(), sources.get(name, name).lower()} & names for name, _ in subjects[0].key):
        yield from in_lake.of_table(store, folder, subjects, (Place.FORMER, Place.FORMER_LOG), sources)
    else:
        yield Place.FORMER, folder, frozenset({Holds.UNREADABLE})


def _of_checkpoints(grounds: Grounds, search: Search) -> Iterator[Look]:
    """Of a server only what its tables show: what deleted rows have left in its files is its own."""
    database = Database(grounds.checkpoints, writes=False)
    try:
        if database.file is not None:
            if Path(database.file).is_file():
                yield from in_files.of_database(Path(database.file), search, grounds.table.name, Place.CHECKPOINTS)
            return
        with database.transaction() as connection:
            for name in inspect(connection).get_table_names():
                quoted = connection.dialect.identifier_preparer.quote(name)
                rows = connection.execute(text(f"SELECT * FROM {quoted}")).mappings()  # noqa: S608 - a name of the database's own
                texts = ({each: str(value) for each, value in row.items() if value is not None} for row in rows)
                yield Place.CHECKPOINTS, name, in_files.of_rows(texts, search, grounds.table.name)
    finally:
        database.close()
