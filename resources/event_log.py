"""Dagster's event log in SQLite, with connections that are kept: its own opens the file again for every event, and compiles the statement again.

Named in dagster.yaml; the files are where Dagster's own storage has them, and either reads what the other wrote.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dagster import EventLogEntry, StringSource
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.event import listen
from sqlalchemy.pool import QueuePool

_FOLDER = ("history", "runs")
"""The folders below `home`, as Dagster places them."""
_KEPT = 4
"""Files that stay open: the index of all runs, and those of the last runs."""
_BUSY_SECONDS = 5

_File = tuple[int, int]


class KeptSqliteEventLogStorage(SqliteEventLogStorage):
    """The same storage, for the processes of one instance."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: OrderedDict[str, tuple[_File, Engine]] = OrderedDict()
        self._tables: set[str] = set()
        super().__init__(base_dir, inst_data)

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """`home`: where the instance stores."""
        return {"home": StringSource}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> KeptSqliteEventLogStorage:
        """Dagster's way to open it."""
        return cls(os.path.join(config_value["home"], *_FOLDER), inst_data)  # noqa: PTH118 - Dagster takes text

    def has_table(self, table_name: str) -> bool:
        """Asked before each materialization is stored; one that is there stays."""
        # Dagster looks into the file as it is, whose maker may have been interrupted: a connection completes it. A process that holds one has done so.
        if INDEX_SHARD_NAME not in self._initialized_dbs:
            with self.index_connection():
                pass
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def store_event(self, event: EventLogEntry) -> None:
        """Store the event, and touch the file so that watchers of the run see it."""
        super().store_event(event)
        # They watch the file, and what is new lies beside it for as long as the file is open.
        os.utime(self.path_for_shard(event.run_id))

    def dispose(self) -> None:
        """Close the files."""
        with self._db_lock:
            while self._engines:
                self._engines.popitem()[1][1].dispose()
        super().dispose()

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engine(shard)
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
                self._remember(shard, engine)
            with engine.connect() as connection, connection.begin():
                yield connection

    def _engine(self, shard: str) -> Engine:
        """The one that is kept, unless its file has been replaced or removed since."""
        kept = self._engines.pop(shard, None)
        if kept is not None:
            if kept[0] == self._file(shard):
                self._engines[shard] = kept
                return kept[1]
            kept[1].dispose()
            self._initialized_dbs.discard(shard)
        engine = create_engine(
            self.conn_string_for_shard(shard),
            # One connection is used at a time, under the lock, by whichever thread.
            poolclass=QueuePool,
            pool_size=1,
            connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False},
        )
        listen(engine, "connect", _unhurried)
        if shard in self._initialized_dbs:
            self._remember(shard, engine)
        return engine

    def _remember(self, shard: str, engine: Engine) -> None:
        file = self._file(shard)
        if file is None:
            return
        self._engines[shard] = (file, engine)
        while len(self._engines) > _KEPT:
            self._engines.popitem(last=False)[1][1].dispose()

    def _file(self, shard: str) -> _File | None:
        try:
            status = os.stat(self.path_for_shard(shard))  # noqa: PTH116 - Dagster gives text
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino


def _unhurried(connection: Any, _: Any) -> None:
    """Settings under which no event waits for the disk: after a power cut the last events of a run may be missing, and never what landed.

    Dagster asks for the log of changes (WAL) too, after it has made the tables of a new run, each of which it would then have on disk first.
    """
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
