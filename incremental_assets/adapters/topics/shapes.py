"""The table that is made of a topic: its columns as the configuration declares them, or as the schema of the newest record does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from incremental_assets.adapters.topics.connect_types import Unknown, codings
from incremental_assets.adapters.topics.events import TELL_ROWS, Event, ReadDocument, event_of, json_document
from incremental_assets.adapters.topics.record import Poison, Record
from incremental_assets.core.config.kafka_settings import Records, Topic
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.topic_columns import NAMES, OF_CHANGE, OF_POSITION, OF_RECORD, PLACE
from incremental_assets.core.strategies import Strategy, traits_of


@dataclass(frozen=True, slots=True)
class Described:
    """The columns and the key of a topic; `why` where nothing tells them."""

    columns: Mapping[str, Coding]
    key: tuple[str, ...] = ()
    why: str = ""


def declared(topic: Topic) -> Described | None:
    """As it is configured; None where its records are to tell."""
    return Described(dict(topic.columns), topic.key) if topic.columns else None


def described(topic: Topic, records: Iterable[Record], read: ReadDocument = json_document) -> Described:
    """As the newest of these records tells that tells of a row, and brings its schema. Raises what `read` does but Poison."""
    newest: tuple[tuple[int, int], Event] | None = None
    for record in records:
        try:
            event = event_of(record, topic.format, read)
        except Poison:
            continue
        if (
            event.op in TELL_ROWS
            and event.fields is not None
            and (newest is None or (record.at, record.offset) > newest[0])
        ):
            newest = (record.at, record.offset), event
    if newest is None:
        cure = "" if topic.format.is_avro else "write them as `columns` and `key` below `topics`, or "
        return Described(
            {},
            why=f"the newest records of the topic {topic.name!r} bring no schema that says what columns it has; {cure}wait for the next change",
        )
    event = newest[1]
    try:
        found = codings(event.fields or ())
    except Unknown as unknown:
        return Described({}, why=f"{unknown}")
    # A table without a key has none in its records either.
    return Described(found, tuple(event.key or ()))


def shape_of(source: str, topic: Topic, strategy: Strategy, found: Described) -> TableShape:
    """With what tells of the record that a row comes from."""
    table = TableId(source, *topic.schema_and_name)
    if found.why:
        return TableShape(table, (), undescribed=found.why)
    taken = sorted(name for name in found.columns if name.lower() in NAMES)
    if taken:
        return TableShape(
            table,
            (),
            undescribed=f"the topic has a column {taken[0]!r}, which is the name of one that a copy of a topic has of its own; have the connector rename it",
        )
    versions = traits_of(strategy).keeps_versions
    key = PLACE if versions else found.key
    columns = tuple(
        Column(name, str(coding), coding.type, Fidelity.EXACT, nullable=name not in key)
        for name, coding in found.columns.items()
    )
    placed = (OF_POSITION,) if topic.format.records is Records.ENVELOPES else ()
    return TableShape(table, (*columns, *OF_RECORD, *placed, *(OF_CHANGE if versions else ())), primary_key=key)
