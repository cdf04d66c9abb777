"""A process that dies at any point of a commit leaves the table as it was, or with the whole batch; the same batch, landed again, makes it right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from incremental_assets.adapters.delta.direct.unit import Replacing
from tests.adapters.direct.tables import Row, Table

ROOT = Path(__file__).parents[3]
DDL = "id bigint, note string"
FIRST: list[Row] = [(number, "a") for number in range(20_000)]
SECOND: list[Row] = [(number, "b") for number in range(0, 20_000, 5)]
BODY = """
import os, sys
from types import SimpleNamespace
from pathlib import Path
from incremental_assets.adapters.delta.direct import commit_file, data_file, deletion_vector, marked_file, share_task, sharing
from tests.adapters.direct import test_kills as story
from tests.adapters.direct.tables import Table

def die(*_, **__):
    os._exit(9)

def then_die(step):
    def stepped(*asked, **named):
        step(*asked, **named)
        die()
    return stepped

def half(file, *_, **__):
    file.write(b"PAR1")
    file.flush()
    die()

point = sys.argv[2]
if point == "half of the data file":
    data_file.pq = SimpleNamespace(ParquetWriter=half)
elif point == "the data file":
    data_file.Told.text = die
elif point == "the vector":
    marked_file.deletion_vector.write = then_die(deletion_vector.write)
elif point == "the commit, without its name":
    commit_file._linked = die
elif point == "the commit":
    commit_file._linked = then_die(commit_file._linked)
elif point == "the first of several shares":
    share_task.apply = then_die(share_task.apply)
table = Table(Path(sys.argv[1]), story.DDL, seq=1)
sharing.LEAST_ROWS = sharing.SHARE_ROWS = 1000
land = table.land_shared if sys.argv[3] == "shared" else table.land
land(story.Replacing((0,), compares=True), story.SECOND)
"""


POINTS = (
    "half of the data file",
    "the data file",
    "the first of several shares",
    "the vector",
    "the commit, without its name",
    "the commit",
)


@pytest.mark.parametrize(
    ("point", "how"),
    [(point, how) for point in POINTS for how in ("alone", "shared") if how == "shared" or "share" not in point],
)
def test_a_process_is_killed_after(point: str, how: str, tmp_path: Path) -> None:
    table = Table(tmp_path, DDL)
    table.land(Replacing((0,), compares=True), FIRST)
    died = subprocess.run(
        [sys.executable, "-c", BODY, str(tmp_path), point, how], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert died.returncode == 9, died.stderr
    landed = point == "the commit"
    before = dict(table.read())
    assert before == (dict(FIRST) | dict(SECOND) if landed else dict(FIRST))
    done = table.land(Replacing((0,), compares=True), SECOND)
    assert (done.written, done.marked) == ((0, 0) if landed else (len(SECOND), len(SECOND)))
    assert dict(table.read()) == dict(FIRST) | dict(SECOND)
