"""A database, its publication and slot, and its log as the product reads it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments
from incremental_assets.adapters.databases.postgresql.greeting import greet
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.postgresql.decode import Decoder, types_in
from incremental_assets.adapters.logs.postgresql.kinds import kinds_of
from incremental_assets.adapters.logs.postgresql.peek import peek
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Spool
from incremental_assets.adapters.logs.postgresql.transactions import Transactions
from incremental_assets.adapters.logs.postgresql.wire import Wire
from incremental_assets.adapters.logs.segments.writing import Changes
from incremental_assets.core.captures.log.lsn import lsn_of
from incremental_assets.demo.postgres import EmbeddedPostgres


@dataclass
class LogStand:
    """`execute` runs each statement in a transaction of its own, as the superuser."""

    postgres: EmbeddedPostgres
    database: str
    slot_name: str
    opened: list[psycopg.Connection[Any]] = field(default_factory=list)

    @property
    def slot(self) -> Slot:
        return Slot(self.slot_name, "p")

    def connect(self, **changes: Any) -> psycopg.Connection[Any]:
        self.opened.append(psycopg.connect(self.postgres.dsn(self.database), **{"autocommit": True, **changes}))
        return self.opened[-1]

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.postgres.dsn(self.database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def together(self, *statements: str) -> None:
        """In one transaction."""
        with psycopg.connect(self.postgres.dsn(self.database)) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def value(self, statement: str) -> Any:
        dsn = self.postgres.dsn(self.database)
        with psycopg.connect(dsn, autocommit=True, client_encoding="utf8") as connection:
            row = connection.execute(statement.encode()).fetchone()
        return None if row is None else row[0]

    def make_slot(self) -> None:
        self.execute(f"SELECT pg_create_logical_replication_slot('{self.slot_name}', 'pgoutput')")

    def publish(self, table: str, definition: str, *statements: str, before: tuple[str, ...] = ()) -> int:
        """Make a table and publish it; its number."""
        self.execute(
            *before, f"CREATE TABLE {table} ({definition})", *statements, f"ALTER PUBLICATION p ADD TABLE {table}"
        )
        return int(self.value(f"SELECT '{table}'::regclass::oid::bigint"))

    def address(self, **changes: Any) -> Address:
        place = {
            "host": "127.0.0.1",
            "port": self.postgres.port,
            "database": self.database,
            "user": self.postgres.user,
            "password": self.postgres.password,
        }
        return Address(dialect="postgresql", **(place | changes))

    @contextmanager
    def asked(self) -> Iterator[Asked]:
        with Patient.connect(**driver_arguments(self.address())) as connection:  # type: ignore[arg-type]
            connection.autocommit = True
            greet(connection, self.address())
            yield Asked(connection, self.address())

    def flushed(self) -> int:
        return lsn_of(self.value("SELECT pg_current_wal_flush_lsn()::text"))

    def confirmed(self) -> int:
        return lsn_of(
            self.value(
                f"SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = '{self.slot_name}'"
            )
        )

    def decoded(
        self, followed: Mapping[int, Followed], *, binary: bool = True, position: int = 0
    ) -> tuple[list[Changes], dict[int, str]]:
        """All that the slot holds, decoded, and of tables that failed why; nothing is consumed."""
        found: list[Changes] = []
        return found, self.decoder(followed, found, binary=binary, position=position).failed

    def decoder(
        self,
        followed: Mapping[int, Followed],
        found: list[Changes] | None = None,
        *,
        binary: bool = True,
        position: int = 0,
    ) -> Decoder:
        """That which has gone through all that the slot holds."""
        with self.asked() as asked, Spool(Path(tempfile.gettempdir())) as spool:
            peek(asked, self.slot, self.flushed(), spool, binary=binary)
            wire = Wire.of(asked.encoding)
            kinds = kinds_of(asked, types_in(spool, followed, wire))
            decoder = Decoder(Transactions(position), followed, kinds, wire)
            for block in spool.blocks():
                changes = decoder.decode(block).changes
                if found is not None:
                    found.extend(changes)
        return decoder

    def changes(self, *followed: Followed, binary: bool = True, position: int = 0) -> list[Changes]:
        """Of tables that do not fail."""
        found, failed = self.decoded({each.oid: each for each in followed}, binary=binary, position=position)
        assert failed == {}
        return found

    def rows(self, *followed: Followed, binary: bool = True, position: int = 0) -> list[dict[str, Any]]:
        """The same as rows, without columns of ours that are NULL."""
        return [
            told(row)
            for each in self.changes(*followed, binary=binary, position=position)
            for row in each.rows.to_pylist()
        ]

    def close(self) -> None:
        for connection in self.opened:
            connection.close()


def told(row: dict[str, Any]) -> dict[str, Any]:
    """A change in few words: what happened, and the source's own values; which of them were not sent."""
    own = {name: value for name, value in row.items() if name.startswith("_sync_")}
    found = {"change": own["_sync_change"], **{name: value for name, value in row.items() if name not in own}}
    if own["_sync_unsent"] is not None:
        found["unsent"] = own["_sync_unsent"]
    if own["_sync_column"] is not None:
        found["rejected"] = (own["_sync_column"], own["_sync_reason"])
    return found


def bits(column: pa.ChunkedArray | pa.Array) -> list[object]:
    """Values such that two are equal where they are so bit for bit: NaN is itself, and -0.0 is not 0.0."""
    if pa.types.is_floating(column.type):
        return [None if value is None else value.hex() for value in column.to_pylist()]
    if pa.types.is_temporal(column.type):
        return column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64()).to_pylist()
    return column.to_pylist()
