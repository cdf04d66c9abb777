"""One `dev` serves a DAGSTER_HOME, and what a killed one has left running is ended by the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.cli import served_home
from incremental_assets.core.errors import SetupError

PIPES: dict[str, Any] = {
    "stdin": subprocess.PIPE,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.DEVNULL,
    "text": True,
}
URL = "http://127.0.0.1:3000"
DAGSTER = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit())
daemon = subprocess.Popen([sys.executable, "-c", "print('daemon', flush=True); import time; time.sleep(600)"])
daemon.wait()
"""


@pytest.fixture
def dagster() -> Iterator[subprocess.Popen[str]]:
    """A group of two processes, as Dagster is one of several; the second has begun."""
    process = subprocess.Popen(
        [sys.executable, "-c", DAGSTER], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "daemon\n"
    yield process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def killed(home: Path, dagster: int) -> None:
    """A command has served the home, and has ended without a word."""
    ended = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = ProcessIdentity.of(ended.pid).text
    ended.communicate()
    with served_home.serving(home, dagster, URL):
        _, *rest = (home / "dev.serving").read_text().splitlines()
    (home / "dev.serving").write_text("\n".join((identity, *rest)))


def recorded(home: Path, dagster: int, keeper: ProcessIdentity) -> Path:
    """What a command that was killed has left there, of the machine of this keeper."""
    killed(home, dagster)
    record = home / "dev.serving"
    *_, url = record.read_text().splitlines()
    record.write_text(f"{keeper.text}\n{replace(keeper, pid=dagster).text}\n{url}")
    return record


def test_what_a_killed_one_has_left_running_is_ended_and_told(tmp_path: Path, dagster: subprocess.Popen[str]) -> None:
    killed(tmp_path, dagster.pid)
    (daemon,) = psutil.Process(dagster.pid).children()

    said = served_home.take_over(tmp_path)

    assert said.startswith(f"a `dev` that was killed had left Dagster running (pid {dagster.pid} on ")
    assert psutil.wait_procs([daemon], timeout=10)[1] == []
    assert dagster.wait(10) == 0
    assert served_home.take_over(tmp_path) == ""


def test_a_second_one_is_refused_with_the_address_of_the_first(tmp_path: Path, dagster: subprocess.Popen[str]) -> None:
    with (
        served_home.serving(tmp_path, dagster.pid, URL),
        pytest.raises(SetupError, match=rf"serves .* already, at {URL}.*end that one, or set another DAGSTER_HOME"),
    ):
        served_home.take_over(tmp_path)
    assert dagster.poll() is None


def test_once_it_has_ended_the_home_is_free(tmp_path: Path, dagster: subprocess.Popen[str]) -> None:
    with served_home.serving(tmp_path, dagster.pid, URL):
        pass
    assert served_home.take_over(tmp_path) == ""
    assert dagster.poll() is None


def test_another_process_that_has_its_number_now_is_left_alone(tmp_path: Path, dagster: subprocess.Popen[str]) -> None:
    killed(tmp_path, dagster.pid)
    record = tmp_path / "dev.serving"
    keeper, served, url = record.read_text().splitlines()
    record.write_text("\n".join((keeper, f"{served}1", url)))
    assert served_home.take_over(tmp_path) == ""
    assert dagster.poll() is None


def test_one_that_the_machine_has_ended_with_itself_serves_no_home(
    tmp_path: Path, dagster: subprocess.Popen[str]
) -> None:
    record = recorded(tmp_path, dagster.pid, replace(ProcessIdentity.here(), machine="another boot/pid:[1]"))
    assert served_home.take_over(tmp_path) == ""
    assert not record.exists()
    # The process that has its number now is another one.
    assert dagster.poll() is None


def test_one_of_another_host_is_not_known_to_have_ended(tmp_path: Path, dagster: subprocess.Popen[str]) -> None:
    record = recorded(tmp_path, dagster.pid, replace(ProcessIdentity.here(), host="elsewhere", machine="elsewhere"))
    with pytest.raises(SetupError, match=rf"on elsewhere.*if it has ended, .* remove {record}"):
        served_home.take_over(tmp_path)
    assert record.exists()
    assert dagster.poll() is None


def test_a_record_that_was_cut_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "dev.serving").write_text("half a")
    assert served_home.take_over(tmp_path) == ""


@pytest.mark.parametrize("hears", [True, False], ids=["in the block", "outside"])
def test_what_a_deaf_command_starts_hears_the_signal_that_ends_it(hears: bool) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with served_home.hearing_sigint() if hears else nullcontext():
            child = subprocess.Popen([sys.executable, "-c", "print('begun', flush=True); input()"], **PIPES)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    if not hears:
        child.kill()
    child.communicate()
    assert (child.returncode == -signal.SIGKILL) is not hears
