"""A process that dies at any point of a commit leaves the table as it was, or with the whole batch; the same batch, landed again, makes it right."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from incremental_assets.adapters.delta.tasks.matching import sharing
from tests.adapters.dying import die_at, killed
from tests.adapters.tasks.tables import Row, Table

DDL = "id bigint, note string"
FIRST: list[Row] = [(number, "a") for number in range(20_000)]
SECOND: list[Row] = [(number, "b") for number in range(0, 20_000, 5)]


def _land_and_die(folder: Path, point: str, how: str) -> None:
    """What the process does that is killed."""
    die_at(point)
    table = Table(folder, DDL, seq=1)
    sharing.LEAST_ROWS = sharing.SHARE_ROWS = 1000
    land = table.land_shared if how == "shared" else table.land
    land(Replacing((0,), compares=True), SECOND)


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
    killed(_land_and_die, tmp_path, point, how)
    landed = point == "the commit"
    before = dict(table.read())
    assert before == (dict(FIRST) | dict(SECOND) if landed else dict(FIRST))
    done = table.land(Replacing((0,), compares=True), SECOND)
    assert (done.written, done.marked) == ((0, 0) if landed else (len(SECOND), len(SECOND)))
    assert dict(table.read()) == dict(FIRST) | dict(SECOND)
