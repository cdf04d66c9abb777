"""An engine that a run leaves behind: one for all who ask, there as long as somebody uses it, and gone without a trace after that."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.adapters.spark import connect_server as server
from incremental_assets.adapters.spark import server_record as announced
from incremental_assets.adapters.spark import session_provider
from incremental_assets.adapters.spark.kept import Keep, ask_for_engine
from incremental_assets.adapters.spark.server_record import Announced
from incremental_assets.adapters.spark.session_provider import Session, find_engine
from incremental_assets.adapters.spark.use import Use
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SetupError
from tests.waiting import until

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

LONG, SHORT = Keep(timedelta(minutes=10), ("A_PASSWORD",)), Keep(timedelta(seconds=2))
_TICK = 0.02
"""Seconds by which a file's time may be behind the clock."""
STAYS = {"engine.lock", "engine.log", "engine.use", "fork_server.log", "keeper.log"}
"""What lies in the folder when nothing runs: two files to wait at, and what was logged."""


@dataclass(frozen=True)
class Home:
    """The folder of an engine, and what is seen of it from outside."""

    folder: Path

    @property
    def engine(self) -> Announced:
        found = announced.read(self.folder)
        assert found is not None
        return found

    @property
    def java(self) -> psutil.Process:
        return psutil.Process(self.engine.process.pid)

    @property
    def keeper(self) -> psutil.Process:
        return psutil.Process(ProcessIdentity.parse(self.engine.keeper).pid)

    @property
    def processes(self) -> list[psutil.Process]:
        """All whose command line names the folder: the JVM, its keeper, the fork server."""
        return [each for each in psutil.process_iter() if str(self.folder) in " ".join(command_of(each))]

    def assert_gone(self, *processes: psutil.Process) -> None:
        """They end, and so does everything else, also what began when they were about to."""
        psutil.wait_procs(processes, timeout=60)
        until(lambda: not any(lives(each) for each in self.processes))
        assert {path.name for path in self.folder.iterdir()} <= STAYS

    def ask(self, keep: Keep) -> None:
        """As a run does that has no use for it after all."""
        with ask_for_engine(self.folder, keep):
            assert find_engine(self.folder) is not None

    def job(self) -> int:
        """By a run that finds what is there and asks for nothing."""
        session = Session(engines=self.folder)
        try:
            return int(session().range(7).count())
        finally:
            session.close()


def lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    # An earlier test of this process may have opened the session that tests share: with a JVM no engine would be used, and that one be closed.
    monkeypatch.setattr(session_provider, "_has_jvm", lambda: False)
    yield (this := Home(tmp_path / "engine"))
    if this.folder.exists():
        server.stop(this.folder)
    for each in this.processes:
        each.kill()


def test_of_runs_that_ask_at_once_one_starts_the_engine_and_it_is_as_private_as_any(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_PASSWORD", "hunter2")
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: home.ask(LONG), range(3)))
    engine = home.engine
    assert find_engine(home.folder) == engine
    assert [each.pid for each in home.processes if each.name() == "java"] == [engine.process.pid]
    psutil.wait_procs(
        [each for each in home.processes if each != home.keeper and "keeper" in " ".join(command_of(each))]
    )
    assert [each for each in home.processes if "spark.keeper" in " ".join(command_of(each))] == [home.keeper]
    assert engine.idle == 600

    assert "hunter2" not in {*home.java.environ().values(), *home.keeper.environ().values()}
    assert not [each for each in home.processes if engine.token in " ".join(command_of(each))]
    assert {each.laddr.ip for each in home.java.net_connections("tcp")} <= {"127.0.0.1", "::ffff:127.0.0.1"}
    assert home.folder.stat().st_mode & 0o777 == 0o700
    open_to_others = [path.name for path in home.folder.iterdir() if path.stat().st_mode & 0o077 and path.is_file()]
    assert open_to_others in ([], ["engine.lock"]), "which is empty"

    processes = home.processes
    assert server.stop(home.folder) == engine
    home.assert_gone(*processes)


def test_it_ends_when_it_was_not_used_for_so_long_and_not_while_somebody_works(home: Home) -> None:
    home.folder.mkdir(mode=0o700)
    use = Use(home.folder)
    home.ask(SHORT)
    java, keeper = home.java, home.keeper
    # Longer than it would live alone.
    with pytest.raises(psutil.TimeoutExpired):
        java.wait(timeout=SHORT.idle.total_seconds() + 2)
    seen = server.look(home.folder)
    assert seen is not None
    assert (seen.unusable, seen.ends) == ("", None)

    # From the end of the last use on.
    assert not (home.folder / "fork_server.log").exists(), "its imports would slow the first run down"
    ended = time.time() - _TICK
    use.end()
    seen = server.look(home.folder)
    assert seen is not None
    assert seen.ends is not None
    assert ended + 2 <= seen.ends.timestamp() <= time.time() + 2
    java.wait(timeout=60)
    assert time.time() - ended >= SHORT.idle.total_seconds()
    home.assert_gone(java, keeper)
    assert server.look(home.folder) is None


