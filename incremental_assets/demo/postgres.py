"""An embedded PostgreSQL on TCP loopback: a data folder, a fixed port, random passwords; no Docker, no root.

`python -m incremental_assets.demo.postgres start|stop|status [FOLDER]` runs it by hand.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from incremental_assets.core.errors import IncrementalAssetsError, SetupError
from incremental_assets.demo.cluster import create, forget_dead_server, last_words, launch, port_was_busy
from incremental_assets.demo.home import Home
from incremental_assets.demo.state import SUPERUSER, ServerState

FOLDER = Path(".demo")
PORTS_TO_TRY = 3

# For a source that is synced: two-phase transactions and commit times are what the sync must cope with.
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # no socket file: TCP asks for the password, and long paths do no harm
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_prepared_transactions": "10",
    "track_commit_timestamp": "on",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
}

StopMode = Literal["smart", "fast", "immediate"]


class EmbeddedPostgres:
    """One server per folder. Every method may be called in any state: starting twice is starting once."""

    host = "127.0.0.1"
    user = SUPERUSER

    def __init__(self, folder: str | Path = FOLDER, *, settings: Mapping[str, str] | None = None) -> None:
        """`settings` go into postgresql.conf over the defaults, at the next start."""
        self.folder = Path(folder).absolute()
        self._settings = {**SETTINGS, **(settings or {})}
        self._file = self.folder / "server.json"
        self._state = ServerState.read(self._file)

    @property
    def port(self) -> int:
        return self._known().port

    @property
    def password(self) -> str:
        """The superuser's."""
        return self.password_of(self.user)

    def password_of(self, role: str) -> str:
        return self._known().passwords[role]

    def dsn(self, database: str = "postgres", user: str | None = None) -> str:
        """A libpq connection string, password included: for a connection, never for a log or a command line."""
        role = user or self.user
        return make_conninfo(
            host=self.host,
            port=self.port,
            dbname=database,
            user=role,
            password=self.password_of(role),
            connect_timeout=10,
        )

    def start(self) -> Self:
        """Start the server, and return once it answers; one that already runs on this folder is used as it is. Raises SetupError."""
        if self.is_running():
            return self
        state = self._state
        if state is None or not self._home(state).data.is_dir():
            state = create(self.folder)
        home = self._home(state)
        forget_dead_server(home)
        for _ in range(PORTS_TO_TRY):
            self._state = state.write(self._file)
            # Another command may have been quicker; then launching fails and its server is ours too.
            if launch(home, {**self._settings, "port": str(state.port)}) or self.is_running():
                return self
            if not port_was_busy(home):
                break
            state = state.on_another_port()
        raise SetupError(
            f"The demo's PostgreSQL did not start: {last_words(home)};"
            f" see {home.log}, or remove {self.folder} to start from scratch."
        )

    def stop(self, mode: StopMode = "fast") -> None:
        """`immediate` is a crash: the next start recovers from the log."""
        if self._state is None or not (home := self._home(self._state)).data.is_dir():
            return
        result = home.run("pg_ctl", "-D", home.data, "-m", mode, "-w", "-t", "60", "stop")
        if result.returncode != 0 and self.is_running():
            raise SetupError(f"The demo's PostgreSQL on port {self.port} does not stop: {result.stderr.strip()}.")

    def restart(self, mode: StopMode = "fast") -> Self:
        self.stop(mode)
        return self.start()

    def remove(self) -> None:
        """Stops it and deletes its data, also where they lie outside the folder."""
        self.stop("immediate")
        if self._state is not None:
            shutil.rmtree(self._home(self._state).folder, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._state = None

    def is_running(self) -> bool:
        """A server answers on our port to our password and it is the one of our data folder."""
        if self._state is None or not (data := self._home(self._state).data).joinpath("postmaster.pid").exists():
            return False
        try:
            # Another program that took the port must not receive the password.
            with psycopg.connect(self.dsn(), require_auth="scram-sha-256", connect_timeout=3) as connection:
                row = connection.execute("SHOW data_directory").fetchone()
        except psycopg.OperationalError:
            return False
        return row is not None and Path(row[0]) == data

    def create_database(self, name: str) -> bool:
        """False when it was there already."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                return False
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return True

    def create_login(self, role: str) -> None:
        """A role with a random password, which reaches the server as a SCRAM verifier only: no statement log can show it."""
        state = self._known()
        state = state if role in state.passwords else state.with_role(role)
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
            connection.pgconn.change_password(role.encode(), state.passwords[role].encode())
        self._state = state.write(self._file)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _home(self, state: ServerState) -> Home:
        return Home(self.folder / state.home)

    def _known(self) -> ServerState:
        if self._state is None:
            raise SetupError(f"There is no demo database in {self.folder}; `incremental-assets demo` makes it.")
        return self._state


def main(arguments: list[str]) -> int:
    action, folder = arguments[0], arguments[1] if len(arguments) > 1 else FOLDER
    server = EmbeddedPostgres(folder)
    if action == "start":
        server.start()
    elif action == "stop":
        server.stop()
    running = server.is_running()
    sys.stdout.write(f"running on {server.host}:{server.port}\n" if running else "not running\n")
    return 0 if running or action == "stop" else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:] or ["status"]))
    except IncrementalAssetsError as problem:
        sys.exit(str(problem))
