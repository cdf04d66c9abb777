"""Syncs that die at a step of their read of the log, whichever database it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from incremental_assets.adapters.logs.mysql import logged as mysql
from incremental_assets.adapters.logs.mysql.source_log import SourceLog as Binlog
from incremental_assets.adapters.logs.postgresql import logged as postgresql
from incremental_assets.adapters.logs.postgresql.source_log import SourceLog as SlotLog


class Died(BaseException):
    """The process has ended here, as far as the source and the disk can tell."""


@contextmanager
def at_moments(moment: Callable[[str], None]) -> Iterator[None]:
    """It is called before each step of a read of a log in this block, with the step's name."""

    def slot(self: postgresql.Logged, *arguments: Any) -> None:
        self.log = SlotLog(*arguments, moment=moment)

    def binlog(self: mysql.Logged, *arguments: Any) -> None:
        self.log = Binlog(*arguments, moment=moment)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgresql.Logged, "__init__", slot)
        patch.setattr(mysql.Logged, "__init__", binlog)
        yield


@contextmanager
def dying(number: int, moments: list[str]) -> Iterator[None]:
    """Reads of the log in this block end at the step of this number, by a process that is gone."""

    def moment(name: str) -> None:
        moments.append(name)
        if len(moments) == number:
            raise Died(name)

    with at_moments(moment):
        yield
