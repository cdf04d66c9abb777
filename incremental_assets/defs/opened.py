"""What the definitions need of an open configuration: ports and specs, by the source's name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Protocol, cast

from incremental_assets.core.config.resolve import Resolved
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.ports import Checkpoints, Ports, Probe

RESOURCE = "runtime"
"""The key under which the definitions bind it. Components live side by side, and each has a key of its own."""


class Opened(Protocol):
    """`incremental_assets.resources.runtime.Runtime`, or plain fakes."""

    @property
    def checkpoints(self) -> Checkpoints:
        """The checkpoint table."""

    @property
    def process(self) -> str:
        """This process, in a form that another one can look up."""

    @property
    def observer(self) -> Observer:
        """The observer of everything that happens."""

    def has_ended(self, process: str) -> bool:
        """Whether such a process is certainly gone; one that cannot be seen from here may be alive."""

    def remove_tracebacks(self, than: timedelta) -> int:
        """How many were older, of what no command expected."""

    def probe(self, source: str) -> Probe:
        """Light queries, without Spark."""

    def ports(self, source: str) -> Ports:
        """All that a sync needs; opens Spark only when rows move."""

    def specs(self, source: str) -> Resolved:
        """Every table as it will be synced, and the reason for each that cannot be."""

    def expect_full_reads(self, whole: Iterable[TableId]) -> None:
        """These tables will be read whole; a session opened after this is sized for it."""


def opened(resources: Any, key: str) -> Opened:
    """What is bound under the key, from a run's or a tick's resources."""
    return cast(Opened, getattr(resources, key))
