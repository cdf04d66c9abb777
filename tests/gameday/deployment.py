"""A deployment as docs/deployment.md has it, and a Prometheus that watches it: a real database behind TLS, a lake on a disk of its own, an engine, the code location, the daemon, the exporter."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import psycopg
import pytest

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.defs.in_flight import PROCESS_TAG
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.clock import ClockedPostgres, ClockMissing
from tests.disks import small_disk
from tests.e2e.stand import free_port
from tests.gameday.front import Front, front
from tests.gameday.watching import Watch, watching
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from tests.adapters.lake_store.bucket import Relay

_ROOT = Path(__file__).parents[2]
SLOT = "incremental_assets_shop"
TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.events:id:integer"
- {table: public.baskets, capture: log}
"""
OPTIONS = """\
unlisted: ignore
every: 5s
tls: verify-full
check_at: never
defaults:
  slo: {freshness: 95% within 2m, success: 99.9%}
"""
MADE = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
    *touching("orders"),
    "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
    "CREATE TABLE baskets (id int PRIMARY KEY, note text)",
    "INSERT INTO orders (id, note) SELECT n, 'first' FROM generate_series(1, 500) n",
    "INSERT INTO events (what) SELECT 'born ' || n FROM generate_series(1, 500) n",
    "INSERT INTO baskets SELECT n, 'first' FROM generate_series(1, 500) n",
    "ALTER ROLE reader REPLICATION",
    f"CREATE PUBLICATION {SLOT} FOR TABLE baskets",
    f"SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')",
)
NAMES = ("orders", "events", "baskets")
LAUNCHER = """
run_launcher:
  module: incremental_assets.defs.launcher
  class: WatchedRunLauncher
"""
_SETTINGS = {"wal_level": "logical", "fsync": "off", "max_connections": "60"}
_DISK = 128
"""MB of the lake's disk."""


@dataclass(frozen=True)
class Lake:
    """Where the copies lie. `written`: as the configuration says it; `root` and `options`: as another reader finds it; `variables`: what the processes need for it."""

    root: str
    written: str = "lake: ./lake\n"
    options: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    tables: str = TABLES
    names: Sequence[str] = NAMES


