"""Which slot of a source is read, by which publication."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot of the plugin pgoutput, and the publication that says which tables it is about."""

    name: str
    publication: str
