"""A folder into which files are dropped, and a world whose source it is: the lake is in memory, the ledger on disk."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.files.ledger import Ledger
from incremental_assets.adapters.files.probe import FilesProbe
from incremental_assets.adapters.files.source import FilesSource
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.captures.files.position import FilesPosition
from incremental_assets.core.config.files_settings import FileFormat, Files
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.file_columns import NAMES
from incremental_assets.core.model.paths import files_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.strategies import Strategy
from incremental_assets.core.syncing.sync import sync_table
from tests.fakes import Process, World
from tests.fakes.rows import own_columns
from tests.fakes.world import Watched
from tests.scenario import shop

TABLE = TableId("drop", "shop", "orders")


def files(form: FileFormat = FileFormat.CSV, path: str = "**/*", **more: Any) -> Files:
    """Those of one table, read at once unless the test says how long they settle."""
    columns = tuple((name, Coding.parse(text)) for name, text in more.pop("columns", {}).items())
    return Files("shop.orders", path, form, columns, **{"settle": timedelta(0)} | more)


ORDERS = files(columns={"id": "bigint", "status": "string"}, key=("id",))


class _Frame:
    """A snapshot whose rows are a list, as the stage of the fakes takes them."""

    def __init__(self, snapshot: Any, names: tuple[str, ...]) -> None:
        self._snapshot, self._names = snapshot, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    @property
    def frame(self) -> list[dict[str, Any]]:
        rows = []
        for row in (row for part in self._snapshot.parts for batch in part.batches() for row in batch.to_pylist()):
            shown = {name: row[f"c{place}"] for place, name in enumerate(self._names)}
            if row[REJECT_REASON] is not None:
                # What a fake takes for a value that no copy can hold.
                name = next(name for name in self._names if name not in ("id", *NAMES))
                shown[name] = f"unfit: {row[REJECT_COLUMN]}: {row[REJECT_REASON]}"
            rows.append(shown | {OPERATION: row[OPERATION]})
        return rows


@dataclass
class _Source:
    inner: FilesSource

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Any]:
        with self.inner.snapshot(plan) as snapshot:
            yield _Frame(snapshot, plan.spec.shape.names)


@dataclass
class Drop:
    """What a test has."""

    home: Path
    files: Files = ORDERS
    strategy: Strategy = Strategy.UPSERT
    config: dict[str, Any] = field(default_factory=dict)
    world: World = field(default_factory=lambda: World(shop()))

    def __post_init__(self) -> None:
        self.folder = self.home / "in"
        self.folder.mkdir(exist_ok=True)
        self.ledger = Path(files_path(str(self.home / "lake"), TABLE))

    def put(self, name: str, content: str | bytes) -> Path:
        """A file, in place of the one of that name."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        unfinished = self.home / "unfinished"
        unfinished.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        unfinished.rename(path)
        return path

    @property
    def probe(self) -> FilesProbe:
        """That of a process that has looked at nothing yet."""
        return FilesProbe(str(self.folder), "drop", {TABLE: (self.files, self.strategy)}, self._ledgers())

    @property
    def spec(self) -> TableSpec:
        """The table as its files are now."""
        (shape,) = self.probe.catalogue()
        return resolve(TableConfig("shop", "orders", self.strategy, capture="files", **self.config), shape)

    def ports(self, process: Process | None = None) -> Ports:
        process = process or self.world.process()
        source = _Source(FilesSource(str(self.folder), {TABLE: self.files}, self._ledgers(), self._copied))
        watched = {"probe": self.probe, "source": source}
        return replace(self.world.ports(process), **{name: Watched(port, process) for name, port in watched.items()})

    def sync(self, process: Process | None = None, mode: Mode = Mode.SYNC, **more: Any) -> SyncReport:
        return sync_table(self.spec, replace(self.world.request(mode), **more), self.ports(process))

    def refused(self, **more: Any) -> str:
        """What a sync says that does not land."""
        try:
            report = self.sync(**more)
        except IncrementalAssetsError as error:
            return f"{type(error).__name__}: {error}"
        raise AssertionError(report)

    def rows(self) -> list[dict[str, Any]]:
        """The copy, by file and number."""
        rows = [own_columns(row) for row in self.world.rows(TABLE) if row.get("_sync_deleted_at") is None]
        return sorted(rows, key=lambda row: (str(row["_file"]), int(str(row["_file_row"]))))

    def copy(self) -> dict[Any, Any]:
        """Status by key."""
        found = {row["id"]: row["status"] for row in self.rows()}
        assert len(found) == len(self.rows())
        return found

    def places(self) -> list[tuple[Any, Any]]:
        """The file and number of each row."""
        return [(row["_file"], row["_file_row"]) for row in self.rows()]

    def unfit(self) -> list[tuple[Any, Any, str]]:
        """File, number and reason of each row in quarantine."""
        kept = self.world.lake.unfit_rows(self.spec)
        told = [
            (row["_file"], row["_file_row"], next(str(v) for v in row.values() if str(v).startswith("unfit: ")))
            for row in kept
        ]
        return sorted((file, number, why.removeprefix("unfit: ")) for file, number, why in told)

    def at(self) -> FilesPosition:
        state = self.world.checkpoints.position(TABLE).state
        assert state is not None
        assert isinstance(state.position, FilesPosition)
        return state.position

    def landed(self) -> list[str]:
        """The paths in the ledger, each once."""
        return sorted(set(Ledger(str(self.ledger), TABLE).rows(self.at().pages).column("path").to_pylist()))

    def _ledgers(self) -> dict[TableId, Ledger]:
        return {TABLE: Ledger(str(self.ledger), TABLE)}

    def _copied(self, spec: TableSpec, names: Any, keys: pa.Table | None) -> pa.Table:
        types = {each.name: required_type(each.spark_type) for each in spec.columns}
        rows = [row for row in self.world.rows(spec.id) if row.get("_sync_deleted_at") is None]
        found = pa.table({name: pa.array([row[name] for row in rows], types[name]) for name in names})
        return found if keys is None else found.join(keys, keys=keys.column_names, join_type="left semi")


def dropped(home: Path, content: str | bytes, name: str = "a.csv", **more: Any) -> Drop:
    """Landed, each row for itself."""
    drop = Drop(home, files(**more), Strategy.APPEND)
    drop.put(name, content)
    drop.sync()
    return drop


def values(drop: Drop) -> list[tuple[Any, ...]]:
    return [tuple(value for name, value in row.items() if not name.startswith("_file")) for row in drop.rows()]
