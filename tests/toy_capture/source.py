"""The source: what it looks like in the file, and how it is opened and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, READ_FLAGS
from incremental_assets.core.config.addresses import absolute
from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.references import located
from incremental_assets.core.config.rules import Mistake
from incremental_assets.core.config.scalars import Secret, Text
from incremental_assets.core.config.settings import Reference, SourceConfig, SourceSettings
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.moment import Free
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import OpenSource
from tests.toy_capture.capture import Seen, offsets_of, ranges_of
from tests.toy_capture.log import EventLog, Row, Topic

SCHEMA = "topic"
_COLUMNS = {"partition": "int", "offset": "bigint", "id": "bigint", "operation": "string", "status": "string"}

# --- in the file ----------------------------------------------------------------------------------------------


class EventsDocument(SourceDocument):
    """Events in a file."""

    file: Annotated[Text, Field(description="The log, relative to this file.")]
    token: Secret | None = None


@dataclass(frozen=True, slots=True)
class EventsSettings(SourceSettings):
    """Where the log is, and what it is opened with."""

    file: str
    token: Reference | str | None = None

    @property
    def secrets(self) -> tuple[Reference, ...]:
        """The token's."""
        return (self.token,) if isinstance(self.token, Reference) else ()


class EventsKind:
    """Implements `SourceKind`."""

    capture = "events"
    document = EventsDocument

    def mistakes(self, document: EventsDocument, now: datetime) -> Iterator[Mistake]:
        """It is a file of JSON."""
        if not document.file.endswith(".json"):
            yield ("file",), "a log of events is a file of JSON; write the name of one that ends with .json"

    def configured(self, document: EventsDocument, source: SourceConfig, folder: Path) -> SourceConfig:
        """By its path."""
        return replace(
            source, settings=EventsSettings(str(absolute(document.file, folder)), located(document.token, folder))
        )


KIND = EventsKind()

# --- opened ---------------------------------------------------------------------------------------------------


def shape_of(source: str, topic: str) -> TableShape:
    """A topic as a table: its rows are keyed by `id`, and each event is one by its partition and offset."""
    columns = tuple(
        Column(name, kind, kind, Fidelity.EXACT, nullable=name == "status") for name, kind in _COLUMNS.items()
    )
    return TableShape(
        TableId(source, SCHEMA, topic), columns, primary_key=("id",), unique_keys=(("partition", "offset"),)
    )


@dataclass
class EventProbe:
    """Implements `core.ports.Probe`: which topics there are, where each ends, and for how long."""

    log: Callable[[], EventLog]
    name: str
    rows: None = None

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every topic."""
        return tuple(shape_of(self.name, topic) for topic in self.log().topics)

    def bound(self) -> Free:
        """Nothing can be open in it."""
        return Free(self.log().clock)

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[Seen, ...]:
        """The ends of all, by one look."""
        log = self.log()
        return tuple(Seen(log.topics[look.spec.id.name].ends, Free(log.clock)) for look in looks)

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """A second for each event that has not landed."""
        log = self.log()
        return tuple(
            float(sum(log.topics[look.spec.id.name].ends) - sum(offsets_of(look.state).next if look.state else ()))
            for look in looks
        )


@dataclass(frozen=True)
class EventPart:
    """Implements `spark.read_part.ReadPart`: the rows of a partition, as a task takes them."""

    rows: tuple[Row, ...]
    budget: None = None

    @property
    def size(self) -> int:
        """As many bytes as they are expected to have."""
        return 64 * len(self.rows)

    def batches(self) -> Iterator[pa.Table]:
        """All of them, with what each does to the copy."""
        columns = {
            f"c{place}": pa.array([row[name] for row in self.rows], required_type(kind))
            for place, (name, kind) in enumerate(_COLUMNS.items())
        }
        flags = {name: pa.nulls(len(self.rows), pa.string()) for name in READ_FLAGS if name != LATE}
        late = {LATE: pa.array([False] * len(self.rows))}
        operations = pa.array([row[OPERATION] for row in self.rows], pa.string())
        yield pa.table({**columns, **flags, **late, OPERATION: operations})


@dataclass(frozen=True)
class EventSnapshot:
    """Implements `core.ports.Snapshot`: the events of closed ranges, which are what they are whenever they are read."""

    offsets: Mapping[int, tuple[int, ...]]
    parts: tuple[EventPart, ...]
    rejected: int = 0
    keys: None = None
    selected: None = None

    @property
    def frame(self) -> list[Row]:
        """All rows."""
        return [row for part in self.parts for row in part.rows]

    @property
    def rows(self) -> int:
        """As many as land, or leave the copy."""
        return len(self.frame)


def latest(spec: TableSpec, topic: Topic, number: int, first: int, end: int) -> tuple[Row, ...]:
    """What a range of a partition does to a copy: of an upsert the last event of each key; else every event is a row."""
    found: dict[object, Row] = {}
    for offset, event in topic.read(number, first, end):
        row: Row = dict(zip(_COLUMNS, (number, offset, *event), strict=True))
        gone = spec.traits.one_row_per_key and event.operation == Operation.GONE
        row[OPERATION] = str(Operation.GONE if gone else Operation.PUT)
        found[event.key if spec.traits.one_row_per_key else offset] = row
    return tuple(found.values())


@dataclass
class EventSource:
    """Implements `core.ports.Source`: reads the ranges of a plan."""

    log: Callable[[], EventLog]

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[EventSnapshot]:
        """A closed range needs nothing to be held."""
        topic, ranges = self.log().topics[plan.spec.id.name], ranges_of(plan)
        yield EventSnapshot(
            {
                each.partition: tuple(offset for offset, _ in topic.read(each.partition, each.first, each.end))
                for each in ranges
            },
            tuple(EventPart(latest(plan.spec, topic, each.partition, each.first, each.end)) for each in ranges),
        )

    @property
    def differing(self) -> None:
        """Nothing: it tells only what comes."""


class OpenEvents:
    """Implements `core.ports.OpenSource`."""

    def __init__(self, source: SourceConfig, lake: str) -> None:
        assert isinstance(source.settings, EventsSettings)
        self._settings = source.settings
        self.probe, self.source = EventProbe(self._log, source.name), EventSource(self._log)

    def _log(self) -> EventLog:
        try:
            return EventLog.load(Path(self._settings.file))
        except OSError as error:
            raise SourceUnreachable(f"the log {self._settings.file} cannot be read ({error.strerror})") from None

    def close(self) -> None:
        """Nothing is open."""


def is_there(rows: Sequence[Row]) -> list[Row]:
    """The rows of a batch that land."""
    return [{name: row[name] for name in _COLUMNS} for row in rows if row[OPERATION] == Operation.PUT]


def opened(source: SourceConfig, lake: str) -> OpenSource:
    """The entry point of the group `incremental_assets.sources`."""
    return OpenEvents(source, lake)
