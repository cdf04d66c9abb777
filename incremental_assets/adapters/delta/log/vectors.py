"""Whether a table marks rows in its files as gone, or writes the files anew without them: its own property decides, whoever has set it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from incremental_assets.adapters.delta.log import protocol
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.core.model.readers import Readers

ENABLED = "delta.enableDeletionVectors"
FEATURE = "deletionVectors"
ON: Mapping[str, str] = MappingProxyType({ENABLED: "true"})


def marks_rows(properties: Mapping[str, str]) -> bool:
    """Whether rows are marked; where the property is off, or missing, they are not."""
    return properties.get(ENABLED, "").lower() == "true"


def asked_for(state: LogState) -> bool:
    """Whether a reader has to know vectors."""
    return FEATURE in protocol.of_readers(state.protocol)


def given_up(state: LogState, readers: Readers) -> list[Mapping[str, Any]]:
    """The actions by which a copy that any reader is to read stops asking for vectors, in a commit after which no file has one; none where it does not ask. Pure.

    Versions from before keep theirs, and a reader of these has to know them.
    """
    if readers is not Readers.ANY or not asked_for(state):
        return []
    properties = {name: value for name, value in state.properties.items() if name != ENABLED}
    return [
        {"protocol": protocol.without_feature(state.protocol, FEATURE)},
        {"metaData": {**state.metadata, "configuration": properties}},
    ]
