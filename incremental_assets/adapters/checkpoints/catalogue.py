"""The last seen catalogue as JSON: table shapes, kept so that definitions load without a source."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

from incremental_assets.core.model.table import Arrival, Column, Fidelity, RoleZone, Sequence, TableId, TableShape


def dump_shapes(shapes: Iterable[TableShape]) -> str:
    """One JSON document of all shapes."""
    return json.dumps([asdict(shape) for shape in shapes], separators=(",", ":"))


def load_shapes(text: str) -> tuple[TableShape, ...] | None:
    """Read them back; None if another version of this program wrote them in another form: the next look at the source writes them again."""
    try:
        return tuple(_shape(document) for document in json.loads(text))
    except (KeyError, TypeError, ValueError):
        return None


def _shape(document: dict[str, Any]) -> TableShape:
    known = {field.name: document[field.name] for field in fields(TableShape) if field.name in document}
    lists = {name: _tuple(value) for name, value in known.items() if isinstance(value, list)}
    read = {
        "id": TableId(**document["id"]),
        "columns": tuple(_column(column) for column in document["columns"]),
        "arrivals": tuple(Arrival(arrival) for arrival in document.get("arrivals", ())),
        "zones": tuple(RoleZone(**zone) for zone in document.get("zones", ())),
        "numbering": _column(document["numbering"]) if document.get("numbering") else None,
    }
    return TableShape(**{**known, **lists, **read})


def _column(document: dict[str, Any]) -> Column:
    sequence = document.get("sequence")
    read = {"fidelity": Fidelity(document["fidelity"]), "sequence": Sequence(**sequence) if sequence else None}
    return Column(**{**document, **read})


def _tuple(value: Any) -> Any:
    return tuple(_tuple(item) for item in value) if isinstance(value, list) else value
