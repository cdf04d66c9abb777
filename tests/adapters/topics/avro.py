"""Records in Avro, as Kafka Connect's converter writes them, and a registry in memory that has their schemas."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import fastavro

from incremental_assets.adapters.topics.avro.documents import AvroDocuments
from incremental_assets.adapters.topics.avro.registry import UnknownSchema
from incremental_assets.adapters.topics.events import ReadDocument, json_document
from incremental_assets.core.config.kafka_settings import Format, Records
from incremental_assets.core.errors import SourceUnreachable

_PRIMITIVE = {
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float32": "float",
    "float64": "double",
    "float": "float",
    "double": "double",
}


@dataclass
class FakeRegistry:
    """Implements `avro.registry.Registry`."""

    texts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    is_away: bool = False
    asked: int = 0

    def schema(self, number: int) -> tuple[str, ...]:
        self.asked += 1
        if self.is_away:
            raise SourceUnreachable("shop: the schema registry at http://registry does not answer (refused)")
        if number not in self.texts:
            raise UnknownSchema("the registry does not have it")
        return self.texts[number]

    def register(self, *texts: str) -> int:
        """Its number: the same for the same schema."""
        known = next((number for number, found in self.texts.items() if found == texts), None)
        if known is None:
            known = len(self.texts) + 1
            self.texts[known] = texts
        return known

    def documents(self, form: Format) -> ReadDocument:
        """Implements `events.Documents`."""
        if not form.is_avro:
            return json_document
        return AvroDocuments(self, by_logical=form.records is Records.EVENTS)

    def as_bytes(self, document: Any) -> bytes | None:
        """A record of a document, by the schema that comes with it in Kafka Connect's JSON, else by one that its values have."""
        if document is None or isinstance(document, bytes):
            return document
        if set(document) == {"schema", "payload"}:
            schema, payload = avro_schema(document["schema"]), avro_value(document["schema"], document["payload"])
        else:
            schema, payload = _schema_of(document, _Names()), document
        return self.written(schema, payload)

    def written(self, schema: Any, payload: Any) -> bytes:
        stream = BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(_bare(schema)), payload)
        return b"\x00" + self.register(json.dumps(schema)).to_bytes(4, "big") + stream.getvalue()


def _bare(schema: Any) -> Any:
    """Without what would have the writer convert values."""
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if isinstance(schema, dict):
        return {key: _bare(value) for key, value in schema.items() if key != "logicalType"}
    return schema


class _Names:
    """Those of records, which have to differ in a schema."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def __next__(self) -> str:
        return f"Record{next(self._numbers)}"


def _schema_of(value: Any, names: _Names) -> Any:
    if value is None:
        return ["null", "string"]
    if isinstance(value, Mapping):
        fields = [{"name": name, "type": _schema_of(each, names)} for name, each in value.items()]
        return {"type": "record", "name": next(names), "fields": fields}
    if isinstance(value, list):
        return {"type": "array", "items": _schema_of(value[0], names)}
    return {bool: "boolean", int: "long", float: "double", str: "string", bytes: "bytes"}[type(value)]


def avro_schema(connect: Mapping[str, Any]) -> Any:
    """A schema of Kafka Connect as its converter for Avro translates it, each type that it has a name for under that name once."""
    return _translated(connect, {}, _Names())


def _translated(connect: Mapping[str, Any], known: dict[str, str], names: _Names) -> Any:
    kind, meant = connect["type"], connect.get("name")
    text = json.dumps({key: value for key, value in connect.items() if key not in ("field", "optional", "default")})
    found: Any
    if kind == "struct" and text in known:
        found = known[text]
    elif kind == "struct":
        name = known[text] = next(names)
        fields = []
        for each in connect["fields"]:
            inner = _translated(each, known, names)
            fields.append({"name": each["field"], "type": inner} | ({"default": None} if each.get("optional") else {}))
        found = {"type": "record", "name": name, "namespace": "lab.shop", "fields": fields}
        known[text] = f"lab.shop.{name}"
    elif kind == "array":
        found = {"type": "array", "items": _translated(connect["items"], known, names)}
    elif kind == "map":
        found = {"type": "map", "values": _translated(connect["values"], known, names)}
    else:
        found = {"type": _PRIMITIVE.get(kind, kind)}
        if kind in ("int8", "int16"):
            found["connect.type"] = kind
    if isinstance(found, dict):
        found |= _meaning(connect, meant)
    return ["null", found] if connect.get("optional") else found


def _meaning(connect: Mapping[str, Any], meant: str | None) -> dict[str, Any]:
    if meant is None:
        return {}
    own: dict[str, Any] = {"connect.version": 1, "connect.name": meant}
    parameters = connect.get("parameters")
    if parameters:
        own["connect.parameters"] = parameters
    if meant == "org.apache.kafka.connect.data.Decimal":
        digits = int((parameters or {}).get("connect.decimal.precision", 64))
        own |= {"logicalType": "decimal", "precision": digits, "scale": int(parameters["scale"])}
    logical = {"Date": "date", "Time": "time-millis", "Timestamp": "timestamp-millis"}
    if meant.startswith("org.apache.kafka.connect.data.") and (name := logical.get(meant.rpartition(".")[2])):
        own["logicalType"] = name
    return own


def avro_value(connect: Mapping[str, Any], value: Any) -> Any:
    """A value of Kafka Connect's JSON as Avro has it."""
    if value is None:
        return None
    kind = connect["type"]
    if kind == "struct":
        return {each["field"]: avro_value(each, value.get(each["field"])) for each in connect["fields"]}
    if kind == "array":
        return [avro_value(connect["items"], each) for each in value]
    if kind == "map":
        return {key: avro_value(connect["values"], each) for key, each in value.items()}
    if kind in ("float", "double"):
        return float(value)
    return base64.b64decode(value) if kind == "bytes" else value
