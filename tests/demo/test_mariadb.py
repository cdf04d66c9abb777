"""The demo's MariaDB and MySQL beside other servers of their kind on one machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from incremental_assets.core.errors import SetupError
from incremental_assets.demo import ending, mariadb
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.state import ServerState

IGNORES = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
)


@pytest.fixture
def enterable() -> Iterator[Path]:
    """A folder that every account may enter, so that a server is made in it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize(
    "database",
    [
        pytest.param("mariadb", marks=pytest.mark.mariadb),
        pytest.param("mysql", marks=[pytest.mark.mysql, pytest.mark.acceptance]),
    ],
)
def test_a_server_keeps_its_temporary_tables_where_no_other_one_deletes_them(
    database: str, request: pytest.FixtureRequest
) -> None:
    server: EmbeddedMariaDB = request.getfixturevalue(database)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@tmpdir")
        assert cursor.fetchone() == (str(server.data.with_name("mariadb-tmp")),)


def test_a_server_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def maker(_: EmbeddedMariaDB, data: Path) -> list[str]:
        made.append(data)
        return ["/bin/sh", "-c", "echo no space left >&2; exit 1"]

    monkeypatch.setattr(EmbeddedMariaDB, "_maker", maker)
    with pytest.raises(SetupError, match=r"The demo's MariaDB could not be created in .*: no space left\."):
        EmbeddedMariaDB(tmp_path / "server").start()

    (data,) = made
    assert not list(data.parent.glob("*"))
    assert not data.parent.exists() or data.parent == tmp_path / "server"


def test_a_server_that_cannot_be_made_leaves_its_folder_empty(enterable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedMariaDB, "_maker", lambda *_: ["/bin/sh", "-c", "exit 1"])
    with pytest.raises(SetupError, match="could not be created"):
        EmbeddedMariaDB(enterable / "server").start()
    assert list((enterable / "server").iterdir()) == []


def test_a_server_that_does_not_end_in_time_is_named_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "PATIENCE", 0.2)
    server = EmbeddedMariaDB(tmp_path / "server")
    server._state = ServerState.fresh(".")
    with subprocess.Popen([sys.executable, "-c", IGNORES], stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()
        monkeypatch.setattr(EmbeddedMariaDB, "_running", lambda _: psutil.Process(stubborn.pid))
        try:
            with pytest.raises(SetupError, match=rf"still runs .*, and end it by `kill -9 {stubborn.pid}`"):
                server.stop()
        finally:
            monkeypatch.setattr(ending, "PATIENCE", 60.0)
            server.crash()
        assert not psutil.pid_exists(stubborn.pid)


def test_a_server_that_does_not_answer_in_time_does_not_stay(enterable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mariadb, "PATIENCE", 1.0)
    monkeypatch.setattr(EmbeddedMariaDB, "_maker", lambda *_: ["/bin/true"])
    monkeypatch.setattr(EmbeddedMariaDB, "_server", lambda _: ["/bin/sh", "-c", "exec sleep 60", "sh"])
    server = EmbeddedMariaDB(enterable / "server")
    with pytest.raises(SetupError, match="did not start: it left no message"):
        server.start()
    assert [each for each in psutil.Process().children(recursive=True) if stands_in(server.data, each)] == []


def stands_in(folder: Path, process: psutil.Process) -> bool:
    """A process that has ended stands nowhere, also before its parent has waited for it."""
    try:
        return process.cwd() == str(folder)
    except psutil.Error:
        return False
