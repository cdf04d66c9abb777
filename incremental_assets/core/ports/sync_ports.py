"""All ports that one sync needs, as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from incremental_assets.core.errors import EngineLost, SourceRefused
from incremental_assets.core.model.erased import NothingErased
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.ports.checkpoints import Checkpoints
from incremental_assets.core.ports.erasures import Erasures
from incremental_assets.core.ports.lake import (
    Lake,
    LakeAuditor,
    LakeCompactor,
    LakeHistorian,
    LakeKeys,
    LakeQuarantine,
    LakeReader,
    LakeRetention,
    LakeRows,
    LakeWriter,
)
from incremental_assets.core.ports.registrar import Registrar
from incremental_assets.core.ports.source import DifferingRows, Probe, Source, SourceRows
from incremental_assets.core.ports.staging import Stage

_Ability = TypeVar("_Ability")


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports that one sync of one table needs."""

    probe: Probe
    source: Source
    stage: Stage
    lake: Lake
    checkpoints: Checkpoints
    erasures: Erasures = field(default_factory=NothingErased)
    """Keys that were erased from copies."""
    observer: Observer = field(default_factory=Observer)
    """The observer of what happens; by default one that does nothing."""
    registrar: Registrar | None = None
    """Makes copies known to data catalogues; None where none is configured."""
    lost_engine: Callable[[], EngineLost | None] = lambda: None
    """The engine that this process has used and left because it ended; what had begun on it may end in any error."""

    def source_rows(self, spec: TableSpec) -> SourceRows:
        """What the source's rows of a table can be asked. SourceRefused where its rows are asked nothing."""
        return _asked(self.probe.rows, spec)

    def differing_rows(self, spec: TableSpec) -> DifferingRows:
        """What reads of a table only what differs from its copy. SourceRefused as above."""
        return _asked(self.source.differing, spec)

    @property
    def reader(self) -> LakeReader:
        """The lake, for queries to its logs."""
        return self.lake

    @property
    def writer(self) -> LakeWriter:
        """The lake, for a sync."""
        return self.lake

    @property
    def auditor(self) -> LakeAuditor:
        """The lake, for checks."""
        return self.lake

    @property
    def historian(self) -> LakeHistorian:
        """The lake, for the versions of its rows."""
        return self.lake

    @property
    def by_key(self) -> LakeKeys:
        """The lake, for comparisons by key."""
        return self.lake

    @property
    def rows(self) -> LakeRows:
        """The lake, for rows that people look at."""
        return self.lake

    @property
    def quarantine(self) -> LakeQuarantine:
        """The lake, for rows that contracts hold."""
        return self.lake

    @property
    def compactor(self) -> LakeCompactor:
        """The lake, for maintenance."""
        return self.lake

    @property
    def retention(self) -> LakeRetention:
        """The lake, for what it keeps longer than it has to."""
        return self.lake


def _asked(ability: _Ability | None, spec: TableSpec) -> _Ability:
    if ability is None:
        raise SourceRefused(f"{spec.id}: its source tells what comes, and is not asked for the rows that it has")
    return ability
