"""The captures: built-in ones by name, others by entry point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType

from incremental_assets.core.captures.capture import Capture
from incremental_assets.core.captures.compare import COMPARE
from incremental_assets.core.captures.cursor import CURSOR
from incremental_assets.core.captures.files import FILES
from incremental_assets.core.captures.log import LOG
from incremental_assets.core.captures.topic import TOPIC
from incremental_assets.core.captures.transaction import TRANSACTION
from incremental_assets.core.captures.whole import WHOLE
from incremental_assets.core.errors import SetupError
from incremental_assets.core.model.table import TableSpec

GROUP = "incremental_assets.captures"
"""Entry points under which another package offers a capture of its own."""
BUILT_IN: Mapping[str, Capture] = MappingProxyType(
    {
        "cursor": CURSOR,
        "transaction": TRANSACTION,
        "whole": WHOLE,
        "compare": COMPARE,
        "log": LOG,
        "topic": TOPIC,
        "files": FILES,
    }
)


def capture_of(spec: TableSpec) -> Capture:
    """How this table knows what changed."""
    return named(spec.capture or _by_terms(spec))


def _by_terms(spec: TableSpec) -> str:
    cursor = spec.read_by
    if cursor is None:
        return "compare" if spec.compares else "whole"
    return "transaction" if cursor.by_transaction else "cursor"


@cache
def named(name: str) -> Capture:
    """The capture of that name. SetupError where no installed package has one."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    for entry in entry_points(group=GROUP, name=name):
        loaded: Capture = entry.load()
        return loaded
    raise SetupError(
        f"no installed package has a capture {name!r}; there are {', '.join(BUILT_IN)}, and those of the entry points {GROUP!r}"
    )
