"""Reads closed ranges of topics: each record decoded, each row known once, or each record a row."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.databases.file_part import RowsPart
from incremental_assets.adapters.spark.own_names import REJECT_REASON
from incremental_assets.adapters.topics.changes import Change, Decoding, Reject
from incremental_assets.adapters.topics.completing import NOWHERE, CopyRows, completed, emptied
from incremental_assets.adapters.topics.connect_types import Unknown, codings
from incremental_assets.adapters.topics.events import Documents, in_json
from incremental_assets.adapters.topics.folding import OtherLog, folded
from incremental_assets.adapters.topics.record import Broker
from incremental_assets.adapters.topics.rows import rows_of
from incremental_assets.adapters.topics.source_order import COVERED, Uncovered
from incremental_assets.adapters.topics.tombstones import Tombstones
from incremental_assets.adapters.uncollected import uncollected
from incremental_assets.core.captures.topic.position import Log
from incremental_assets.core.captures.topic.reading import TopicReading, of_topic
from incremental_assets.core.config.kafka_settings import Records, Topic
from incremental_assets.core.errors import SchemaChanged, SourceExchanged, SourceRefused
from incremental_assets.core.model.cures import full_refresh, sync
from incremental_assets.core.model.paths import tombstones_path
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.topic_columns import POSITION
from incremental_assets.core.planning.plan import SyncPlan


@dataclass(frozen=True)
class Read:
    """Implements `core.ports.Snapshot` and `core.captures.topic.reading.TopicSnapshot`."""

    rows: int
    rejected: int
    parts: tuple[RowsPart, ...]
    log: Log
    keys: None = None
    selected: None = None

    @property
    def frame(self) -> Any:
        """Of a Spark elsewhere, which does not see this machine's files."""
        raise SourceRefused(
            "records of a topic are read by tasks on this machine: sync its tables by a session or an engine of the same machine"
        )


class TopicSource:
    """Implements `core.ports.Source`."""

    def __init__(
        self,
        broker: Broker,
        topics: Mapping[TableId, Topic],
        copy: CopyRows,
        lake: str,
        documents: Documents = in_json,
    ) -> None:
        self._broker, self._topics, self._copy, self._lake = broker, topics, copy, lake
        self._documents = documents

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Read]:
        """The ranges of the plan, which are what they are whenever they are read."""
        # A change is some objects, and a range some hundred thousand changes: to look for cycles among them, which they have not, takes a quarter of its time.
        with uncollected():
            rows, log = self._read(plan)
        with tempfile.TemporaryDirectory(prefix="topic-") as folder:
            path = Path(folder) / "rows.parquet"
            pq.write_table(rows, path, compression="zstd", compression_level=1)
            rejected = len(rows) - rows.column(REJECT_REASON).null_count
            yield Read(len(rows), rejected, RowsPart.of(path, plan.spec.id), log)

    @property
    def differing(self) -> None:
        """Nothing: it tells only what comes."""

    def _read(self, plan: SyncPlan) -> tuple[pa.Table, Log]:
        spec, reading = plan.spec, of_topic(plan)
        form = self._topics[spec.id].format
        decoding = Decoding(spec, form, self._documents(form))
        changes = self._changes(plan, reading, decoding)
        try:
            if spec.traits.keeps_versions:
                rows = rows_of(spec, decoding.names, [_alone(each, decoding) for each in changes])
                log = reading.log
            else:
                rows, log = self._upsert(plan, decoding, changes)
        except OtherLog as error:
            raise SourceExchanged(
                f"{spec.id}: the topic {reading.topic!r} goes on with the log of another server, whose places are not ordered with those before ({error}), as after a failover or a restored "
                f"backup; have the connector fill a topic of another name from a new snapshot, write that as `topic`, and load the table again with {full_refresh(spec)}"
            ) from None
        _check_columns(plan, decoding)
        return rows, log

    def _changes(self, plan: SyncPlan, reading: TopicReading, decoding: Decoding) -> Iterator[Change]:
        for record in self._broker.read(reading.topic, [each for each in reading.ranges if each.size]):
            try:
                yield decoding.change(record)
            except Uncovered as connector:
                raise SourceRefused(
                    f"{plan.spec.id}: offset {record.offset} of partition {record.partition} of {reading.topic!r} is of Debezium's connector for {connector}, whose log is not ordered here: "
                    f"envelopes of {COVERED} are; have the connector unwrap them (ExtractNewRecordState) and write `format: unwrapped`, or land them with `strategy: append`"
                ) from None

    def _upsert(self, plan: SyncPlan, decoding: Decoding, changes: Iterable[Change]) -> tuple[pa.Table, Log]:
        spec, reading = plan.spec, of_topic(plan)
        by_place = self._topics[spec.id].format.records is Records.ENVELOPES
        if by_place and POSITION not in spec.shape.names:
            raise SourceRefused(
                f"{spec.id}: `columns` leaves out {POSITION}, by which a change that comes again is known from a newer one; add it to `include`"
            )
        found = folded(changes, reading.log, by_place=by_place)
        tombstones = Tombstones(tombstones_path(self._lake, spec.id, reading.id), spec)
        last = completed(plan, found, decoding, self._copy, tombstones)
        tombstones.add(last.gone if by_place else {})
        done = last.changes
        gone = emptied(plan, done, found.log, self._copy) if found.emptied and not reading.begins_anew else []
        if reading.begins_anew:
            done = [each for each in done if each.values or each.reject]
        return rows_of(spec, decoding.names, [*done, *found.lost], gone), found.log


def _alone(change: Change, decoding: Decoding) -> Change:
    """As a row of its own, which has no other to take a value from."""
    if not change.unsent or change.reject is not None:
        return change
    return replace(change, reject=Reject(decoding.names[min(change.unsent)], NOWHERE, decoding.told(change)))


def _check_columns(plan: SyncPlan, decoding: Decoding) -> None:
    """Raises SchemaChanged where the newest row of the range has a column that the table does not have."""
    if decoding.newest is None:
        return
    try:
        names = codings(decoding.newest[1])
    except Unknown:
        return
    shape = plan.spec.shape
    new = [name for name in names if name not in {*decoding.names, *shape.left_out, *plan.spec.discarded}]
    if new:
        raise SchemaChanged(
            f"{plan.spec.id}: its newest record has a column {new[0]!r}, which came while it was read; run {sync(plan.spec.id)} again, which knows it"
        )
