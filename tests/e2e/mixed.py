"""A source of twelve tables, every strategy with every type of cursor, and both sides of each asked in SQL without the product."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from tests.shop import Shop

Value = datetime | int
"""A cursor's value here: a moment in UTC without its zone, or a number."""
FIRST = datetime.fromisoformat("0001-01-01"), -(2**63)
LAST = datetime.fromisoformat("9999-01-01"), 2**63


@dataclass(frozen=True)
class Span:
    """`[lower, upper)`."""

    lower: Value
    upper: Value

    def meets(self, other: Span) -> bool:
        return max(self.lower, other.lower) < min(self.upper, other.upper)

    def within(self, others: Sequence[Span]) -> bool:
        """`others` never touch each other, as the ledger keeps them."""
        return self.lower >= self.upper or any(each.lower <= self.lower and self.upper <= each.upper for each in others)


@dataclass(frozen=True)
class Kind:
    """One table: its cursor column and type, and how long a partition is."""

    name: str
    cursor: str = ""
    type: str = ""
    every: str = "day"
    key: bool = True
    start: datetime | None = None

    @property
    def is_integer(self) -> bool:
        return self.type == "integer"

    def span(self, key: str) -> Span:
        """What a partition stands for, reckoned from its name alone."""
        if self.is_integer:
            lower, upper = key.split("-")
            return Span(int(lower), int(upper))
        if self.every == "hour":
            begin = datetime.fromisoformat(f"{key[:10]}T{key[11:]}")
            return Span(begin, begin + timedelta(hours=1))
        begin = datetime.fromisoformat(key)
        later = (begin + timedelta(days=31)).replace(day=1) if self.every == "month" else begin + timedelta(days=1)
        return Span(begin, later)

    def value(self, text: str | None) -> Value | None:
        """A value as the checkpoint table writes it."""
        if text is None:
            return None
        return int(text) if self.is_integer else _plain(datetime.fromisoformat(text))

    def literal(self, value: Value) -> str:
        """In SQL, the same for PostgreSQL and for the lake."""
        if self.is_integer:
            return str(value)
        return f"{self.type if self.type == 'date' else 'timestamp'} '{value:{'%Y-%m-%d' if self.type == 'date' else '%Y-%m-%d %H:%M:%S.%f'}}'"


TIMES = ("date", "datetime", "timestamp")
DAYS, OLDEST = 9, 6
"""The grid begins nine days ago, and the oldest rows of most tables are six days old."""


