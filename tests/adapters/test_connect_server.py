"""An engine is found by everybody, or there is none: also where its start was killed before it could be announced."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.adapters.spark import connect_server as server

STARTING = "starting"


def test_an_engine_whose_start_was_killed_is_ended_by_the_next_call(tmp_path: Path) -> None:
    left = subprocess.Popen(["sleep", "600"])
    (tmp_path / STARTING).write_text(ProcessIdentity.of(left.pid).text)
    assert server.stop(tmp_path) is None
    assert left.wait(timeout=60) < 0
    assert [path.name for path in tmp_path.iterdir()] == ["engine.lock"]


def test_a_process_that_only_has_its_number_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "600"])
    try:
        host, machine, pid, started = ProcessIdentity.of(other.pid).text.split("|")
        for text in ("|".join((host, machine, pid, f"{started}0")), f"{host}|{machine}|{pid}|", "nonsense"):
            (tmp_path / STARTING).write_text(text)
            assert server.stop(tmp_path) is None
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_start_that_is_killed_has_named_its_process(tmp_path: Path) -> None:
    starting = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from pathlib import Path; from incremental_assets.adapters.spark import connect_server as server; server.start(Path({str(tmp_path)!r}))",
        ]
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / STARTING).exists() or not (tmp_path / STARTING).read_text():
        assert time.monotonic() < deadline
        assert starting.poll() is None
        time.sleep(0.01)
    starting.kill()
    starting.wait()
    named = ProcessIdentity.parse((tmp_path / STARTING).read_text())
    assert psutil.pid_exists(named.pid)
    server.stop(tmp_path)
    assert named.is_gone
