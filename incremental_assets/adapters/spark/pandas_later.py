"""Keep pyarrow from importing pandas, half a CPU second, just to see that a list or a number is none of its own."""

from __future__ import annotations

import importlib
import sys
from importlib.abc import MetaPathFinder

_PANDAS = "pandas"


def pandas_later() -> None:
    """Let pyarrow look for pandas now and not find it; code that converts to pandas imports it, for pyarrow as well.

    For a process of ours that has one thread so far: another thread would not find it either.
    """
    if _PANDAS in sys.modules:
        return
    arrow, absent = importlib.import_module("pyarrow"), _Absent()
    sys.meta_path.insert(0, absent)
    try:
        arrow.scalar(None)
    finally:
        sys.meta_path.remove(absent)


class _Absent(MetaPathFinder):
    """Makes an import of pandas fail as if it were not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        """Asked before all other finders."""
        if fullname == _PANDAS:
            raise ModuleNotFoundError(f"{fullname} is not imported yet", name=fullname)