USER = """
import sys
from pathlib import Path
from incremental_assets.adapters.spark.use import Use
use = Use(Path(sys.argv[1]))
print("uses", flush=True)
sys.stdin.read()
"""


def test_a_run_that_is_killed_uses_it_no_more(home: Home) -> None:
    home.folder.mkdir(mode=0o700)
    run = subprocess.Popen(
        [sys.executable, "-c", USER, str(home.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "uses\n"
    home.ask(SHORT)
    java = home.java
    with pytest.raises(psutil.TimeoutExpired):
        java.wait(timeout=SHORT.idle.total_seconds() + 2)
    run.kill()
    killed = time.time()
    run.communicate()
    java.wait(timeout=60)
    assert time.time() - killed >= SHORT.idle.total_seconds()
    home.assert_gone(java)


def test_whatever_is_killed_the_next_run_has_an_engine_that_will_end(home: Home) -> None:
    home.ask(LONG)
    first, java, keeper = home.engine, home.java, home.keeper

    # The keeper: the engine is kept by another one.
    keeper.kill()
    keeper.wait()
    assert home.engine.is_left_alone
    session = Session(engines=home.folder, keep=LONG)
    try:
        assert session().range(7).count() == 7
        assert home.engine.is_same(first)
        assert not home.engine.is_left_alone
        assert home.keeper.pid != keeper.pid

        # The engine in the middle of a run: its keeper tidies up, and goes.
        keeper = home.keeper
        java.kill()
    finally:
        session.close()
    home.assert_gone(java, keeper)
    home.ask(LONG)
    assert not home.engine.is_same(first)
    assert home.job() == 7

    # Its keeper is told to end, as at the end of the machine's day.
    java, keeper = home.java, home.keeper
    keeper.terminate()
    home.assert_gone(java, keeper)

    # Both.
    home.ask(LONG)
    for each in (home.keeper, home.java):
        each.kill()
        each.wait()
    home.ask(LONG)
    assert home.job() == 7


def test_one_of_another_release_makes_way_unless_it_is_used_or_was_started_to_stay(home: Home) -> None:
    home.ask(LONG)
    other = home.engine
    change(home, made_from="other jars")

    use = Use(home.folder)
    with pytest.raises(SetupError, match="started with another Java, another Spark, other jars"):
        home.ask(LONG)
    assert not other.is_gone
    use.end()

    old = home.processes
    home.ask(LONG)
    psutil.wait_procs(old, timeout=60)
    assert other.is_gone
    assert not home.engine.is_same(other)
    assert home.job() == 7

    change(home, made_from="other jars", idle=0.0, keeper="")
    with pytest.raises(SetupError, match="restart it with `incremental-assets engine stop`"):
        home.ask(LONG)
    assert not home.engine.is_gone


def change(home: Home, **fields: object) -> None:
    path = home.folder / "engine.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_who_starts_the_engine_by_hand_makes_it_stay_for_runs_at_work_too(home: Home) -> None:
    session = Session(engines=home.folder, keep=SHORT)
    assert session().range(7).count() == 7
    java, keeper = home.java, home.keeper
    engine, started = server.start(home.folder)
    assert (engine.idle, engine.keeper, started) == (0, "", False)
    assert session().range(7).count() == 7, "the run goes on with it"
    session.close()
    # Its keeper has no part in it any more.
    keeper.wait(timeout=60)
    assert not engine.is_gone
    home.ask(SHORT)
    assert home.engine == engine
    assert home.job() == 7
    assert java.is_running()


def test_a_start_that_is_interrupted_leaves_nothing(home: Home) -> None:
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            home.ask(LONG)
        except RuntimeError as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        deadline = time.monotonic() + 60
        while not any(each.name() == "java" for each in home.processes):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        processes = home.processes
        this_process.ask()
        asking.join(60)
    finally:
        this_process.go_on()
    assert [str(each) for each in failed] == ["interrupted while the engine started"]
    home.assert_gone(*processes)


def test_why_there_can_be_none_is_one_sentence(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setenv("JAVA_TOOL_OPTIONS", "-Xmx1z")
        with pytest.raises(SetupError, match=r"^the engine ended while it started \(Invalid maximum heap size: -Xmx1z"):
            home.ask(LONG)
    home.assert_gone()
    with monkeypatch.context() as broken:
        broken.setenv("PYTHONHOME", "/nowhere")
        with pytest.raises(SetupError, match=r"the process that keeps the engine ended while it started; its log is /"):
            home.ask(LONG)
    home.assert_gone()
