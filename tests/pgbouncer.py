"""A PgBouncer of a test's own, in front of the tests' PostgreSQL: one role behind it, whoever comes."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from psycopg.conninfo import make_conninfo

from incremental_assets.demo.postgres import EmbeddedPostgres

_PATIENCE = 30.0
_UNPRIVILEGED = "nobody"


@dataclass(frozen=True)
class PgBouncer:
    """Where it listens, and whom it lets in: the roles of `logins`, by the passwords that they have in the server."""

    port: int
    logins: Mapping[str, str]

    def dsn(self, database: str, user: str) -> str:
        """As an application connects, which names itself or does not."""
        return make_conninfo(
            host="127.0.0.1", port=self.port, dbname=database, user=user, password=self.logins[user], connect_timeout=10
        )


class OpenPooler(Protocol):
    """Starts one for as long as a block."""

    def __call__(self, logins: Mapping[str, str], **settings: str) -> AbstractContextManager[PgBouncer]: ...


@contextmanager
def started(postgres: EmbeddedPostgres, logins: Mapping[str, str], **settings: str) -> Iterator[PgBouncer]:
    """One that runs until the block ends; `settings` are of its section `[pgbouncer]`: `pool_mode`, `default_pool_size`."""
    folder, account = Path(tempfile.mkdtemp(prefix="test-pgbouncer-", dir="/var/tmp")), _account()
    port = _free_port()
    told = {
        "listen_addr": "127.0.0.1",
        "listen_port": str(port),
        "unix_socket_dir": "",
        "auth_type": "plain",
        "auth_file": str(folder / "users.txt"),
        "log_connections": "0",
        "log_disconnections": "0",
        **settings,
    }
    lines = [
        "[databases]",
        f"* = host=127.0.0.1 port={postgres.port}",
        "[pgbouncer]",
        *(f"{name} = {value}" for name, value in told.items()),
    ]
    (folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
    (folder / "users.txt").write_text("".join(f'"{user}" "{password}"\n' for user, password in logins.items()))
    if account is not None:
        for path in (folder, *folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [shutil.which("pgbouncer", path=path) or "pgbouncer", "pgbouncer.ini"],
            cwd=folder,
            stdout=log,
            stderr=log,
            user=account and account.pw_uid,
            group=account and account.pw_gid,
            extra_groups=[] if account else None,
        )
    try:
        _await(process, port, folder / "log")
        yield PgBouncer(port, logins)
    finally:
        process.terminate()
        process.wait(_PATIENCE)
        shutil.rmtree(folder)


def _account() -> pwd.struct_passwd | None:
    """It does not run as root."""
    return pwd.getpwnam(_UNPRIVILEGED) if os.geteuid() == 0 else None


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise AssertionError(f"PgBouncer does not start: {log.read_text()}")
