"""A sync that is killed at a named point: a process of its own, which strikes itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conformance.points import Place
from tests.conformance.stand import Stand

ROOT = Path(__file__).parents[2]


def killed(desk: Stand, point: Place, table: str, running: str) -> None:
    """A process that came to this point, and no further."""
    killed_in("tests.conformance.process", desk, point, table, running)


def killed_in(module: str, desk: Stand[Any], *arguments: str) -> None:
    """The same of a module that takes the configuration and these."""
    done = subprocess.run(
        [sys.executable, "-m", module, str(desk.shop.config), *arguments],
        check=False,
        cwd=ROOT,
        env=desk.shop.environment,
        capture_output=True,
        text=True,
        timeout=240,
        start_new_session=True,
    )
    assert done.returncode == -signal.SIGKILL, (done.returncode, done.stdout, done.stderr)
