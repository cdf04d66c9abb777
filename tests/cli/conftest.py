"""The command line around a shop of fakes: a real configuration file, a real checkpoint table, Dagster's own instance; no source, no Spark."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.delta.ownership import Ownership
from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.cli.entrypoint import run
from incremental_assets.cli.main import commands
from incremental_assets.core.config.resolve import Resolved, resolve_all
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.observers import Observers
from incremental_assets.core.planning.estimate import CANNOT_TELL, Estimate
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Ports, Registrar
from tests.fakes import FakeProbe, World
from tests.scenario import monday, shop

SETTINGS = Path(__file__).parents[2] / "dagster.yaml"
NO_COPY_OF_THE_STREAMS = """
compute_logs:   # Dagster's own starts four processes for each step
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
"""
CONFIG = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: postgresql
    host: localhost
    database: shop
    user: reader
    password: {env: SHOP_PASSWORD}
    tables:
      - table: public.orders
        cursor: {column: updated_at, type: timestamp}
        strategy: upsert
        partitions: {every: month, from: 2023-10-01}
        freshness: {warn: 15m, fail: 1h}
"""


class Probe(FakeProbe):
    """The fake, and what only people ask."""

    def estimates(self, plans: Sequence[SyncPlan]) -> tuple[Estimate, ...]:
        """As a database that cannot explain."""
        return tuple(CANNOT_TELL for _ in plans)

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Outside:
    """What lies behind the command line. `broken` is raised once a source is asked."""

    world: World = field(default_factory=lambda: World(shop()))
    broken: BaseException | None = None
    expected_full_reads: set[TableId] = field(default_factory=set)


class FakeRuntime:
    """`incremental_assets.resources.runtime.Runtime` as far as the commands know it."""

    def __init__(self, configuration: Configuration, outside: Outside, *, writes: bool) -> None:
        self.configuration, self._outside, self.observer, self._writes = configuration, outside, Observers(), writes
        self.checkpoints = SqlCheckpoints(configuration.checkpoints, writes=writes)

    @property
    def process(self) -> str:
        """This one."""
        return ProcessIdentity.here().text

    def remove_tracebacks(self, than: timedelta) -> int:
        return 2

    def has_ended(self, process: str) -> bool:
        """As ever."""
        return ProcessIdentity.parse(process).is_gone

    def probe(self, source: str) -> Probe:
        """The source itself."""
        if self._outside.broken is not None:
            raise self._outside.broken
        return Probe(self._outside.world.database)

    def database(self, source: str) -> Probe:
        """The same."""
        return self.probe(source)

    def ports(self, source: str) -> Ports:
        """Fakes, but for the memory."""
        return replace(
            self._outside.world.ports(), probe=self.probe(source), checkpoints=self.checkpoints, observer=self.observer
        )

    @property
    def ownership(self) -> Ownership:
        """Of the lake that the configuration names, in which the fakes put nothing."""
        return Ownership(self.configuration.lake, self.checkpoints.installation)

    @property
    def registrar(self) -> Registrar | None:
        """Of the world."""
        return self._outside.world.registrar

    def held(self, spec: TableSpec) -> HeldRows | None:
        """What the lake's quarantine tells."""
        return self._outside.world.lake.held(spec)

    def unfit(self, spec: TableSpec) -> UnfitRows | None:
        """The same of rows that cannot land."""
        return self._outside.world.lake.unfit(spec)

    def specs(self, source: str) -> Resolved:
        """Resolved as ever."""
        shapes = tuple(shape for shape in self.probe(source).catalogue() if shape.id.source == source)
        if self._writes:
            self.checkpoints.remember_catalogue(source, shapes)
        return resolve_all(self.configuration.source(source), shapes)

    def expect_full_reads(self, whole: Iterable[TableId]) -> None:
        """Noted: there is no session to be made for it."""
        self._outside.expected_full_reads.update(whole)

    def begin_session(self) -> None:
        """There is none to begin."""

    def close(self) -> None:
        """The memory is a file, and stays."""
        self.checkpoints.close()


