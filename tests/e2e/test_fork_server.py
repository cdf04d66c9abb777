"""A command that is a fork of a process which has imported everything ends, speaks and hears signals as one of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from incremental_assets.adapters.fork_server import client, control
from incremental_assets.adapters.fork_server.channel import COMMAND
from incremental_assets.adapters.spark.worker_daemon import FORKS
from incremental_assets.resources.home import engine_folder
from tests.waiting import until

SCRIPT = Path(sys.executable).with_name("incremental-assets")
CONFIGURATION = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop: {dialect: sqlite, database: ./shop.db, unlisted: ignore, tables: ["main.orders:updated_at:timestamp!upsert"]}
"""


IN_ITS_OWN_PROCESS = {"OMP_NUM_THREADS": "1"}
"""A variable that libraries read when they are imported, and that the server was not started with."""


class Home:
    """A Dagster home with a fork server, and a configuration beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.dagster = folder, folder / "dagster"
        (folder / "sources.yaml").write_text(CONFIGURATION, encoding="utf-8")
        self.engine = self.dagster / "engine" / engine_folder().name
        self.engine.mkdir(parents=True, mode=0o700)

    @property
    def environment(self) -> dict[str, str]:
        """As a user has it."""
        return {**os.environ, "DAGSTER_HOME": str(self.dagster)}

    def start(self) -> int:
        """The fork server, ready."""
        starting = control.start(self.engine, ("SHOP_PASSWORD",))
        assert starting is not None
        assert starting.finish() == ""
        return self.server

    @property
    def server(self) -> int:
        """Its process."""
        pid = control.running(self.engine)
        assert pid is not None
        return pid

    def begin(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """A command."""
        return subprocess.Popen(
            [SCRIPT, *arguments],
            env={**self.environment, **more},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **more: str) -> tuple[int, str, str]:
        """A command to its end: exit status, standard output and error."""
        process = self.begin(*arguments, **more)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def forks(self) -> list[int]:
        """The commands that run as forks."""
        return [child.pid for child in psutil.Process(self.server).children()]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Started by somebody whose environment has a password."""
    made = Home(tmp_path_factory.mktemp("a home whose path is longer than the name of a socket may be " + "x" * 40))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_PASSWORD", "swordfish")
        made.start()
    yield made
    control.stop(made.engine)


class Silent:
    """A database that accepts connections and says nothing, so that a command waits for as long as a test wants."""

    def __init__(self, home: Home) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self.path = home.folder / "silent.yaml"
        port = self._socket.getsockname()[1]
        self.path.write_text(
            "lake: ./lake\ncheckpoints: sqlite:///checkpoints.db\nsources:\n"
            f"  shop: {{dialect: postgresql, host: 127.0.0.1, port: {port}, database: shop, user: reader, unlisted: full_refresh}}\n",
            encoding="utf-8",
        )

    def asked(self) -> None:
        """Once a command is in the middle of asking."""
        self._socket.settimeout(60)
        self._connections.append(self._socket.accept()[0])

    def hang_up(self) -> None:
        """Whoever waits hears that there is nobody."""
        for each in (*self._connections, self._socket):
            each.close()


@pytest.fixture
def silent(home: Home) -> Iterator[Silent]:
    made = Silent(home)
    yield made
    made.hang_up()


@pytest.mark.acceptance
def test_it_answers_as_a_process_of_its_own_does(home: Home) -> None:
    for arguments in (
        ("schema",),
        ("status", "--offline", "--json"),
        ("status", "--select", "nothing"),
        ("status", "--nonsense"),
    ):
        assert home.run(*arguments) == home.run(*arguments, **IN_ITS_OWN_PROCESS)


def test_what_it_runs_is_a_fork_and_the_caller_waits_for_it(home: Home, silent: Silent) -> None:
    process = home.begin("status", "--config", str(silent.path))
    silent.asked()
    assert psutil.Process(process.pid).children() == []
    silent.hang_up()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, "not queried" in out) == (0, True)
    assert home.forks() == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_the_caller_is_for_the_command(
    home: Home, silent: Silent, number: signal.Signals, code: int
) -> None:
    process = home.begin("status", "--config", str(silent.path))
    silent.asked()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "what had landed stays landed" in err
    until(lambda: home.forks() == [])


def test_a_caller_that_is_killed_takes_its_command_along(home: Home, silent: Silent) -> None:
    process = home.begin("status", "--config", str(silent.path))
    silent.asked()
    process.kill()
    process.communicate(timeout=60)
    until(lambda: home.forks() == [])


