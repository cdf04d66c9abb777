"""The interfaces to the outside world, a module for each side of it."""

from __future__ import annotations

from incremental_assets.core.ports.checkpoints import Checkpoints, Lease
from incremental_assets.core.ports.erasures import Erasures
from incremental_assets.core.ports.keys import (
    Bounded,
    ByteHashed,
    CopyKeys,
    Keys,
    PlacedRows,
    Seek,
    SourceKeys,
    Windowed,
)
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
from incremental_assets.core.ports.source import (
    Behind,
    DifferingRows,
    OpenSource,
    Probe,
    ReadsAhead,
    Snapshot,
    Source,
    SourceRows,
    TellsChanges,
)
from incremental_assets.core.ports.staging import GoneRows, Stage
from incremental_assets.core.ports.sync_ports import Ports

__all__ = [
    "Behind",
    "Bounded",
    "ByteHashed",
    "Checkpoints",
    "CopyKeys",
    "DifferingRows",
    "Erasures",
    "GoneRows",
    "Keys",
    "Lake",
    "LakeAuditor",
    "LakeCompactor",
    "LakeHistorian",
    "LakeKeys",
    "LakeQuarantine",
    "LakeReader",
    "LakeRetention",
    "LakeRows",
    "LakeWriter",
    "Lease",
    "OpenSource",
    "PlacedRows",
    "Ports",
    "Probe",
    "ReadsAhead",
    "Registrar",
    "Seek",
    "Snapshot",
    "Source",
    "SourceKeys",
    "SourceRows",
    "Stage",
    "TellsChanges",
    "Windowed",
]