class Deployment:
    """All of it. What a supervisor would do, `start` and `kill` do."""

    def __init__(self, folder: Path, server: EmbeddedPostgres, before: Front, lake: Lake) -> None:
        self.folder, self.server, self.front, self.lake = folder, server, before, lake
        server.create_database("shop")
        self.shop = Shop.open(server, "shop", folder, lake.tables, options=OPTIONS)
        # The database is behind its front.
        text = self.shop.config.read_text().replace("lake: ./lake\n", lake.written)
        self.shop.config.write_text(text.replace(f"port: {server.port}", f"port: {before.port}"))
        self.shop.execute(*MADE)
        home = Path(self.shop.environment["DAGSTER_HOME"])
        (home / "dagster.yaml").write_text((_ROOT / "dagster.yaml").read_text() + LAUNCHER)
        shutil.copy(_ROOT / "docs" / "deployment" / "workspace.yaml", home)
        self.exporter_port, self._code_port = free_port(), free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._numbers = iter(range(1_000, 1_000_000))

    # --- processes --------------------------------------------------------------------------------

    @property
    def environment(self) -> dict[str, str]:
        return {
            **self.shop.environment,
            **self.lake.variables,
            "PGSSLROOTCERT": str(self.front.authority),
            "CODE_SERVER_HOST": "127.0.0.1",
            "CODE_SERVER_PORT": self._code_port,
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        }

    def _command(self, name: str) -> list[str]:
        return {
            "code location": [
                "dagster", "api", "grpc", "--host", "127.0.0.1", "--port", self._code_port,
                "--module-name", "incremental_assets.definitions", "--location-name", "incremental_assets",
            ],
            "daemon": ["dagster-daemon", "run", "--workspace", str(self.folder / "dagster" / "workspace.yaml")],
            "exporter": ["incremental-assets", "metrics", "--port", self.exporter_port],
        }[name]  # fmt: skip

    def start(self, *names: str) -> None:
        """As their service does."""
        for name in names:
            with (self.folder / f"{name}.log").open("ab") as log:
                self._processes[name] = subprocess.Popen(
                    self._command(name), env=self.environment, cwd=self.folder, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip

    def kill(self, name: str) -> None:
        """kill -9 of it and what it has started."""
        process = self._processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def kill_run(self) -> None:
        """The next run that begins, as soon as it has announced what it will land, with all its processes; of no other is anything known."""
        before = len(self._intents())
        self.wait(lambda: len(self._intents()) > before)
        history = self.folder / "dagster" / "history" / "runs.db"
        query = "SELECT value FROM run_tags JOIN runs USING (run_id) WHERE key = ? AND status = 'STARTED'"
        with closing(sqlite3.connect(f"file:{history}?mode=ro", uri=True)) as connection:
            signed = [value for (value,) in connection.execute(query, [PROCESS_TAG])]
        assert signed, "no run was under way"
        for process in map(_process, signed):
            for each in (*process.children(recursive=True), process):
                with suppress(psutil.NoSuchProcess):
                    each.kill()

    def _intents(self) -> list[tuple[str, str]]:
        return [each for each in self.shop.events() if each == ("orders", "intent")]

    def kill_engine(self) -> None:
        """Its JVM alone."""
        found = json.loads(self.run("incremental-assets engine status --json").stdout)
        psutil.Process(found["pid"]).kill()

    def restart(self, *names: str) -> None:
        """After a change of the configuration."""
        for name in names:
            self.kill(name)
        self.start(*names)

    def end(self) -> None:
        for name in [*self._processes]:
            self.kill(name)
        self.run("incremental-assets engine stop")

    def run(self, line: str, seconds: float = 240) -> subprocess.CompletedProcess[str]:
        """A command in a shell of the deployment, to its end."""
        return subprocess.run(
            ["bash", "-c", line], env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip

    # --- the source -------------------------------------------------------------------------------

    def execute(self, *statements: str) -> None:
        """As a superuser, past the front, each by itself."""
        with psycopg.connect(self.server.dsn("shop"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def move(self) -> None:
        """Something happens in each table."""
        number = next(self._numbers)
        self.execute(
            f"UPDATE orders SET note = 'paid {number}' WHERE id % 97 = {number % 97}",
            f"INSERT INTO orders (id, note) VALUES ({number}, 'new')",
            f"INSERT INTO events (what) VALUES ('new {number}')",
            f"INSERT INTO baskets VALUES ({number}, 'new')",
            f"DELETE FROM baskets WHERE id = {number - 900}",
        )

    # --- what has landed --------------------------------------------------------------------------

    def copy(self, table: str) -> list[tuple[Any, ...]]:
        """Of key and text, as delta-rs reads it; nothing before there is one."""
        from deltalake import DeltaTable, QueryBuilder

        at, options = f"{self.lake.root}/shop/public/{table}", dict(self.lake.options) or None
        if not DeltaTable.is_deltatable(at, options):
            return []
        text = "what" if table == "events" else "note"
        builder = QueryBuilder().register("copy", DeltaTable(at, storage_options=options))
        found = builder.execute(f"SELECT id, {text} FROM copy ORDER BY id, {text}").read_all()
        return [*zip(*(column.to_pylist() for column in found.columns), strict=True)]

    def source(self, table: str) -> list[tuple[Any, ...]]:
        text = "what" if table == "events" else "note"
        return self.shop.rows(f'SELECT id, {text} FROM {table} ORDER BY id, {text} COLLATE "C"')

    def is_equal(self, *names: str) -> bool:
        """Whether the copies are the source."""
        return all(self.copy(name) == self.source(name) for name in names or self.lake.names)

    def wait(self, what: Any, seconds: float = 360) -> float:
        """Until it holds; how long it took."""
        begun = time.monotonic()
        while not what():
            assert time.monotonic() < begun + seconds, f"it never came about: {self.shop.events()[-8:]}\n{self.tails()}"
            time.sleep(0.2)
        return time.monotonic() - begun

    def tails(self) -> str:
        return "\n".join(
            f"--- {name}\n" + (self.folder / f"{name}.log").read_text(errors="replace")[-1500:]
            for name in self._processes
        )


class Watched(Deployment):
    """A deployment and who watches it. `between`: what stands before the store of its lake, where it lies in one."""

    watch: Watch
    between: Relay


@contextmanager
def deployed(folder: Path, lake: Lake | None = None) -> Iterator[Watched]:
    """One that runs and is well, until the block ends; by default with a lake on a small disk of its own."""
    with ExitStack() as stack:
        if lake is None:
            _on_a_small_disk(stack, folder / "lake")
        server = _server(folder / "server")
        server.start()
        stack.callback(server.remove)
        before = stack.enter_context(front(folder / "front", server.port))
        this = Watched(folder, server, before, lake or Lake(str(folder / "lake")))
        stack.callback(this.end)
        for line in ("dagster instance migrate", "incremental-assets engine start"):
            done = this.run(line)
            assert done.returncode == 0, done.stderr
        this.start("code location", "daemon", "exporter")
        this.watch = stack.enter_context(watching(folder / "prometheus", this.exporter_port))
        this.wait(this.is_equal)
        this.wait(lambda: not this.watch.firing())
        yield this


def _on_a_small_disk(stack: ExitStack, folder: Path) -> None:
    try:
        stack.enter_context(small_disk(folder, _DISK))
    except pytest.skip.Exception:
        folder.mkdir(parents=True)


def _server(folder: Path) -> EmbeddedPostgres:
    try:
        return ClockedPostgres(folder, settings=_SETTINGS)
    except ClockMissing:
        return EmbeddedPostgres(folder, settings=_SETTINGS)


def _process(text: str) -> psutil.Process:
    return psutil.Process(ProcessIdentity.parse(text).pid)
