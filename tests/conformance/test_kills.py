"""T10: kill -9 at every named point of a sync, whatever it is doing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.mart import MODES, Marts, assert_healed, working
from tests.conformance.points import Point
from tests.conformance.scenario import scenario

ROOT = Path(__file__).parents[2]


def moments() -> list[tuple[str, Point, str]]:
    """Every point in every mode; the table that it strikes goes round, so that each point strikes every strategy."""
    chosen = []
    for turn, running in enumerate(MODES):
        for number, point in enumerate(Point):
            tables = working(running)
            chosen.append((running, point, tables[(number + turn) % len(tables)]))
    return chosen


@scenario(
    "T10",
    "kill -9 of the whole process at each of nine points of a first load, an incremental sync, a backfill and a full refresh, "
    "striking upsert, append and full_refresh in turn, the other tables wherever they are",
    holds="one more sync: every table equals the source, nothing is there twice, no staged batch, lease or open sequence is left",
    long=True,
)
@pytest.mark.parametrize(("running", "point", "table"), moments(), ids=str)
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