@dataclass(frozen=True)
class Said:
    """What one call of the command line did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """The document's tables by their name."""
        return {entry["table"]: entry for entry in self.document["tables"]}


Call = Callable[..., Said]


@pytest.fixture
def outside() -> Outside:
    """A shop at nine on Monday, with `orders` and an unlisted `countries`."""
    return Outside()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "sources.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="session")
def migrations_read_once() -> Iterator[None]:
    """Dagster's fifty, which it reads anew, a module each, whenever it opens a file and whenever it makes one for a run."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    read = ScriptDirectory.from_config
    found: dict[tuple[str | None, ...], ScriptDirectory] = {}

    def once(config: Config) -> ScriptDirectory:
        which = (
            config.config_file_name,
            config.get_main_option("script_location"),
            config.get_main_option("version_locations"),
        )
        if which not in found:
            found[which] = read(config)
        return found[which]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", once)
        yield


@pytest.fixture(scope="session")
def events_copied(tmp_path_factory: pytest.TempPathFactory, migrations_read_once: None) -> Iterator[None]:
    """The file of a run's events, which Dagster makes a table at a time for each run: made once, and copied."""
    from dagster._core.storage.event_log import SqliteEventLogStorage
    from sqlalchemy import Engine, NullPool, create_engine

    make, made = SqliteEventLogStorage._initdb, tmp_path_factory.mktemp("events") / "made.db"
    make(None, create_engine(f"sqlite:///{made}", poolclass=NullPool))  # type: ignore[arg-type]

    def copied(self: SqliteEventLogStorage, engine: Engine, for_index_shard: bool = False) -> None:
        file = Path(engine.url.database or "")
        if file.exists() and file.stat().st_size:
            make(self, engine, for_index_shard)
        else:
            shutil.copyfile(made, file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteEventLogStorage, "_initdb", copied)
        yield


@pytest.fixture(scope="session")
def made_home(tmp_path_factory: pytest.TempPathFactory, events_copied: None) -> Path:
    """A home of Dagster with its tables, which take longer to make than most commands take."""
    home = tmp_path_factory.mktemp("dagster")
    (home / "dagster.yaml").write_text(SETTINGS.read_text() + NO_COPY_OF_THE_STREAMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home))
        from dagster import DagsterInstance

        with DagsterInstance.get() as instance:
            instance.get_run_ids(limit=1)
    return home


@pytest.fixture
def call(
    outside: Outside,
    config: Path,
    made_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """`call("sync", "--json")`: the exit status and both streams."""
    shutil.copytree(made_home, tmp_path / "dagster", symlinks=True)
    monkeypatch.setenv("INCREMENTAL_ASSETS_CONFIG", str(config))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "1")
    monkeypatch.setattr(
        "incremental_assets.resources.runtime.Runtime",
        lambda configuration, *, writes=True: FakeRuntime(configuration, outside, writes=writes),
    )

    def one(*arguments: str) -> Said:
        capsys.readouterr()
        code = run(commands, arguments)
        return Said(code, *capsys.readouterr())

    return one


Once = Callable[[Callable[[], object]], Outside]


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test of a module leaves what the others begin with."""
    return tmp_path_factory.mktemp("beginning")


@pytest.fixture
def once(beginning: Path, outside: Outside, call: Call, tmp_path: Path) -> Once:
    """`once(begin)`: what `begin` does to the shop, its files and Dagster, done once for a module and copied for each other test."""
    world, files = beginning / "world", beginning / "files"

    def one(begin: Callable[[], object]) -> Outside:
        if world.exists():
            shutil.rmtree(tmp_path)
            shutil.copytree(files, tmp_path, symlinks=True)
            outside.__dict__.update(pickle.loads(world.read_bytes()).__dict__)
        else:
            begin()
            shutil.copytree(tmp_path, files, symlinks=True)
            world.write_bytes(pickle.dumps(outside))
        return outside

    return one


@pytest.fixture
def synced(call: Call, outside: Outside, once: Once) -> Outside:
    """After Monday's sync."""

    def begin() -> None:
        monday(outside.world.database)
        assert call("sync").code == 0

    return once(begin)
