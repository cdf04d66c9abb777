"""What the Dagster edge asks of whoever opened the configuration: ports and specs, by the source's name."""

from __future__ import annotations

from typing import Protocol

from incremental_assets.core.ports import Checkpoints, Ports, Probe
from incremental_assets.core.resolve import Resolved

RESOURCE = "runtime"
"""The key under which the definitions bind it."""


class Opened(Protocol):
    """`resources.runtime.Runtime`, or plain fakes."""

    @property
    def checkpoints(self) -> Checkpoints:
        """The memory of what has landed."""

    def probe(self, source: str) -> Probe:
        """Light questions, without Spark."""

    def ports(self, source: str) -> Ports:
        """All that a sync needs; opens Spark only when rows move."""

    def specs(self, source: str) -> Resolved:
        """Every table as it is to be synced, and why each of the others cannot be."""
