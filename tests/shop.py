"""A small shop: a database, a role that may only read, a configuration, and the product's own command line against them."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance import planes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "s3cret-of-the-reader"

THREE_STRATEGIES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.events:id:integer"
- {table: public.prices, strategy: full_refresh, refresh_every: 1s}
"""


def touching(table: str, column: str = "updated_at") -> tuple[str, str]:
    """PostgreSQL's statements that have a column stamped at each update which brings no stamp itself."""
    return (
        f"CREATE OR REPLACE FUNCTION touch_{column}() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.{column} := now(); RETURN NEW; END$$",
        (
            f"CREATE TRIGGER touch BEFORE UPDATE ON {table} FOR EACH ROW WHEN (NEW.{column} IS NOT DISTINCT FROM OLD.{column}) "
            f"EXECUTE FUNCTION touch_{column}()"
        ),
    )


MAKE_THREE = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
    *touching("orders"),
    "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
    "CREATE TABLE prices (sku text PRIMARY KEY, price numeric(8,2))",
    "INSERT INTO orders (id, note) SELECT n, 'first' FROM generate_series(1, 500) n",
    "INSERT INTO events (what) SELECT 'born ' || n FROM generate_series(1, 500) n",
    "INSERT INTO prices SELECT 'sku' || n, n FROM generate_series(1, 50) n",
)
"""One table of each strategy, configured and filled."""


class Place:
    """A folder with a configuration, and the product's own command line against it; a database adds what it is asked with."""

    folder: Path

    @property
    def schema(self) -> str:
        """In which the tables are that scenarios name."""
        return "public"

    @property
    def port(self) -> int:
        """Of the server that the configuration names."""
        raise NotImplementedError

    def execute(self, *statements: str) -> None:
        """Each in a transaction of its own."""
        raise NotImplementedError

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the source answers to one who may do everything; stamps as moments of UTC."""
        raise NotImplementedError

    @property
    def config(self) -> Path:
        return self.folder / "sources.yaml"

    @property
    def environment(self) -> dict[str, str]:
        """What the product's process sees: its own Dagster home, the secret, and the engine of `--engine`."""
        home = self.folder / "dagster"
        home.mkdir(exist_ok=True)
        here = home / "engine" / socket.gethostname()
        if (engine := os.environ.get("TEST_ENGINE")) and not here.is_symlink():
            here.parent.mkdir(exist_ok=True)
            here.symlink_to(engine)
        return {
            **os.environ,
            "INCREMENTAL_ASSETS_CONFIG": str(self.config),
            "SHOP_PASSWORD": PASSWORD,
            "DAGSTER_HOME": str(home),
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """The command line in a process group of its own; `variables` are more of its environment."""
        if planes.is_by_spark():
            pytest.skip(planes.COMMANDS_ALONE)
        command = [str(Path(sys.executable).with_name("incremental-assets")), *arguments]
        return subprocess.Popen(
            command,
            env=self.environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, timeout: float = 240, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*arguments, **variables)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill(process)
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def sync(self, *arguments: str) -> dict[str, dict[str, Any]]:
        """`sync --json`, by table name; the whole answer is in the assertion when it fails."""
        result = self.run("sync", "--json", *arguments)
        assert result.returncode == 0, (result.returncode, result.stdout, result.stderr)
        return {table["table"]: table for table in json.loads(result.stdout)["tables"]}

    def events(self) -> list[tuple[str, str]]:
        """What the checkpoint table has recorded so far: table name and event."""
        path = self.folder / "checkpoints.db"
        if not path.exists():
            return []
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5) as connection:
                return connection.execute("SELECT table_name, event FROM checkpoints ORDER BY event_id").fetchall()
        except sqlite3.OperationalError:
            return []

    def lake(self, table: str) -> Path:
        return self.folder / "lake" / "shop" / self.schema / table


@dataclass(frozen=True)
class Shop(Place):
    """Where everything of one test lies."""

    postgres: EmbeddedPostgres
    database: str
    folder: Path

    @classmethod
    def open(cls, postgres: EmbeddedPostgres, database: str, folder: Path, tables: str, *, options: str = "") -> Shop:
        """`tables` is the YAML list under `tables:`; `options` are more keys of the source."""
        shop = cls(postgres, database, folder)
        with shop.connect() as connection:
            connection.execute(
                "DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
            )
            connection.execute(f"ALTER ROLE reader PASSWORD '{PASSWORD}'")  # type: ignore[arg-type]
            connection.execute("GRANT pg_read_all_stats TO reader")
            connection.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader")
            connection.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON SEQUENCES TO reader")
        shop.configure(tables, options)
        return shop

    def configure(self, tables: str, options: str = "") -> None:
        """Write the configuration again."""
        text = textwrap.dedent(f"""\
            lake: ./lake
            checkpoints: sqlite:///checkpoints.db
            sources:
              shop:
                dialect: postgresql
                host: 127.0.0.1
                port: {self.postgres.port}
                database: {self.database}
                user: reader
                password: {{env: SHOP_PASSWORD}}
            """)
        text += textwrap.indent(textwrap.dedent(options).strip() + "\n", "    ") if options else ""
        text += "    tables:\n" + textwrap.indent(textwrap.dedent(tables).strip() + "\n", "      ")
        self.config.write_text(text)

    def connect(self) -> psycopg.Connection:
        """As the superuser, committing at the end of a `with` block."""
        return psycopg.connect(self.postgres.dsn(self.database))

    def execute(self, *statements: str) -> None:
        """Each in a transaction of its own."""
        for statement in statements:
            with self.connect() as connection:
                connection.execute(statement)  # type: ignore[arg-type]

    def landed(self, spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
        """The copy's rows, sorted, without the columns that a sync adds."""
        frame = spark.read.format("delta").load(str(self.lake(table)))
        names = [name for name in frame.columns if not name.startswith("_sync_")]
        return sorted((tuple(row) for row in frame.select(*[f"`{name}`" for name in names]).collect()), key=repr)

    @property
    def port(self) -> int:
        return self.postgres.port

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            return connection.execute(query).fetchall()  # type: ignore[arg-type]

    def truth(self, query: str) -> list[tuple[Any, ...]]:
        """The source's rows, sorted the same way."""
        with self.connect() as connection:
            return sorted(connection.execute(query).fetchall(), key=repr)  # type: ignore[arg-type]


def kill(process: subprocess.Popen[str]) -> None:
    """kill -9 of the whole process group, JVM included."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_for(what: Callable[[], bool], process: subprocess.Popen[Any], seconds: float = 240) -> bool:
    """Poll until `what` holds; False when the process ended before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.005)
    raise AssertionError("it never happened")
