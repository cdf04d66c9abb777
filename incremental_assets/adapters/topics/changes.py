"""Records as changes of a table's rows: values in the order of its columns, or the reason why one cannot land. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from incremental_assets.adapters.json_values import Decoder, Unfit, decoder, widened
from incremental_assets.adapters.topics.connect_types import Unknown, coding
from incremental_assets.adapters.topics.events import (
    DELETED,
    MESSAGE,
    READ,
    TRUNCATED,
    Event,
    Fields,
    ReadDocument,
    event_of,
    json_document,
    key_of,
)
from incremental_assets.adapters.topics.record import Poison, Record
from incremental_assets.adapters.topics.source_order import Place, Uncovered, place_of
from incremental_assets.adapters.topics.unsent import is_unsent
from incremental_assets.core.config.kafka_settings import Format, Records
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.topic_columns import NAMES

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Reject:
    """Why a record cannot land, the column of that where it is one, and the row as it came."""

    column: str | None
    reason: str
    row: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Change:
    """One record. `values` are those of the table's own columns; of these `unsent` did not come with it. `key` is None where it is not known."""

    record: Record
    op: str = ""
    key: Key | None = None
    values: list[Any] = field(default_factory=list)
    unsent: frozenset[int] = frozenset()
    place: Place | None = None
    order: int = -1
    """By which changes of a row are ordered; -1 where it has no order of its own."""
    reject: Reject | None = None


_Reader = tuple[str, Decoder]
"""A column, and how it is read from the records of one schema."""
_ABSENT = "the record does not have this column, which the table has: it was written before the column was there, or after it was dropped"
_PERHAPS_UNSENT = frozenset({str, list, dict})


class Decoding:
    """Decodes the records of one table. What it found out of a schema it keeps until another one comes."""

    def __init__(self, spec: TableSpec, form: Format, read: ReadDocument = json_document) -> None:
        self._form, self._read = form, read
        self._are_events = form.records is Records.EVENTS
        self._columns = {each.name: Coding.parse(each.source_type) for each in spec.columns if each.name not in NAMES}
        self.names = tuple(self._columns)
        self.key = () if spec.traits.keeps_versions else spec.key
        self._key_places = tuple(self.names.index(name) for name in self.key)
        self._known: dict[tuple[str, ...], tuple[Fields | None, list[_Reader]]] = {}
        self.newest: tuple[int, Fields] | None = None
        """The schema of the row that was written last, with its time."""

    def change(self, record: Record) -> Change:
        """Raises Uncovered, and what `read` does but Poison."""
        try:
            event = event_of(record, self._form, self._read)
            place = None if event.source is None else self._place(event.source)
        except Poison as poison:
            return self._poisoned(record, str(poison))
        # Its octets are said: kept with each change of a range, they would be most of what it holds.
        said = Record(record.partition, record.offset, record.at, None, None)
        found = Change(said, event.op, place=place, order=-1 if place is None else place.number)
        self._note(record, event)
        if self.key:
            self._identify(found, event)
            if event.is_row and event.row is not None and found.reject is None:
                self._fill(found, event, event.row)
        elif event.row is not None:
            self._fill(found, event, event.row)
        else:
            self._fill(found, event._replace(op=DELETED, fields=event.key_fields), event.key or {})
        return found

    def _poisoned(self, record: Record, why: str) -> Change:
        """With its key, where that can be read: the row in the copy is not what the source has by now."""
        found = Change(record)
        if self.key:
            with suppress(Poison):
                key, fields = key_of(record, self._read)
                self._identify(found, Event("", key, fields))
        found.reject = Reject(None, why)
        return found

    def _place(self, source: Mapping[str, Any]) -> Place | None:
        try:
            return place_of(source)
        except Uncovered:
            if self.key:
                raise
            # Each record is a row by itself, whatever comes before it.
            return None

    def told(self, change: Change) -> Mapping[str, Any]:
        """The values that came with it, by their columns."""
        return {name: value for name, value in zip(self.names, change.values, strict=True) if value is not None}

    def _note(self, record: Record, event: Event) -> None:
        if event.fields is not None and event.is_row and (self.newest is None or record.at >= self.newest[0]):
            self.newest = (record.at, event.fields)

    def _identify(self, change: Change, event: Event) -> None:
        if event.op in (TRUNCATED, MESSAGE):
            return
        if event.key is None:
            change.reject = Reject(None, "the record has no key, by which its row would be known", event.row or {})
            return
        values: list[Any] = []
        for name, read in self._readers(self.key, event.key_fields):
            value = event.key.get(name)
            if value is None:
                change.reject = Reject(name, "the record's key does not have this column", event.key)
                return
            try:
                values.append(read(value))
            except Unfit as unfit:
                change.reject = Reject(name, str(unfit), event.key)
                return
        change.key = tuple(values)

    def _fill(self, change: Change, event: Event, row: Mapping[str, Any]) -> None:
        if self._are_events and not any(name in row for name in self.names):
            change.reject = Reject(None, "the record has none of the columns", row)
        unsent = []
        is_partial = self._are_events or event.op == DELETED
        is_whole = event.op == READ or self._are_events
        values = change.values
        for name, read in self._readers(self.names, event.fields):
            value = row.get(name)
            found = None
            if value is None:
                if not is_partial and name not in row:
                    change.reject = change.reject or Reject(name, _ABSENT, row)
            elif not is_whole and type(value) in _PERHAPS_UNSENT and is_unsent(value):
                unsent.append(len(values))
            else:
                try:
                    found = read(value)
                except Unfit as unfit:
                    change.reject = change.reject or Reject(name, str(unfit), row)
            values.append(found)
        if unsent:
            change.unsent = frozenset(unsent)
        if change.key is not None and change.reject is None:
            own = tuple([values[place] for place in self._key_places])
            if own != change.key:
                change.reject = Reject(self.key[0], "the record's key is not that of its row", row)

    def _readers(self, names: tuple[str, ...], fields: Fields | None) -> list[_Reader]:
        known = self._known.get(names)
        if known is None or known[0] != fields:
            known = (fields, [self._reader(name, fields) for name in names])
            self._known[names] = known
        return known[1]

    def _reader(self, name: str, fields: Fields | None) -> _Reader:
        target = self._columns[name]
        if fields is None:
            return name, decoder(target)
        own = next((each for each in fields if each.get("field") == name), None)
        if own is None:
            return name, decoder(target)
        try:
            written = coding(own)
        except Unknown as unknown:
            return name, partial(_refuse, str(unknown))
        read = widened(written, target)
        why = f"the record has it as {written.type}, and the table as {target.type}"
        return name, read or partial(_refuse, why)


def _refuse(why: str, _value: Any) -> Any:
    raise Unfit(why)
