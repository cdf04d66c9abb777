"""What a contender cost is what its processes cost together, looked at from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from bench import measuring
from bench.measuring import Cost, Watch, timed
from tests.waiting import until

MIB = 1 << 20
THREE_FORKS = """
import os, signal, sys
held = bytearray(os.urandom(100 << 20))
ears, mouth = os.pipe()
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        do_first()
        os.write(mouth, b"1")
        signal.pause()
    children.append(child)
for child in children:
    os.read(ears, 1)
print("ready", flush=True)
sys.stdin.read()  # until it has been looked at
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""
NOTHING = "def do_first(): pass\n"
WRITE_EACH_PAGE = "def do_first():\n    for at in range(0, len(held), 4096): held[at] = 1\n"


def cost(program: str) -> Cost:
    """By the looks at it that are taken at the beginning and at the end of a block, once its forks are there."""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with Watch(process.pid) as watch:
            pass
    return watch.cost()


def test_what_three_forks_share_with_their_parent_is_counted_once() -> None:
    shared = cost(NOTHING + THREE_FORKS)
    assert 100 * MIB < shared.peak < 180 * MIB
    assert shared.python == shared.peak


def test_what_each_fork_has_written_is_counted_for_each() -> None:
    assert cost(WRITE_EACH_PAGE + THREE_FORKS).peak > 400 * MIB


def test_what_a_command_says_comes_with_what_it_cost() -> None:
    said, spent = timed([sys.executable, "-c", "print(input())"], os.environ, said="a word")
    assert said == "a word\n"
    assert spent.cpu > 0
    assert spent.wall > 0


def test_looking_at_oneself_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "INTERVAL", 0.001)
    begun = time.process_time()
    with Watch(resident=[os.getpid()]) as watch:
        until(lambda: time.process_time() - begun > 0.5)  # spent by looks, as nothing else is done
    spent = time.process_time() - begun
    assert watch.cost().cpu < spent / 2


def test_what_one_does_while_being_looked_at_is_counted() -> None:
    before = time.process_time()
    with Watch(resident=[os.getpid()]) as watch:
        begun = time.thread_time()
        while time.thread_time() - begun < 0.5:
            pass
    spent = time.process_time() - before
    # Wide bounds: a kernel that counts by samples gives a thread and its process different times, and looks cost, too.
    assert 0.1 < watch.cost().cpu < 2 * spent
