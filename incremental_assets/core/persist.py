"""What is begun again when the engine goes away."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from incremental_assets.core.errors import EngineLost

Answer = TypeVar("Answer")


def persist(work: Callable[[], Answer]) -> Answer:
    """Do it, and once more should the engine be lost on the way: the session is another one then, and work that died half done is found."""
    try:
        return work()
    except EngineLost:
        return work()
