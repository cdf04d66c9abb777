"""The error tree, grouped by what the user has to do.

IncrementalAssetsError
├── fix the file        ConfigurationError, TooManyPartitions, SelectionError    exit 2
├── fix the machine     SetupError, CheckpointsUnreadable                        exit 1
├── wait and retry      Busy, SourceBusy, Paused (exit 4), SourceUnreachable,
│                       SourceFull, CheckpointsUnreachable, StoreUnreachable, ChannelDown,
│                       CatalogueUnreachable, LeaseLost, EngineLost, SparkEnded                        exit 1
├── it was ended        Interrupted                                              exit 130, 143
├── look at the source  SourceRefused, TableMissing, ColumnMissing, CursorMistyped,
│                       CursorIsNull, NoPrimaryKey, NameRefused, ZoneUnknown,
│                       ZoneDisputed                                             exit 1
├── look at the data    StageBroken, ContractBroken, CommitMissing, Overtaken    exit 1
└── stop and decide     Refused (exit 3), SourceExchanged, TargetChanged,
                        TermsChanged, SchemaChanged, LakeRefused,
                        CheckpointsTooNew, RegistrationRefused                   exit 1

Every message is one sentence that names the thing, the place and the cure. None carries a secret.
"""

from __future__ import annotations

from incremental_assets.core.errors.family import IncrementalAssetsError, sentence, sentence_of
from incremental_assets.core.errors.look_at_source import (
    ColumnMissing,
    CursorIsNull,
    CursorMistyped,
    NameRefused,
    NoPrimaryKey,
    SourceRefused,
    TableMissing,
    ZoneDisputed,
    ZoneUnknown,
)
from incremental_assets.core.errors.to_decide import (
    CheckpointsTooNew,
    CommitMissing,
    ContractBroken,
    LakeRefused,
    Overtaken,
    Refused,
    RegistrationRefused,
    SchemaChanged,
    SourceExchanged,
    StageBroken,
    TargetChanged,
    TermsChanged,
)
from incremental_assets.core.errors.to_fix import (
    CheckpointsUnreadable,
    ConfigurationError,
    Problem,
    SelectionError,
    SetupError,
    TooManyPartitions,
)
from incremental_assets.core.errors.to_retry import (
    Busy,
    CatalogueUnreachable,
    ChannelDown,
    CheckpointsUnreachable,
    EngineLost,
    Interrupted,
    LeaseLost,
    Paused,
    SourceBusy,
    SourceFull,
    SourceUnreachable,
    SparkEnded,
    StoreUnreachable,
)

__all__ = [
    "Busy",
    "CatalogueUnreachable",
    "ChannelDown",
    "CheckpointsTooNew",
    "CheckpointsUnreachable",
    "CheckpointsUnreadable",
    "ColumnMissing",
    "CommitMissing",
    "ConfigurationError",
    "ContractBroken",
    "CursorIsNull",
    "CursorMistyped",
    "EngineLost",
    "IncrementalAssetsError",
    "Interrupted",
    "LakeRefused",
    "LeaseLost",
    "NameRefused",
    "NoPrimaryKey",
    "Overtaken",
    "Paused",
    "Problem",
    "Refused",
    "RegistrationRefused",
    "SchemaChanged",
    "SelectionError",
    "SetupError",
    "SourceBusy",
    "SourceExchanged",
    "SourceFull",
    "SourceRefused",
    "SourceUnreachable",
    "SparkEnded",
    "StageBroken",
    "StoreUnreachable",
    "TableMissing",
    "TargetChanged",
    "TermsChanged",
    "TooManyPartitions",
    "ZoneDisputed",
    "ZoneUnknown",
    "sentence",
    "sentence_of",
]
