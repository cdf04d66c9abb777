"""A sync that is killed at a named point: a process of its own, which strikes itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.adapters.synced_place import SyncedPlace
from tests.conformance.points import Place, Point
from tests.conformance.stand import Stand

ROOT = Path(__file__).parents[2]


def killed(desk: Stand, point: Place, table: str, running: str) -> None:
    """A process that came to this point, and no further."""
    killed_in("tests.conformance.process", desk, point, table, running)


def killed_in(module: str, desk: Stand[Any], *arguments: str) -> None:
    """The same of a module that takes the configuration and these."""
    _killed(module, str(desk.shop.config), *arguments, at=ROOT, environment=desk.shop.environment)


def killed_at(place: SyncedPlace, point: Point | str) -> None:
    """The same of a sync of `orders`, from a source that is no database."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    arguments = ("sources.yaml", str(point), "orders", place.source)
    _killed("tests.conformance.topic_process", *arguments, at=place.folder, environment=environment)


def _killed(module: str, *arguments: str, at: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        check=False,
        cwd=at,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        start_new_session=True,
    )
    assert done.returncode == -signal.SIGKILL, (done.returncode, done.stdout, done.stderr)
