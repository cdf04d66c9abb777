"""A process that dies at any point of a commit leaves the table as it was, or with the whole batch; the same batch, landed again, makes it right."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import IO, NoReturn

import pytest

from incremental_assets.adapters.delta.direct import (
    data_file,
    deletion_vector,
    marked_file,
    share_task,
    sharing,
)
from incremental_assets.adapters.delta.direct.unit import Replacing
from incremental_assets.adapters.delta.log import commit_file
from tests.adapters.direct.tables import Row, Table

DDL = "id bigint, note string"
FIRST: list[Row] = [(number, "a") for number in range(20_000)]
SECOND: list[Row] = [(number, "b") for number in range(0, 20_000, 5)]


def _die(*_: object, **__: object) -> NoReturn:
    os._exit(9)


def _then_die(step: Callable[..., object]) -> Callable[..., NoReturn]:
    def stepped(*asked: object, **named: object) -> NoReturn:
        step(*asked, **named)
        _die()

    return stepped


def _half(file: IO[bytes], *_: object, **__: object) -> NoReturn:
    file.write(b"PAR1")
    file.flush()
    _die()


def _die_at(point: str) -> None:
    if point == "half of the data file":
        data_file.pq = SimpleNamespace(ParquetWriter=_half)  # type: ignore[assignment]
    elif point == "the data file":
        data_file.Told.text = _die  # type: ignore[method-assign]
    elif point == "the vector":
        marked_file.deletion_vector.write = _then_die(deletion_vector.write)  # type: ignore[assignment]
    elif point == "the commit, without its name":
        commit_file._linked = _die
    elif point == "the commit":
        commit_file._linked = _then_die(commit_file._linked)
    elif point == "the first of several shares":
        share_task.apply = _then_die(share_task.apply)


def _land_and_die(folder: Path, point: str, how: str) -> None:
    """What the process does that is killed."""
    _die_at(point)
    table = Table(folder, DDL, seq=1)
    sharing.LEAST_ROWS = sharing.SHARE_ROWS = 1000
    land = table.land_shared if how == "shared" else table.land
    land(Replacing((0,), compares=True), SECOND)


# Each is a fork of one process that has imported what they need, which takes longer than they live.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["deltalake", sharing.__name__, share_task.__name__])

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
    dying = processes.Process(target=_land_and_die, args=(tmp_path, point, how))
    dying.start()
    dying.join()
    assert dying.exitcode == 9
    landed = point == "the commit"
    before = dict(table.read())
    assert before == (dict(FIRST) | dict(SECOND) if landed else dict(FIRST))
    done = table.land(Replacing((0,), compares=True), SECOND)
    assert (done.written, done.marked) == ((0, 0) if landed else (len(SECOND), len(SECOND)))
    assert dict(table.read()) == dict(FIRST) | dict(SECOND)
