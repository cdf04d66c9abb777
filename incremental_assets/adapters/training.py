"""The training run for the class-data archive: literal rows pass through the adapters as a sync would send them, into a temporary lake."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from incremental_assets.adapters.databases.registry import java_packages
from incremental_assets.adapters.databases.spark_source import SparkSnapshot
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.delta.staging.stage import ParquetStage
from incremental_assets.adapters.spark.cds_archive import DRIVER_OPTIONS, QUIET, spark_home
from incremental_assets.adapters.spark.expressions import quoted
from incremental_assets.adapters.spark.jars import verified_jars
from incremental_assets.adapters.spark.session import SparkSettings, Work, open_session
from incremental_assets.adapters.spark.staged import FLAGS
from incremental_assets.core.captures.capture import Read
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, SyncPlan
from incremental_assets.core.strategies import Strategy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP = "00000000-0000-4000-8000-000000000000"
NAMED = (
    *((package, f"{package.replace('.', '/')}/") for package in java_packages()),
    ("spark-sql_", "org/apache/spark/sql/execution/datasources/jdbc/"),
    ("spark-sql_", "org/apache/spark/sql/jdbc/"),
)
"""Jars and packages that only a database would make the JVM load: there is none here, so their classes are loaded by name."""
COLUMNS = (
    "id bigint",
    "at bigint",
    "note string",
    "price decimal(15,2)",
    "day date",
    "seen timestamp",
    "local timestamp_ntz",
    "size double",
    "pieces int",
    "done boolean",
    "raw binary",
)
SPEC = TableSpec(
    TableShape(
        TableId("training", "public", "orders"),
        tuple(Column(name, kind, kind, Fidelity.EXACT) for name, kind in (column.split() for column in COLUMNS)),
    ),
    Strategy.UPSERT,
    Cursor("at", CursorType.INTEGER),
    key=("id",),
)
"""A table with a key that the source does not enforce: the longest way through the engine."""
Row = tuple[Any, ...]


def train(session: SparkSession, lake: str) -> None:
    """The three kinds of commit, and what is asked of a table; more strategies and more tables would add one class in a hundred."""
    load_by_name(session)
    session.sparkContext.parallelize(range(2), 2).mapPartitions(list).collect()  # as `adapters/spark/tasks.py` asks
    table = Table(session, lake)
    table.land(_rows(1, 2, 3))
    # One is there already, two have changed, one is new and comes twice, one has no key and goes to quarantine.
    table.land([*_rows(1), *_rows(2, 3, moved=1), *_rows(4, 4), (None, *_rows(5)[0][1:])])
    table.ask()
    table.land(_rows(1, 2), Mode.FULL_REFRESH)


@dataclass
class Table:
    """One table of the lake, on its way through a few syncs."""

    session: SparkSession
    lake: str
    previous: State | None = None
    sequence: int = 0

    def land(self, rows: Sequence[Row], mode: Mode = Mode.SYNC) -> None:
        """Stage and apply, as `sync_table` does."""
        planned, shown = self._plan(mode), self._shown(rows)
        stage = ParquetStage(self.lake, lambda: self.session)
        batch = stage.write(planned, shown)
        state = landed_state(planned, Read(shown.rows, shown))
        self._lake().apply(planned, batch, state)
        stage.discard(SPEC.id, batch.batch_id)
        self.previous = state

    def ask(self) -> None:
        """What checks ask."""
        second = CursorValue(CursorType.INTEGER, "2")
        self._lake().measure(SPEC, [Window(None, second), Window(second, None)])()
        self._lake().duplicates(SPEC)

    def _plan(self, mode: Mode) -> SyncPlan:
        self.sequence += 1
        commit_ids = CommitIds(APP, self.sequence, f"batch{self.sequence}")
        observation = DatabaseObservation(Bound(datetime.now(UTC), None, "", None, "", "UTC", None))
        found = plan(SPEC, Request("training", mode), self.previous, commit_ids, observation)
        if not isinstance(found, SyncPlan):
            raise TypeError(f"a training run always has something to do: {found.reason}")
        return found

    def _shown(self, rows: Sequence[Row]) -> SparkSnapshot:
        schema = ", ".join(f"{quoted(found.name)} {found.spark_type}" for found in SPEC.columns)
        flags = f"{FLAGS[0]} string, {FLAGS[1]} string, {FLAGS[2]} string, {FLAGS[3]} boolean"
        frame = self.session.createDataFrame([(*row, None, None, None, False) for row in rows], f"{schema}, {flags}")
        highest = CursorValue(CursorType.INTEGER, str(max(row[1] for row in rows)))
        return SparkSnapshot(len(rows), 0, 0, highest, None, "", None, None, lambda: frame)

    def _lake(self) -> DeltaLake:
        return DeltaLake(self.lake, lambda: self.session)


def load_by_name(session: SparkSession) -> None:
    """Load the classes of `NAMED`; those that want a library that is not there stay away, as they do at every start."""
    from py4j.protocol import Py4JJavaError

    java: Any = session._jvm
    initialize, loader = False, java.java.lang.ClassLoader.getSystemClassLoader()
    for name in _named([*verified_jars(), *(spark_home() / "jars").glob("spark-sql_*.jar")]):
        try:
            java.java.lang.Class.forName(name, initialize, loader)
        except Py4JJavaError:
            continue


def _named(jars: Iterable[Path]) -> Iterator[str]:
    for jar in jars:
        packages = tuple(package for beginning, package in NAMED if beginning in jar.name)
        with ZipFile(jar) as content:
            files = [file for file in content.namelist() if file.startswith(packages) and file.endswith(".class")]
        yield from (file.removesuffix(".class").replace("/", ".") for file in files)


def _rows(*keys: int, moved: int = 0) -> list[Row]:
    moment = datetime(2026, 1, 1, 12, 30)  # noqa: DTZ001 - one column of the two takes no zone
    day, price = date(2026, 1, 1), Decimal("1.25")
    return [
        (key, key + moved, f"row {key}", price, day, moment.replace(tzinfo=UTC), moment, 0.5, moved, True, b"\x00")
        for key in keys
    ]


def main(dump: str) -> None:
    """One session of its own that writes its classes to a file when its JVM ends, which is awaited."""
    from pyspark import SparkContext

    options = f'{QUIET} "-XX:ArchiveClassesAtExit={dump}"'
    session = open_session(SparkSettings(work=Work.TICK, conf=((DRIVER_OPTIONS, options),)))
    with tempfile.TemporaryDirectory() as folder:
        train(session, folder)
        session.stop()
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    if gateway.proc.wait() != 0:
        sys.exit(f"the JVM ended with {gateway.proc.returncode}")


if __name__ == "__main__":
    main(*sys.argv[1:])
