"""What a record says: an event, in the words of its format. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from incremental_assets.adapters.json_values import NoJson, document, document_of_anybody
from incremental_assets.adapters.topics.record import Poison, Record
from incremental_assets.core.config.kafka_settings import Format, Records

READ, CREATED, UPDATED, DELETED, TRUNCATED, MESSAGE, TOMBSTONE = "r", "c", "u", "d", "t", "m", "tombstone"
"""What happened, in Debezium's letters; a record without a value says that its key is gone, too."""
_ROWS = (READ, CREATED, UPDATED)
TELL_ROWS = (*_ROWS, DELETED)
_KNOWN = (*TELL_ROWS, TRUNCATED, MESSAGE)
_OWN = "__"
"""How the names begin that `ExtractNewRecordState` adds to a row."""


Fields = Sequence[Mapping[str, Any]]
"""The columns of a row as a schema of Kafka Connect has them."""
ReadDocument = Callable[[bytes, str], tuple[Any, Any]]
"""What octets of a record say, and the schema of Kafka Connect that comes with it, None where none does; the text names them in its reasons. Raises Poison."""
Documents = Callable[[Format], ReadDocument]
"""How octets of a format are read."""


class Event(NamedTuple):
    """One record. Where it brings no schema, its fields are None."""

    op: str
    key: Mapping[str, Any] | None = None
    key_fields: Fields | None = None
    row: Mapping[str, Any] | None = None
    """Of a delete the row before, as far as the source tells it."""
    fields: Fields | None = None
    source: Mapping[str, Any] | None = None
    """Where in the log of its source it is."""

    @property
    def is_row(self) -> bool:
        """Whether it tells how a row is now."""
        return self.op in _ROWS


def event_of(record: Record, form: Format, read: ReadDocument) -> Event:
    """Raises Poison, and what `read` does."""
    records = form.records
    if records is Records.EVENTS:
        if record.value is None:
            raise Poison("the record has no value")
        payload, schema = read(record.value, "value")
        # Beside JSON the columns are declared, whatever it brings.
        return Event(CREATED, row=_object(payload, "value"), fields=schema["fields"] if form.is_avro else None)
    key, key_fields = key_of(record, read)
    if record.value is None:
        if key is None:
            raise Poison("the record has neither a key nor a value")
        return Event(TOMBSTONE, key, key_fields)
    payload, schema = read(record.value, "value")
    payload = _object(payload, "value")
    if records is Records.ROWS:
        return _unwrapped(payload, schema, key, key_fields)
    op, source = payload.get("op"), payload.get("source")
    if op not in _KNOWN or not isinstance(source, dict):
        raise Poison("the value is no envelope of Debezium: it has no `op` and `source`")
    side = "before" if op == DELETED else "after"
    row = payload.get(side)
    if op in _ROWS and not isinstance(row, dict):
        raise Poison(f"the envelope has no row in `{side}`")
    row = row if isinstance(row, dict) else None
    return Event(op, key, key_fields, row, _fields(schema, side), source)


def _unwrapped(payload: Mapping[str, Any], schema: Any, key: Any, key_fields: Fields | None) -> Event:
    deleted = str(payload.get(f"{_OWN}deleted")).lower() == "true"
    op = payload.get(f"{_OWN}op", DELETED if deleted else UPDATED)
    if op not in TELL_ROWS:
        raise Poison("the row has an `__op` that is no operation of Debezium")
    row = {name: value for name, value in payload.items() if not name.startswith(_OWN)}
    fields = schema.get("fields") if isinstance(schema, dict) else None
    own = None if fields is None else [each for each in fields if not str(each.get("field")).startswith(_OWN)]
    return Event(DELETED if deleted else op, key, key_fields, row, own)


def key_of(record: Record, read: ReadDocument) -> tuple[Mapping[str, Any] | None, Fields | None]:
    """The columns of a record's key, and the schema that they bring. Raises Poison, and what `read` does."""
    if record.key is None:
        return None, None
    payload, schema = read(record.key, "key")
    if payload is None:
        return None, None
    fields = schema.get("fields") if isinstance(schema, dict) else None
    return _object(payload, "key"), fields


def _fields(schema: Any, side: str) -> Fields | None:
    if not isinstance(schema, dict):
        return None
    found = next((each for each in schema.get("fields") or () if each.get("field") == side), None)
    return None if found is None else found.get("fields")


def _unpacked(found: Any) -> tuple[Any, Any]:
    """Payload and schema, where the converter writes both."""
    if isinstance(found, dict) and len(found) == 2 and set(found) == {"schema", "payload"}:
        return found["payload"], found["schema"]
    return found, None


def in_json(form: Format) -> ReadDocument:
    """Implements `Documents` of a source that has no registry."""
    return _event_document if form.records is Records.EVENTS else json_document


def json_document(data: bytes, what: str) -> tuple[Any, Any]:
    """Implements `ReadDocument`, of those who write a name once."""
    return _read(data, what, document)


def _event_document(data: bytes, what: str) -> tuple[Any, Any]:
    return _read(data, what, document_of_anybody)


def _read(data: bytes, what: str, decode: Callable[[bytes], Any]) -> tuple[Any, Any]:
    try:
        return _unpacked(decode(data))
    except NoJson as error:
        raise Poison(f"the {what} {error}") from None


def _object(found: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise Poison(f"the {what} is no JSON object")
    return found
