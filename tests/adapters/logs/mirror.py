"""A copy in memory that is made by plans, reads and positions as the product's are: what a lake would hold, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import pyarrow as pa

from incremental_assets import load
from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.adapters.logs.logged_source import LoggedBySource
from incremental_assets.adapters.logs.mysql.source_log import SourceLog
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_REASON
from incremental_assets.core.captures.capture import Read
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.config.database_settings import LogTerms
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request
from incremental_assets.resources.runtime import Runtime
from tests.conformance.worlds import MariaWorld
from tests.shop import PASSWORD


@dataclass
class Mirror:
    """Of one table of a world. `log` reads the binlog for all mirrors that share a folder."""

    world: MariaWorld
    spec: TableSpec
    log: SourceLog
    state: State | None = None
    rows: dict[tuple[Any, ...], tuple[Any, ...]] = field(default_factory=dict)
    rejected: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, world: MariaWorld, name: str = "orders", **options: Any) -> Mirror:
        """As the configuration says it. `options`: of the log."""
        with_no_spark: Any = None
        runtime = Runtime(load(world.config), with_no_spark)
        found = runtime.specs("shop")
        specs = [spec for spec in found.specs if spec.id.name == name]
        assert specs, [str(problem.error) for problem in found.problems]
        runtime.close()
        return cls(world, specs[0], SourceLog(address_of(world), LogTerms(), world.folder / "_log", **options))

    def sync(self, *, again: bool = False, allow_shrink: bool = False) -> str:
        """Read, and then keep rows and position as one. What it was: `load`, `changes` or `idle`. Raises what a sync does."""
        source = LoggedBySource(self.log)
        probe = source.probe("shop")
        (seen,) = probe.observe([ObserveRequest(self.spec, self.state)])
        seq = self.state.seq + 1 if self.state else 1
        request = Request("run", Mode.FULL_REFRESH if again else Mode.SYNC, allow_shrink=allow_shrink)
        found = plan(self.spec, request, self.state, CommitIds("app", seq, str(seq)), seen)
        if isinstance(found, NothingToDo):
            return "idle"
        inner = SparkSource(probe, self.log.address, _no_spark)
        with source.source(inner, self._copied, _nothing, _nothing).snapshot(found) as taken:
            rows = dict[Any, Any]() if found.reading.is_whole else dict(self.rows)
            for part in taken.parts or ():
                for batch in part.batches():
                    self._apply(rows, batch)
            # Nothing is kept before all of it was read.
            self.state = capture_of(self.spec).landed(found, Read(taken.rows, taken))
            self.rows = rows
        return "load" if found.reading.is_whole else "changes"

    def truth(self) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        """The table, read as a load reads it."""
        return loaded(Mirror(self.world, self.spec, replace(self.log, folder=self.log.folder.with_name("_truth"))))

    @property
    def at(self) -> LogPosition:
        """Where it is in the log."""
        assert self.state is not None
        assert isinstance(self.state.position, LogPosition)
        return self.state.position

    def _apply(self, rows: dict[tuple[Any, ...], tuple[Any, ...]], batch: pa.Table) -> None:
        names = [each.name for each in self.spec.columns]
        # Bits, not what Python can hold: a moment is a number.
        values = [bits(batch.column(f"c{place}")) for place in range(len(names))]
        keys = [names.index(name) for name in self.spec.key]
        reasons = batch.column(REJECT_REASON).to_pylist()
        does = batch.column(OPERATION).to_pylist() if OPERATION in batch.column_names else ["put"] * len(batch)
        for row, reason, what in zip(zip(*values, strict=True), reasons, does, strict=True):
            key = tuple(row[place] for place in keys)
            if reason is not None:
                self.rejected.append((str(key[0]), reason))
            if what == "put" and reason is None:
                rows[key] = row
            else:
                rows.pop(key, None)

    def _copied(self, spec: TableSpec, names: Sequence[str], keys: pa.Table | None) -> pa.Table:
        assert keys is None
        places = [[each.name for each in spec.columns].index(name) for name in names]
        kinds = [required_type(spec.columns[place].spark_type) for place in places]
        found = [[row[place] for row in self.rows.values()] for place in places]
        return pa.table([pa.array(each, kind) for each, kind in zip(found, kinds, strict=True)], list(names))


def loaded(mirror: Mirror) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """All rows by a load."""
    mirror.sync()
    return mirror.rows


def address_of(world: MariaWorld) -> Address:
    """As the configuration of a world has it."""
    return Address(
        dialect=world.title.lower(),
        host="127.0.0.1",
        port=world.port,
        database=world.database,
        user="reader",
        password=PASSWORD,
        tls="disable",
    )


def bits(column: pa.ChunkedArray) -> list[Any]:
    """Values such that two are equal where they are so bit for bit: -0.0 is not 0.0."""
    if pa.types.is_floating(column.type):
        return [None if value is None else value.hex() for value in column.to_pylist()]
    if pa.types.is_temporal(column.type):
        return list(column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64()).to_pylist())
    return list(column.to_pylist())


def _no_spark() -> NoReturn:
    raise AssertionError("Spark was asked for")


def _nothing(*_: Any) -> pa.Table:
    return pa.table({})
