"""Delta tables and staged batches of literal rows without Spark: a log written by hand, and the task's own function."""

from __future__ import annotations

import importlib
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.commit_file import put_if_absent
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.compaction import gathering
from incremental_assets.adapters.delta.tasks.compaction.gathering import Compacting
from incremental_assets.adapters.delta.tasks.files.unit import (
    Adding,
    Applied,
    ApplyUnit,
    Marks,
    Overwriting,
    Replacing,
    Stored,
)
from incremental_assets.adapters.delta.tasks.matching import copy_task, share_task
from incremental_assets.adapters.delta.tasks.matching.applied import copies, together
from incremental_assets.adapters.delta.tasks.matching.apply_task import apply
from incremental_assets.adapters.delta.tasks.matching.sharing import shares
from incremental_assets.adapters.spark.arrow_types import arrow_type
from incremental_assets.adapters.spark.manifest import record
from incremental_assets.adapters.spark.own_names import AT, DELETED_AT, LATE, OPERATION, REJECT_REASON, RUN_ID, SEQ
from incremental_assets.core.model.compaction import How as Gathering
from incremental_assets.core.model.schema_drift import delta_type
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import CommitIds

_STAGED_GROUP = 3
"""Rows of a batch, so that few of them have many row groups."""
_MOST_GROUPS = 32
"""Of a batch of many rows: thousands of groups take seconds to read and show nothing more."""

Row = tuple[Any, ...]
How = Replacing | Adding | Overwriting

TABLE = TableId("shop", "public", "orders")
OWN = (Stored(RUN_ID, "string"), Stored(SEQ, "bigint"), Stored(AT, "timestamp"))
GONE = Stored(DELETED_AT, "timestamp")
_PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors", "timestampNtz"],
    "writerFeatures": ["deletionVectors", "timestampNtz", "appendOnly", "invariants"],
}


@dataclass
class _Here:
    """Tasks in this process."""

    meanwhile: Callable[[], object]

    def run_all(self, module: str, units: Sequence[Any]) -> list[Any]:
        done = [importlib.import_module(module).apply(unit) for unit in units]
        self.meanwhile()
        return done


