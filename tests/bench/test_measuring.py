"""What a contender cost is what its processes cost together, looked at from outside."""

from __future__ import annotations

import os
import sys

from bench.measuring import Cost, timed

MIB = 1 << 20
FORK_THREE = """
import os, time
held = bytearray(os.urandom(100 << 20))
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        {first}
        time.sleep(1)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""
WRITE_EACH_PAGE = "for at in range(0, len(held), 4096): held[at] = 1"


def cost(program: str) -> Cost:
    return timed([sys.executable, "-c", program], os.environ)[1]


def test_what_three_forks_share_with_their_parent_is_counted_once() -> None:
    shared = cost(FORK_THREE.format(first="pass"))
    assert 100 * MIB < shared.peak < 180 * MIB
    assert shared.python == shared.peak


def test_what_each_fork_has_written_is_counted_for_each() -> None:
    assert cost(FORK_THREE.format(first=WRITE_EACH_PAGE)).peak > 400 * MIB
