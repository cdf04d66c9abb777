"""The logs that are read, each by the folder of its database beside this file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.registry import folder_of
from incremental_assets.core.config.database_settings import LogTerms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from incremental_assets.adapters.databases.probe import SqlProbe
    from incremental_assets.adapters.databases.spark_source import SparkSource
    from incremental_assets.core.model.state import State
    from incremental_assets.core.model.table import TableSpec
    from incremental_assets.core.ports import Source

    CopyRows = Callable[[TableSpec, Sequence[str], pa.Table | None], pa.Table]
    Quarantined = Callable[[TableSpec, Sequence[str]], pa.Table]
    Held = Callable[[TableSpec, int], pa.Table]


class Logged(Protocol):
    """A source whose tables may be read from its log."""

    def probe(self, source: str) -> SqlProbe:
        """Light queries to it, and to its log."""

    def source(self, inner: SparkSource, copy: CopyRows, quarantined: Quarantined, held: Held) -> Source:
        """The same, read for real; `copy` gives some columns of a copy's rows: of those with some keys, or of all; `quarantined` those of its quarantine, as texts; `held` the keys that its contract has held by a sequence."""

    def versions(self, spec: TableSpec, state: State, copy: CopyRows) -> AbstractContextManager[str] | None:
        """The path of a file with all versions of rows by which a copy came to this state, while the block lasts; None where it did not come there by the log. `copy` is that of before."""


def logged(address: Address, terms: LogTerms, folder: Path) -> Logged:
    """`folder` is where what was read of the log is kept until all tables have landed it."""
    module = import_module(f"{__package__}.{folder_of(address.dialect)}.logged")
    found: Logged = module.Logged(address, terms, folder)
    return found
