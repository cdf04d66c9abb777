"""What is begun again when the engine goes away, or another writer was first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from incremental_assets.core.errors import EngineLost, Overtaken

Answer = TypeVar("Answer")


def persist(work: Callable[[], Answer]) -> Answer:
    """Do it, and once more should the engine be lost on the way, or another commit come between: work that died half done is found.

    Once is enough. An engine ends once. And a run that was killed leaves an engine one operation of a table to end, which commits once.
    """
    try:
        return work()
    except (EngineLost, Overtaken):
        return work()
