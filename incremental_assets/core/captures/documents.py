"""States from their documents: each capture reads its own position back."""

from __future__ import annotations

import json

from incremental_assets.core.captures.registry import BUILT_IN, named
from incremental_assets.core.errors import CheckpointsTooNew
from incremental_assets.core.model.clock_reading import moment
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import VERSION, State
from incremental_assets.core.model.terms import Terms
from incremental_assets.core.model.unfilled import Unfilled
from incremental_assets.core.strategies import Strategy


def state_of(text: str) -> State:
    """The state that `State.to_json` wrote; a document of a later version is refused rather than half understood."""
    document = json.loads(text)
    if document["version"] > VERSION:
        raise CheckpointsTooNew(
            f"the state of a sync is written in version {document['version']} and this program reads up to {VERSION}: upgrade incremental-assets"
        )
    terms, identity, compared = document["terms"], document["identity"], document.get("compared")
    capture = named(document["capture"]) if "capture" in document else BUILT_IN["cursor"]
    return State(
        app_id=document["app_id"],
        seq=document["seq"],
        batch_id=document["batch_id"],
        terms=Terms(
            Strategy(terms["strategy"]),
            tuple(terms["key"]),
            terms["cursor"],
            terms.get("fallback"),
            terms.get("collation"),
            terms.get("where", ""),
            terms.get("target", ""),
            terms.get("masks", ""),
            terms.get("column_names", ""),
        ),
        position=capture.position(document),
        identity=SourceIdentity.from_json(identity) if identity is not None else None,
        clock=moment(document["clock"]) if document["clock"] is not None else None,
        looked=moment(document["looked"]) if "looked" in document else None,
        rows=document["rows"],
        columns=tuple(document.get("columns", {}).items()),
        absent=tuple(document.get("absent", ())),
        discarded=tuple(document.get("discarded", ())),
        changed=tuple(SchemaChange.from_json(change) for change in document.get("changed", ())),
        compared=KeysCompared.from_json(compared) if compared is not None else None,
        unfilled=Unfilled.from_json(document["unfilled"]) if document.get("unfilled") else None,
        erased=document.get("erased", False),
        pii=tuple(document.get("pii", ())),
        definition=None if document.get("definition") is None else tuple(document["definition"].items()),
    )
