"""An embedded MariaDB on TCP loopback: a data folder, a kept port, a random password; no Docker, never root.

The programs are those of the machine. Where root starts it, it runs as `nobody`, in a folder that `nobody` may enter.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import psutil
import pymysql

from incremental_assets.core.errors import SetupError
from incremental_assets.demo.ending import PATIENCE, end, running
from incremental_assets.demo.state import SUPERUSER, ServerState

HOST = "127.0.0.1"
PROGRAMS = ("mariadbd", "mariadb-install-db")
UNPRIVILEGED = "nobody"
_PLACES = ("/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin")

SETTINGS: Mapping[str, str] = {
    "bind-address": HOST,
    "skip-name-resolve": "ON",
    "character-set-server": "utf8mb4",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "64M",
    "default-time-zone": "+00:00",
}


class EmbeddedMariaDB:
    """One server per folder. Every method may be called in any state: starting twice is starting once."""

    title = "MariaDB"
    host = HOST
    user = SUPERUSER

    def __init__(self, folder: str | Path, *, settings: Mapping[str, str] | None = None, zone: str = "UTC") -> None:
        """`settings` are options of the server, over the defaults, at the next start; `zone` is that of its machine."""
        self.folder = Path(folder).absolute()
        self._settings, self._zone = {**SETTINGS, **(settings or {})}, zone
        self._file = self.folder / "mariadb.json"
        self._state = ServerState.read(self._file)

    @property
    def port(self) -> int:
        return self._known().port

    @property
    def password(self) -> str:
        return self._known().passwords[SUPERUSER]

    def password_of(self, role: str) -> str:
        return self._known().passwords[role]

    @property
    def data(self) -> Path:
        return self.folder / self._known().home / "mariadb"

    def start(self) -> Self:
        """Start the server, and return once it answers; one that already runs on this folder is used as it is. Raises SetupError."""
        if self.is_running():
            return self
        if self._state is None or not self.data.is_dir():
            self._state = self._create()
        self._state = self._state.on_another_port().write(self._file)
        launched, deadline = self._launch(), time.monotonic() + PATIENCE
        while not self.is_running():
            if launched.poll() is not None or time.monotonic() > deadline:
                # Else it would come up later, when nobody expects a server here.
                launched.kill()
                launched.wait()
                raise SetupError(f"The demo's {self.title} did not start: {self._last_words()}; see {self._log}.")
            time.sleep(0.1)
        return self

    def stop(self) -> None:
        """Shut the server down, with all data written. Raises SetupError where it still runs after PATIENCE seconds."""
        self._end(signal.SIGTERM)

    def crash(self) -> None:
        """The next start recovers from the log."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        """Stops it and deletes its data, also where they lie outside the folder."""
        if self._state is None:
            return
        self.crash()
        shutil.rmtree(self.data.parent if self.data.parent != self.folder else self.data, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._state = None

    def is_running(self) -> bool:
        """A server answers on our port to our password, and it is the one of our data folder."""
        if self._running() is None:
            return False
        try:
            with self.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SELECT @@datadir")
                row = cursor.fetchone()
        except pymysql.Error:
            return False
        return row is not None and Path(row[0]) == self.data

    def connect(self, database: str | None = None, **settings: Any) -> pymysql.Connection:
        """A connection as the superuser, in autocommit. Raises pymysql.Error, and SetupError where no server was made."""
        wanted = {"user": self.user, "password": self.password, "connect_timeout": 10, "autocommit": True, **settings}
        return pymysql.connect(
            host=HOST, port=self.port, database=database, charset="utf8mb4", ssl_disabled=True, **wanted
        )

    def create_database(self, name: str) -> None:
        """An empty one."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE `{name}`")

    def create_login(self, role: str) -> None:
        """A user of this machine with a random password, which is kept."""
        state = self._known()
        state = state if role in state.passwords else state.with_role(role)
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER IF NOT EXISTS `{role}`@'{HOST}'")
            cursor.execute(f"ALTER USER `{role}`@'{HOST}' IDENTIFIED BY %s", (state.passwords[role],))
        self._state = state.write(self._file)

    @property
    def _log(self) -> Path:
        return self.data / "server.log"

    def _create(self) -> ServerState:
        """An empty data folder, and a random password, which the server learns at each start from a file that it alone may read."""
        self.folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        home = (
            self.folder
            if _may_enter(self.folder)
            else Path(tempfile.mkdtemp(prefix="incremental-assets-", dir="/var/tmp"))
        )
        if home != self.folder:
            home.chmod(0o755)
        state = ServerState.fresh("." if home == self.folder else str(home))
        data = home / "mariadb"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(mode=0o700)
        _give(data)
        made = _run(self._maker(data), cwd=data, TMPDIR=str(_temporary(data)))
        if made.returncode != 0:
            for left in (data, _temporary(data)) if home == self.folder else (home,):
                shutil.rmtree(left, ignore_errors=True)
            raise SetupError(f"The demo's {self.title} could not be created in {data}: {made.stderr.strip()}.")
        return state

    def _maker(self, data: Path) -> list[str]:
        """What fills an empty data folder."""
        return [
            _program("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--innodb-log-file-size=64M",
        ]

    def _server(self) -> list[str]:
        """The server, before its options."""
        return [_program("mariadbd"), "--no-defaults"]

    def _accounts(self, who: str) -> tuple[str, ...]:
        """Statements, each on a line: nobody may log in but the one who may do everything."""
        return (
            f"CREATE OR REPLACE USER {who} IDENTIFIED BY '{self.password}'",
            f"GRANT ALL ON *.* TO {who} WITH GRANT OPTION",
            "DELETE FROM mysql.global_priv WHERE User IN ('root', '')",
            "FLUSH PRIVILEGES",
        )

    def _launch(self) -> subprocess.Popen[bytes]:
        first = self.data / "first.sql"
        first.unlink(missing_ok=True)
        with os.fdopen(os.open(first, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            # Of its own, and nothing that a replica is to get, or has more than its primary.
            statements = ("SET SESSION sql_log_bin = 0", *self._accounts(f"'{SUPERUSER}'@'{HOST}'"))
            file.writelines(f"{statement};\n" for statement in statements)
        _give(first)
        options = {
            **self._settings,
            "port": str(self.port),
            "datadir": str(self.data),
            "socket": str(self.data / "socket"),
            "pid-file": str(self.data / "pid"),
            "log-error": str(self._log),
            "init-file": str(first),
        }
        command = [*self._server(), *(f"--{name}={value}" for name, value in options.items())]
        account = _account()
        return subprocess.Popen(
            command,
            cwd=self.data,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=_environment() | {"TZ": self._zone, "TMPDIR": str(_temporary(self.data))},
            user=account and account.pw_uid,
            group=account and account.pw_gid,
            extra_groups=[] if account else None,
        )

    def _end(self, how: signal.Signals) -> None:
        server = self._running()
        if server is not None:
            end(server, how, self.title, self._log)

    def _running(self) -> psutil.Process | None:
        return None if self._state is None else running(self.data / "pid", self.data)

    def _last_words(self) -> str:
        try:
            lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return "it left no message"
        return next((line for line in reversed(lines) if "[ERROR]" in line), "it left no error")

    def _known(self) -> ServerState:
        if self._state is None:
            raise SetupError(f"There is no {self.title} in {self.folder}.")
        return self._state


def _program(name: str) -> str:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_PLACES])
    found = shutil.which(name, path=path)
    if found is None:
        raise SetupError(
            f"MariaDB's program {name} is not on this machine; install it (Debian: apt-get install mariadb-server-core mariadb-client-core)."
        )
    return found


def _account() -> pwd.struct_passwd | None:
    """Whom the server runs as; None is the current user."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise SetupError(
            f"MariaDB is not run as root, and there is no account {UNPRIVILEGED!r} to run it as."
        ) from None


def _give(path: Path) -> None:
    account = _account()
    if account is not None:
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


def _temporary(data: Path) -> Path:
    """This server's own folder for temporary tables: a server that starts deletes all temporary tables in its folder, also those of other servers."""
    folder = data.with_name(f"{data.name}-tmp")
    folder.mkdir(mode=0o700, exist_ok=True)
    _give(folder)
    return folder


def _may_enter(folder: Path) -> bool:
    return _run(["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)], cwd=Path("/")).returncode == 0


def _environment() -> dict[str, str]:
    """The environment of what runs as the server's account: PATH and LC_ALL alone, and no secret of root's."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _run(command: list[str], *, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    account = _account()
    return subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE,
        check=False,
        env=_environment() | variables,
        user=account and account.pw_uid,
        group=account and account.pw_gid,
        extra_groups=[] if account else None,
    )