@pytest.mark.parametrize("end", ["Spark lets go of it", "Spark ends it"])
def test_the_daemon_of_spark_s_python_workers_is_a_fork_too(home: Home, end: str) -> None:
    of_spark = {"SPARK_REUSE_WORKER": "1", "PYTHON_WORKER_FACTORY_SECRET": "secret", FORKS: str(home.engine)}
    with subprocess.Popen(
        [sys.executable, "-m", "incremental_assets.adapters.spark.worker_daemon", "pyspark.worker"],
        env={**os.environ, **of_spark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as caller:
        assert caller.stdin is not None
        assert caller.stdout is not None
        (port,) = struct.unpack("!i", caller.stdout.read(4))
        with socket.create_connection(("127.0.0.1", port)) as connection:
            (worker,) = struct.unpack("!i", connection.recv(4))
            daemon = psutil.Process(worker).parent()
            assert daemon is not None
            assert daemon.ppid() == home.server
        if end == "Spark ends it":
            caller.terminate()
        caller.stdin.close()
        caller.wait(30)
    until(lambda: home.forks() == [])


def test_a_command_that_is_killed_ends_its_caller_with_the_status_of_a_killed_one(home: Home, silent: Silent) -> None:
    process = home.begin("status", "--config", str(silent.path))
    silent.asked()
    os.kill(home.forks()[0], signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == 137


@pytest.mark.acceptance
def test_a_caller_learns_of_a_killed_server_and_the_next_command_runs_by_itself(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.start()
    silent = Silent(home)
    process = home.begin("status", "--config", str(silent.path))
    silent.asked()
    server, (fork,) = home.server, home.forks()
    os.kill(server, signal.SIGKILL)
    os.kill(fork, signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (
        1,
        "the engine's fork server was killed, and how this command ends is not known here: see `status`\n",
    )
    code, out, _ = home.run("schema")
    assert code == 0
    assert "properties" in json.loads(out)


KILLED_AS_IT_FORKS = """
import os, signal, sys
from pathlib import Path
from incremental_assets.adapters.fork_server.channel import COMMAND, fingerprint
from incremental_assets.adapters.fork_server.server import become, serve

def fork(fork=os.fork):
    pid = fork()
    if pid:
        os.kill(os.getpid(), signal.SIGKILL)
    return pid

os.fork = fork
become(serve(Path(sys.argv[1]), {fingerprint(COMMAND)}))
"""


def test_a_command_whose_server_is_killed_as_it_forks_is_not_begun_a_second_time(tmp_path: Path) -> None:
    home = Home(tmp_path)
    server = subprocess.Popen([sys.executable, "-c", KILLED_AS_IT_FORKS, home.engine], cwd=Path.cwd())
    until(lambda: control.running(home.engine))
    begun = client.handed_over(COMMAND, ["status"], home.engine)
    assert server.wait(30) == -signal.SIGKILL
    assert begun == 1  # and not None, after which the caller would run it


@pytest.mark.acceptance
def test_a_server_that_is_told_to_end_sees_its_commands_to_their_end(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.start()
    silent = Silent(home)
    process = home.begin("status", "--config", str(silent.path))
    silent.asked()
    server = psutil.Process(home.server)
    control.stop(home.engine)
    assert control.running(home.engine) is None
    assert [entry.name for entry in home.engine.iterdir()] == ["fork_server.log"]
    silent.hang_up()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, "not queried" in out) == (0, True)
    server.wait(timeout=30)


@pytest.mark.acceptance
def test_a_server_whose_folder_is_removed_ends(tmp_path: Path) -> None:
    home = Home(tmp_path)
    server = psutil.Process(home.start())
    (home.engine / "fork_server.sock").unlink()
    server.wait(timeout=30)


def test_a_folder_that_others_may_enter_is_not_trusted(home: Home) -> None:
    home.engine.chmod(0o755)
    found = control.running(home.engine)
    home.engine.chmod(0o700)
    assert found is None
    assert control.running(home.engine) is not None


def test_no_password_that_the_engine_was_started_with_is_in_its_environment(home: Home) -> None:
    assert b"swordfish" not in Path(f"/proc/{home.server}/environ").read_bytes()


def test_the_environment_folder_and_streams_are_those_of_the_caller(home: Home) -> None:
    (home.folder / "elsewhere").mkdir()
    (home.folder / "elsewhere" / "mine.yaml").write_text(CONFIGURATION, encoding="utf-8")
    done = subprocess.run(
        [SCRIPT, "status", "--offline", "--json"],
        env={**home.environment, "INCREMENTAL_ASSETS_CONFIG": "mine.yaml"},
        cwd=home.folder / "elsewhere",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert [table["table"] for table in json.loads(done.stdout)["tables"]] == ["main.orders"]
