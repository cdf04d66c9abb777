"""Debezium's events of a table of ten columns, as its connector for PostgreSQL writes them without a schema, and what the table is behind them.

Envelopes are those of Debezium 3.6.1 with `schemas.enable: false` and `decimal.handling.mode: string`, of a table that sends no more of a row before than its key: some 600 octets each.
A delete is followed by its tombstone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

TYPES = {
    "id": "bigint", "customer": "integer", "status": "text", "total": "numeric(12,2)", "quantity": "integer",
    "price": "double precision", "day": "date", "note": "text", "ok": "boolean", "at": "timestamp with time zone",
}  # fmt: skip
"""Of the table, in the words of PostgreSQL."""
DECLARED = "{id: bigint, customer: int, status: string, total: 'decimal(12,2)', quantity: int, price: double, day: date as days, note: string, ok: boolean, at: timestamp}"
"""The same as a topic of the configuration says it."""
PARTITIONS = 4
GONE_OF = 20
"""Of so many rows that change, one goes."""
_BEGUN, _BEGUN_AT = 1_795_417_000_000, "2026-11-23T06:56:40"
"""When the first event is, in milliseconds since 1970, and as a text."""
_FIRST_DAY = 19_723
_LSN, _PER_EVENT = 23_842_008, 120
_NOTHING = ",".join(f'"{name}":null' for name in TYPES if name != "id")


class Written(NamedTuple):
    """A record as a producer takes it."""

    partition: int
    at: int
    key: bytes
    value: bytes | None


@dataclass
class Orders:
    """The table. A row of this id is the same whenever it is made, but for its quantity and when it was written."""

    quantities: list[int] = field(default_factory=lambda: [0])
    """By id, beginning at 0, which no row has."""
    times: list[int] = field(default_factory=lambda: [0])
    """Microseconds behind the second in which a row was written."""
    alive: bytearray = field(default_factory=lambda: bytearray(1))
    events: int = 0
    _chance: random.Random = field(default_factory=lambda: random.Random(20))

    def snapshot(self, rows: int) -> Iterator[Written]:
        """So many rows, as a connector reads them that has just begun."""
        for _ in range(rows):
            yield self._event("r", self._come())

    def changes(self, number: int) -> Iterator[Written]:
        """Half of them are rows that come, and the others change rows that are there, anywhere in the table, or remove them."""
        for place in range(number):
            if place % 2 == 0:
                yield self._event("c", self._come())
                continue
            key = self._any()
            if place // 2 % GONE_OF == 0:
                self.alive[key] = 0
                gone = self._event("d", key)
                yield gone
                yield gone._replace(value=None)
            else:
                self.quantities[key] += 1
                self.times[key] = self.events % 1_000_000
                yield self._event("u", key)

    def table(self) -> pa.Table:
        """The rows that are there."""
        there = pa.array([key for key, is_there in enumerate(self.alive) if is_there], pa.int64())
        ids = there.to_numpy()
        day = pa.array(_FIRST_DAY + ids % 365, pa.int32()).cast(pa.date32())
        moment = pc.add(pc.take(pa.array(self.times, pa.int64()), there), _BEGUN * 1000)
        columns = (
            there,
            pa.array(ids % 1000, pa.int32()),
            pa.repeat(pa.scalar("open"), len(there)),
            pa.array(ids % 997, pa.int64()).cast(pa.decimal128(21, 2)).cast(pa.decimal128(12, 2)),
            pc.take(pa.array(self.quantities, pa.int32()), there),
            pa.array(ids * 0.5, pa.float64()),
            day,
            pc.binary_join_element_wise("note of", there.cast(pa.string()), " "),
            pa.array(ids % 2 == 0),
            moment.cast(pa.timestamp("us", "UTC")),
        )
        return pa.table(dict(zip(TYPES, columns, strict=True)))

    def _come(self) -> int:
        self.quantities.append(len(self.quantities) % 7)
        self.times.append(self.events % 1_000_000)
        self.alive.append(1)
        return len(self.quantities) - 1

    def _any(self) -> int:
        while True:
            key = self._chance.randrange(1, len(self.alive))
            if self.alive[key]:
                return key

    def _event(self, op: str, key: int) -> Written:
        self.events += 1
        lsn = _LSN if op == "r" else _LSN + self.events * _PER_EVENT
        ms = _BEGUN + self.events // 100
        # A snapshot names the last of its rows, too, which nobody here asks for.
        source = (
            f'{{"version":"3.6.1.Final","connector":"postgresql","name":"shop","ts_ms":{ms},"snapshot":"{str(op == "r").lower()}","db":"shop",'
            f'"sequence":"[\\"{lsn - 48}\\",\\"{lsn}\\"]","ts_us":{ms}000,"ts_ns":{ms}000000,"schema":"public","table":"orders","txId":{700 + self.events // 50},'
            f'"lsn":{lsn},"xmin":null,"origin":null,"origin_lsn":null}}'
        )
        before, after = (f'{{"id":{key},{_NOTHING}}}', "null") if op == "d" else ("null", self._row(key))
        value = (
            f'{{"before":{before},"after":{after},"source":{source},"transaction":null,"op":"{op}",'
            f'"ts_ms":{ms + 200},"ts_us":{ms + 200}352,"ts_ns":{ms + 200}352970}}'
        )
        return Written(key % PARTITIONS, ms, b'{"id":%d}' % key, value.encode())

    def _row(self, key: int) -> str:
        return (
            f'{{"id":{key},"customer":{key % 1000},"status":"open","total":"{key % 997}.00","quantity":{self.quantities[key]},"price":{key * 0.5},'
            f'"day":{_FIRST_DAY + key % 365},"note":"note of {key}","ok":{str(key % 2 == 0).lower()},"at":"{_BEGUN_AT}.{self.times[key]:06d}Z"}}'
        )
