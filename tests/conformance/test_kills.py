"""T10: kill -9 at every named point of a sync, whatever it is doing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.mart import DECISIVE, Marts, assert_healed, moments
from tests.conformance.points import Point
from tests.conformance.scenario import scenario

ROOT = Path(__file__).parents[2]
EVERYWHERE = {"first load": tuple(Point), "incremental": tuple(Point)}


@scenario(
    "T10",
    "kill -9 of the whole process at each of nine points of a first load and of an incremental sync, and at four points of a backfill and a full refresh, "
    "striking upsert, append and full_refresh in turn, the other tables wherever they are",
    holds="one more sync: every table equals the source, nothing is there twice, no staged batch, lease or open sequence is left",
    long=True,
)
@pytest.mark.parametrize(("running", "point", "table"), moments(EVERYWHERE, DECISIVE), ids=str)
def test_a_killed_sync_is_made_good_by_the_next(marts: Marts, running: str, point: Point, table: str) -> None:
    with marts.running(running) as desk:
        command = [sys.executable, "-m", "tests.conformance.process", str(desk.shop.config), point, table, running]
        done = subprocess.run(
            command,
            check=False,
            cwd=ROOT,
            env=desk.shop.environment,
            capture_output=True,
            text=True,
            timeout=240,
            start_new_session=True,
        )
        assert done.returncode == -signal.SIGKILL, (done.returncode, done.stdout, done.stderr)

        assert_healed(desk)
