"""The available dialects: built-in ones by name, others by entry point.

Ours are found without the metadata of installed packages, whose reading would slow every start by as much as a look at a source takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points

from incremental_assets.adapters.databases.dialect import Dialect
from incremental_assets.core.config.dialects import BUILT_IN, GROUP
from incremental_assets.core.errors import SetupError

_SHARED = {"mariadb": ("mysql", "MARIADB")}
"""Dialects that lie in the folder of another one: that folder, and the name of their constant there."""


def dialect_of(name: str) -> Dialect:
    """The dialect of that name. SetupError where no installed package has one."""
    if name in BUILT_IN:
        _, constant = _SHARED.get(name, (name, "DIALECT"))
        found: Dialect = getattr(import_module(f"{__package__}.{folder_of(name)}.dialect"), constant)
        return found
    for entry in entry_points(group=GROUP, name=name):
        loaded: Dialect = entry.load()
        return loaded
    raise SetupError(
        f"no installed package has a dialect {name!r}; there are {', '.join(BUILT_IN)}, and those of the entry points {GROUP!r}"
    )


def folder_of(name: str) -> str:
    """The name of the folder of a built-in dialect, beside this file."""
    folder, _ = _SHARED.get(name, (name, "DIALECT"))
    return folder


def java_packages() -> Iterator[str]:
    """The Java packages of the JDBC drivers that built-in dialects use."""
    yield from (package for name in BUILT_IN if (package := dialect_of(name).java_package))