def kinds(now: datetime) -> dict[str, Kind]:
    """Every table by its name."""
    begin = (now - timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    both = [
        Kind(f"{strategy}_{kind}", {"date": "on_day", "integer": "id"}.get(kind, "at"), kind, key=strategy == "upsert")
        for strategy in ("append", "upsert")
        for kind in (*TIMES, "integer")
    ]
    return {
        kind.name: kind
        for kind in (
            *both,
            Kind("whole"),
            Kind("heap", key=False),
            Kind("below_the_grid", "at", "timestamp", every="month"),
            Kind("from_yesterday", "at", "timestamp", every="hour", start=begin),
        )
    }


def tables(now: datetime) -> str:
    """The list under `tables:`; `heap` is not listed."""
    listed = ["- {table: public.whole, strategy: full_refresh}"]
    for kind in kinds(now).values():
        if kind.name.startswith(("append", "upsert")):
            zone = ", zone: UTC" if kind.type == "datetime" else ""
            size = "partitions: {size: 100}" if kind.is_integer else ""
            listed.append(
                f"- {{table: public.{kind.name}, cursor: {{column: {kind.cursor}, type: {kind.type}{zone}}}, strategy: {kind.name.split('_')[0]}"
                + (f", {size}" if size else "")
                + "}"
            )
    month, hour = now.replace(day=1), now - timedelta(days=2)
    begin = kinds(now)["from_yesterday"].start
    listed.append(
        f"- {{table: public.below_the_grid, cursor: {{column: at, type: timestamp}}, strategy: upsert, partitions: {{every: month, from: {month:%Y-%m-%d}}}}}"
    )
    listed.append(
        f"- {{table: public.from_yesterday, cursor: {{column: at, type: timestamp}}, strategy: upsert, start: {begin:%Y-%m-%d}, partitions: {{every: hour, from: {hour:%Y-%m-%d}}}}}"
    )
    return "\n".join(listed)


def options(now: datetime) -> str:
    """More keys of the source: the sensor may look as often as it is told to."""
    return f"every: 1s\nunlisted: full_refresh\npartitions: {{every: day, from: {now - timedelta(days=DAYS):%Y-%m-%d}}}"


def fill(shop: Shop) -> None:
    """Sixty rows each, spread over six days; those of `from_yesterday` over sixty hours, of `below_the_grid` over 240 days."""
    many = "generate_series(1, 60) n"
    for strategy, key in (("append", ""), ("upsert", " PRIMARY KEY")):
        shop.execute(
            f"CREATE TABLE {strategy}_date (id int{key}, note text, on_day date NOT NULL)",
            f"CREATE TABLE {strategy}_datetime (id int{key}, note text, at timestamp NOT NULL)",
            f"CREATE TABLE {strategy}_timestamp (id int{key}, note text, at timestamptz NOT NULL)",
            f"CREATE TABLE {strategy}_integer (id bigint{key}, note text)",
            f"INSERT INTO {strategy}_date SELECT n, 'first', (now() AT TIME ZONE 'UTC')::date - n % {OLDEST} FROM {many}",
            f"INSERT INTO {strategy}_datetime SELECT n, 'first', now() AT TIME ZONE 'UTC' - n % {OLDEST} * interval '1 day' - n * interval '1 minute' FROM {many}",
            f"INSERT INTO {strategy}_timestamp SELECT n, 'first', now() - n % {OLDEST} * interval '1 day' - n * interval '1 minute' FROM {many}",
            f"INSERT INTO {strategy}_integer SELECT n * 5, 'first' FROM {many}",
        )
    shop.execute(
        "CREATE TABLE whole (id int PRIMARY KEY, note text)",
        "CREATE TABLE heap (note text, price numeric(10, 2))",
        "CREATE TABLE below_the_grid (id int PRIMARY KEY, note text, at timestamptz NOT NULL)",
        "CREATE TABLE from_yesterday (id int PRIMARY KEY, note text, at timestamptz NOT NULL)",
        f"INSERT INTO whole SELECT n, 'first' FROM {many}",
        f"INSERT INTO heap SELECT 'first', n % 7 FROM {many}",
        f"INSERT INTO below_the_grid SELECT n, 'first', now() - n * interval '4 days' FROM {many}",
        f"INSERT INTO from_yesterday SELECT n, 'first', now() - n * interval '1 hour' FROM {many}",
    )


@dataclass(frozen=True)
class Sides:
    """The database through psycopg, the copy through delta-rs, the ledger through sqlite3."""

    shop: Shop

    def source(self, query: str) -> list[tuple[Any, ...]]:
        with self.shop.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            return [tuple(map(_plain, row)) for row in connection.execute(query).fetchall()]  # type: ignore[arg-type]

    def copy(self, name: str, query: str) -> list[tuple[Any, ...]]:
        """`query` names the table as in the source."""
        found = QueryBuilder().register(name, DeltaTable(self.shop.lake(name))).execute(query)
        return [tuple(map(_plain, row.values())) for row in pa.table(found).to_pylist()]

    def counts(self, name: str, where: str = "true") -> tuple[int, int]:
        """Rows in the source, and in the copy."""
        query = f"SELECT count(*) FROM {name} WHERE {where}"
        return self.source(query)[0][0], self.copy(name, query)[0][0]

    def lacking(self, kind: Kind, below: Value | None) -> int:
        """Rows of the source that the copy lacks or holds differently, of those with a cursor under `below` and not under `start`."""
        columns = (
            "note, price"
            if kind.name == "heap"
            else f"id, note{', ' + kind.cursor if kind.cursor not in ('', 'id') else ''}"
        )
        where = f" WHERE {kind.cursor} < {kind.literal(below)}" if below is not None else ""
        where += f" AND {kind.cursor} >= {kind.literal(kind.start)}" if where and kind.start else ""
        query = f"SELECT {columns} FROM {kind.name}{where}"
        return (Counter(self.source(query)) - Counter(self.copy(kind.name, query))).total()

    def doubled(self, name: str) -> int:
        """Keys that the copy holds more than once."""
        return len(self.copy(name, f"SELECT id FROM {name} GROUP BY id HAVING count(*) > 1"))

    def moments(self, rows: Sequence[tuple[Any, ...]]) -> list[Value]:
        """The one column of some rows, as cursor values."""
        return [_moment(value) for (value,) in rows]

    def lowest(self, kind: Kind) -> Value:
        """The table's first row, from `start` on."""
        where = f" WHERE {kind.cursor} >= {kind.literal(kind.start)}" if kind.start else ""
        return _moment(self.source(f"SELECT min({kind.cursor}) FROM {kind.name}{where}")[0][0])

    def highest(self, kind: Kind) -> Value:
        return _moment(self.source(f"SELECT max({kind.cursor}) FROM {kind.name}")[0][0])

    def coverage(self, kind: Kind) -> list[Span]:
        """The ledger of what has landed and settled, as the newest state in the checkpoint table has it."""
        query = (
            "SELECT state FROM checkpoints WHERE table_name = ? AND state IS NOT NULL ORDER BY event_id DESC LIMIT 1"
        )
        found = self._ledger(query, kind.name)
        pairs = json.loads(found[0][0])["coverage"] if found else []
        return [self._span(kind, *(end and end[1] for end in pair)) for pair in pairs]

    def landed(self, kind: Kind) -> list[Span]:
        """The windows of all its syncs and backfills that have landed, as far as a cursor had come when each was over."""
        query = """
            SELECT window_lower, window_upper, completed_at FROM incremental_watermarks
            WHERE source_table = ? AND status = 'landed' ORDER BY completed_at"""
        spans = []
        for lower, upper, completed in self._ledger(query, f"shop.public.{kind.name}"):
            end = upper or (None if kind.is_integer else datetime.fromisoformat(completed).isoformat())
            spans.append(self._span(kind, lower, end))
        return spans

    def watermark(self, kind: Kind) -> Value | None:
        query = "SELECT new_watermark FROM checkpoints WHERE table_name = ? AND state IS NOT NULL ORDER BY event_id DESC LIMIT 1"
        found = self._ledger(query, kind.name)
        return kind.value(found[0][0]) if found else None

    def _span(self, kind: Kind, lower: str | None, upper: str | None) -> Span:
        side = 1 if kind.is_integer else 0
        first, last = kind.value(lower), kind.value(upper)
        return Span(FIRST[side] if first is None else first, LAST[side] if last is None else last)

    def _ledger(self, query: str, name: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.shop.folder / "checkpoints.db")) as connection:
            return connection.execute(query, [name]).fetchall()


def now_utc() -> datetime:
    """Without its zone, as everything here."""
    return datetime.now(UTC).replace(tzinfo=None)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value.normalize() if isinstance(value, Decimal) else value


def _moment(value: Any) -> Value:
    return value if isinstance(value, datetime | int) else datetime.fromisoformat(value.isoformat())
