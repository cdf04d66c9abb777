"""The JSON Schema of sources.yaml, generated from the models that validate it, for completion and checks in editors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import time, timedelta
from functools import reduce
from operator import or_
from typing import Any

from pydantic import Field, create_model
from pydantic.json_schema import GenerateJsonSchema

from incremental_assets.core.config.database_document import DatabaseDocument
from incremental_assets.core.config.dialects import files, known_dialects
from incremental_assets.core.config.document import ConfigurationDocument, SourceDocument
from incremental_assets.core.config.scalars import SourceName
from incremental_assets.core.config.source_kinds import other_kinds
from incremental_assets.core.model.duration import format_duration


class _Written(GenerateJsonSchema):
    """Defaults as the file would hold them, not as pydantic writes durations and times."""

    def encode_default(self, dft: Any) -> Any:
        """One default, as text where the file holds text."""
        if isinstance(dft, timedelta):
            return format_duration(dft)
        return f"{dft:%H:%M}" if isinstance(dft, time) else super().encode_default(dft)


def schema() -> dict[str, Any]:
    """The schema (draft 2020-12). It knows keys, types, choices and patterns; what must fit together is checked by `load`."""
    others = {name: kind.document for name, kind in other_kinds().items()}
    named = dict.fromkeys(known_dialects(), DatabaseDocument) | others
    documents: dict[type[SourceDocument], list[str]] = {}
    for name, document in named.items():
        documents.setdefault(document, []).append(name)
    one: Any = reduce(or_, documents)
    of_all: Any = (dict[SourceName, one], Field(min_length=1))
    whole = create_model(
        "ConfigurationDocument",
        __base__=ConfigurationDocument,
        __doc__=ConfigurationDocument.__doc__,
        sources=of_all,
    )
    body: dict[str, Any] = _tidy(whole.model_json_schema(schema_generator=_Written))
    definitions = body["$defs"]
    for document, names in documents.items():
        # Of what is none of the others an editor takes the keys of a database, and proposes all.
        proposed = list(named) if document is DatabaseDocument else names
        definitions[document.__name__]["properties"]["dialect"] = {"enum": proposed, "type": "string"}
    sources = body["properties"]["sources"]
    sources["patternProperties"] = dict.fromkeys(sources["patternProperties"], _by_dialect(documents))
    # A database that is not a file has to have `host` and `user`.
    is_file = {"properties": {"dialect": {"enum": [*files()]}}}
    either = [{"required": ["database"]}, {"required": ["databases"]}]
    definitions["DatabaseDocument"] |= {"if": is_file, "else": {"required": ["host", "user"]}, "oneOf": either}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sources.yaml of incremental-assets",
    } | body


def _by_dialect(documents: Mapping[type[SourceDocument], Sequence[str]]) -> dict[str, Any]:
    """The document that the dialect says: of `anyOf` an editor could not tell which key is wrong."""
    chosen: dict[str, Any] = {"$ref": f"#/$defs/{DatabaseDocument.__name__}"}
    for document, names in documents.items():
        if document is not DatabaseDocument:
            is_this = {"properties": {"dialect": {"enum": list(names)}}, "required": ["dialect"]}
            chosen = {"if": is_this, "then": {"$ref": f"#/$defs/{document.__name__}"}, "else": chosen}
    return chosen


def inlined() -> dict[str, Any]:
    """The schema without references, so that it can be a part of another one."""
    whole = schema()
    definitions = whole.pop("$defs")
    del whole["$schema"]

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(item) for item in node]
        if not isinstance(node, dict):
            return node
        rest = {key: inline(value) for key, value in node.items() if key != "$ref"}
        return inline(definitions[node["$ref"].rpartition("/")[2]]) | rest if "$ref" in node else rest

    inlined: dict[str, Any] = inline(whole)
    return inlined


def _tidy(node: Any) -> Any:
    """The node without what only pydantic means: null as a choice, titles, and defaults that are null or whole mappings; keys of another pattern are refused."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "anyOf" in node:
        kept = [option for option in node["anyOf"] if option != {"type": "null"}]
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        node = rest | kept[0] | rest if len(kept) == 1 else rest | {"anyOf": kept}
    if "patternProperties" in node:
        node = node | {
            "additionalProperties": False
        }  # keys of another pattern are refused, which pydantic does not write down
    return {key: _tidy(value) for key, value in node.items() if not _is_pythons(key, value)}


def _is_pythons(key: str, value: object) -> bool:
    return (key == "title" and isinstance(value, str)) or (
        key == "default" and (value is None or isinstance(value, dict))
    )
