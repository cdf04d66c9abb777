"""Processes that die within a commit of ours: at which point, and that they did."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import IO, NoReturn, ParamSpec

from incremental_assets.adapters.delta.history import by_tasks as history
from incremental_assets.adapters.delta.tasks.files import data_file, deletion_vector, marked_file
from incremental_assets.adapters.delta.tasks.matching import share_task, sharing
from incremental_assets.adapters.lake_store import local

Given = ParamSpec("Given")

# Each is a fork of one process that has imported what they need, which takes longer than they live.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    ["deltalake", sharing.__name__, share_task.__name__, "tests.adapters.quarantine.offline"]
)


def killed(play: Callable[Given, None], *args: Given.args, **kwargs: Given.kwargs) -> None:
    """A process that plays this, and dies of it."""
    dying = _processes.Process(target=play, args=args, kwargs=kwargs)
    dying.start()
    dying.join()
    assert dying.exitcode == 9


def die_at(point: str) -> None:
    """From now on, this process at the point of this name."""
    if point == "half of the data file":
        data_file.pq = SimpleNamespace(ParquetWriter=_half)  # type: ignore[assignment]
    elif point == "the data file":
        data_file.Told.text = _die  # type: ignore[method-assign]
    elif point == "the vector":
        marked_file.deletion_vector.write = _then_die(deletion_vector.write)  # type: ignore[assignment]
    elif point == "the commit, without its name":
        local._linked = _die
    elif point == "the commit":
        local._linked = _then_die(local._linked)
    elif point == "the first of several shares":
        share_task.apply = _then_die(share_task.apply)
    elif point == "the versions":
        history.together = _then_die(history.together)
    else:
        raise ValueError(point)


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