@dataclass
class Table:
    """One table and the sequence of its batches. `ddl`: `id bigint, note string`; `flags`: it can say of a row that it is gone; `marks`: by vectors, else its files are written anew."""

    folder: Path
    ddl: str
    properties: Mapping[str, str] = field(default_factory=dict)
    seq: int = 0
    flags: bool = False
    marks: bool = True

    def __post_init__(self) -> None:
        pairs = [part.rsplit(" ", 1) for part in self.ddl.split(", ")]
        self.columns = tuple(Stored(name, kind) for name, kind in pairs)
        self.path = self.folder / "table"
        if not self.path.exists():
            self._create()

    def _create(self) -> None:
        (self.path / "_delta_log").mkdir(parents=True)
        fields = [
            {"name": each.name, "type": delta_type(each.type), "nullable": True, "metadata": {}}
            for each in (*self.columns, *OWN, *([GONE] if self.flags else []))
        ]
        metadata = {
            "id": "5e0f6f0e-0000-4000-8000-000000000001",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [],
            "configuration": {"delta.enableDeletionVectors": str(self.marks).lower(), **self.properties},
            "createdTime": 0,
        }
        assert put_if_absent(str(self.path), 0, [{"protocol": _PROTOCOL}, {"metaData": metadata}])

    @property
    def version(self) -> int:
        """The last one."""
        return max(int(path.stem) for path in (self.path / "_delta_log").glob("*.json"))

    @property
    def state(self) -> LogState:
        """Replayed from the log."""
        return log_cache.at(str(self.path), self.version)

    def stage(self, rows: Sequence[Row], gone: Sequence[Row] = (), unfit: Sequence[Row] = ()) -> Path:
        """A staged batch as Spark would have written it; `gone` and `unfit` are rows whose keys leave."""
        folder = self.folder / f"staged-{self.seq}-{time.monotonic_ns()}"
        folder.mkdir()
        every = [*rows, *gone, *unfit]
        arrays = [
            pa.array([row[place] for row in every], arrow_type(each.type)) for place, each in enumerate(self.columns)
        ]
        puts = ["put"] * len(rows) + ["gone"] * (len(every) - len(rows))
        reasons = [None] * (len(rows) + len(gone)) + ["it cannot land"] * len(unfit)
        own = {
            LATE: pa.array([False] * len(every)),
            OPERATION: pa.array(puts, pa.string()),
            REJECT_REASON: pa.array(reasons, pa.string()),
        }
        names = [*(f"c{place}" for place in range(len(self.columns))), *own]
        group = max(_STAGED_GROUP, -(-len(every) // _MOST_GROUPS))
        pq.write_table(pa.table([*arrays, *own.values()], names=names), folder / "part-0.parquet", row_group_size=group)
        record(str(folder))
        return folder

    def unit(self, how: How, staged: Path, state: LogState, **more: Any) -> ApplyUnit:
        """What a task is given."""
        statistics = tuple(each.name for each in (*self.columns, *OWN))
        gone = GONE if self.flags else None
        marks = Marks(f"run-{self.seq}", self.seq, 1_700_000_000_000_000, OWN, gone)
        files = tuple(state.files.values())
        anew = () if self.marks else (*self.columns, *marks.stored)
        return ApplyUnit(str(self.path), str(staged), self.columns, marks, how, files, statistics, anew=anew, **more)

    def land(
        self, how: How, rows: Sequence[Row], gone: Sequence[Row] = (), unfit: Sequence[Row] = (), **more: Any
    ) -> Applied:
        """Apply and commit one batch, in one task."""
        self.seq += 1
        state = self.state
        done = apply(self.unit(how, self.stage(rows, gone, unfit), state, **more))
        self.commit(state.version + 1, done)
        return done

    def land_shared(
        self, how: How, rows: Sequence[Row], gone: Sequence[Row] = (), unfit: Sequence[Row] = ()
    ) -> Applied:
        """The same, in as many tasks as the batch has row groups."""
        self.seq += 1
        state = self.state
        unit = self.unit(how, self.stage(rows, gone, unfit), state)
        found = [share_task.apply(each) for each in shares(unit, len(rows) + len(gone) + len(unfit))]
        done = together(unit, found, [copy_task.apply(each) for each in copies(unit, found)])
        self.commit(state.version + 1, done)
        return done

    def compact(self, how: Gathering, meanwhile: Callable[[], object] = lambda: None) -> int:
        """As a commit of our own, whose tasks are played here; its version. `meanwhile`: what another writer does before it."""
        commit_ids = CommitIds("test", self.seq, uuid.uuid4().hex)
        note = CommitMetadata.of_maintenance(commit_ids, "care", None, self.version)
        tasks: Any = _Here(meanwhile)
        gathering.compact(tasks, Compacting(TABLE, str(self.path), self.version, how, note, (self.columns[0].name,)))
        return self.version

    def commit(self, version: int, done: Applied) -> None:
        """One commit, which nobody else has made."""
        info = {"timestamp": 1, "operation": "WRITE", "operationParameters": {"mode": "Append"}, "engineInfo": "test"}
        sequence = {"appId": "test", "version": self.seq, "lastUpdated": 1}
        assert put_if_absent(str(self.path), version, [{"commitInfo": info}, {"txn": sequence}, *done.actions])

    def rows(self) -> list[Row]:
        """The source's columns of every live row, as delta-rs reads them, ordered by their texts."""
        return sorted(self.read(), key=repr)

    def read(self) -> list[Row]:
        """Unordered."""
        listed = ", ".join('"' + each.name.replace('"', '""') + '"' for each in self.columns)
        found = QueryBuilder().register("t", DeltaTable(self.path)).execute(f"SELECT {listed} FROM t").read_all()
        return [tuple(row.values()) for row in pa.table(found).to_pylist()] if found.num_rows else []

    def read_flagged(self) -> list[tuple[Row, bool]]:
        """The same rows, and which of them are marked as gone."""
        listed = ", ".join(f'"{each.name}"' for each in self.columns)
        found = QueryBuilder().register("t", DeltaTable(self.path))
        rows = pa.table(found.execute(f'SELECT {listed}, "{DELETED_AT}" IS NOT NULL AS gone FROM t').read_all())
        return [(tuple(row.values())[:-1], row["gone"]) for row in rows.to_pylist()]

    def files(self) -> set[str]:
        """Names of what lies in the table's folder."""
        return {path.name for path in self.path.iterdir() if path.is_file()}
