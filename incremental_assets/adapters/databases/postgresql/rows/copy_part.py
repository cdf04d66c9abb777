"""A part of a plan's window, read by COPY under an exported snapshot, in whatever process asks for it: text from the wire, parsed into Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv as csv
from psycopg.abc import PQGen
from psycopg.generators import fetch_many
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn
from psycopg.waiting import Wait

from incremental_assets.adapters.budget import Budget, patiently
from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql import connect
from incremental_assets.adapters.databases.postgresql.asked import trusted
from incremental_assets.adapters.databases.postgresql.errors import POOLED_OUT, copying_explained, unheld
from incremental_assets.adapters.databases.postgresql.pinned import END, Limits, Terms
from incremental_assets.adapters.databases.postgresql.read_timeout import SILENT, Patient
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import LATE, RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.errors import SourceFull, StageBroken
from incremental_assets.core.model.table_id import TableId

_CHUNK = 2**20
"""Bytes of text that are parsed at once: whole rows, so that one of a gigabyte is a chunk of its own."""
_LENT_WITHIN = 20.0
"""Seconds within which a pooler lends a connection, if it has one left: its own deadline may be later than ours for a silent server."""
_GONE = (
    psycopg.errors.UndefinedObject,
    psycopg.errors.InvalidParameterValue,
    psycopg.errors.ObjectNotInPrerequisiteState,
)
"""What a server answers of a snapshot whose session has ended: of the first and second there is no file, by the third it was just ending."""
_HEX = "\\x"


@dataclass(frozen=True, slots=True)
class CopyPart:
    """Implements `spark.read_part.ReadPart`. `sql` gives `c0`, `c1`, … of these Spark types, then the four flags; `size` is in bytes, a guess."""

    address: Address
    table: TableId
    sql: str
    snapshot_id: str
    marked: bool
    """Whether its transaction may be marked as ours."""
    types: tuple[str, ...]
    size: int
    pooled: bool = False
    """Whether its session has to be lent a connection by a pooler, which one more of ours holds."""

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some thousands at a time. Raises SourceUnreachable, SourceRefused."""
        with (
            copying_explained(self.address, self.table),
            closing(patiently(self._connected, self.budget)) as connection,
        ):
            yield from self.copied(connection)
            # A pooler closes a connection that it is given back in the middle of a transaction.
            connection.execute(END)

    @property
    def budget(self) -> Budget:
        """That of the source: a part has a session of its own."""
        return self.address.budget

    def copied(self, connection: Patient) -> Iterator[pa.Table]:
        """The rows, by a session that sees the snapshot already."""
        with (
            psycopg.RawCursor(connection) as asked,
            asked.copy(f"COPY ({self.sql}) TO STDOUT (FORMAT csv)"),
        ):
            text = bytearray()
            for row in received(connection):
                text += row
                if len(text) >= _CHUNK:
                    yield self._parsed(text)
                    text = bytearray()
            if text:
                yield self._parsed(text)

    def _connected(self) -> Patient:
        with copying_explained(self.address, self.table):
            return self._opened()

    def _opened(self) -> Patient:
        connection = Patient.connect(**connect.driver_arguments(self.address))  # type: ignore[arg-type]
        # What is silent for that long is no server any more, as for the JDBC driver.
        silence = self.address.socket_timeout.total_seconds()
        connection.patience = min(silence, _LENT_WITHIN) if self.pooled else silence
        try:
            connection.autocommit = True
            trusted(self._begun(connection), None, self.address)
        except BaseException:
            connection.close()
            raise
        connection.patience = silence
        return connection

    def _begun(self, connection: Patient) -> Terms:
        # One statement reads it all, however long that takes; a server that falls silent is noticed by the patience.
        limits = Limits(None, self.marked, version=connection.info.server_version)
        try:
            begun = connection.execute(connect.import_snapshot(self.snapshot_id, limits).encode())
        except psycopg.OperationalError as error:
            # A pooler lets its client in, and then has nothing to lend as long as the session of the snapshot is there.
            if self.pooled and str(error).startswith(SILENT):
                raise SourceFull(f"{self.table}: {POOLED_OUT.format(error)}") from None
            raise
        except _GONE as error:
            raise unheld(error, self.table) from None
        while begun.nextset():
            """The answer to the last of the message."""
        return Terms.of(begun.fetchone() or ())

    def _parsed(self, text: bytearray) -> pa.Table:
        names = [*(f"c{place}" for place in range(len(self.types))), *_FLAGS]
        try:
            read = csv.read_csv(
                pa.BufferReader(pa.py_buffer(text)),
                read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=2**31 - 1),
                parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                convert_options=csv.ConvertOptions(
                    column_types={name: _travelling(kind) for name, kind in zip(names, self.types, strict=False)}
                    | _FLAGS,
                    null_values=[""],
                    true_values=["t"],
                    false_values=["f"],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
            columns = [_arrived(read.column(place), kind) for place, kind in enumerate(self.types)]
        except pa.ArrowException:
            # Without its words, which quote a value.
            raise StageBroken(
                f"{self.table}: a value came as another type than was agreed; nothing was written, please report it"
            ) from None
        return pa.table([*columns, *(read.column(name) for name in _FLAGS)], names=names)


def received(connection: psycopg.Connection[Any]) -> Iterator[memoryview]:
    """What the driver's own loop gives, which waits again for each row: half of the time of a read went there."""
    wire = connection.pgconn
    while True:
        size, row = wire.get_copy_data(1)
        if size > 0:
            yield row
        elif size == 0:
            connection.wait(_readable(wire))
        else:
            break
    (result,) = connection.wait(fetch_many(wire))
    if result.status != ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(result)


def _readable(wire: PGconn) -> PQGen[None]:
    while not (yield Wait.R):
        continue
    wire.consume_input()


_FLAGS = {REJECT_COLUMN: pa.string(), REJECT_REASON: pa.string(), RAW: pa.string(), LATE: pa.bool_()}


def _travelling(kind: str) -> pa.DataType:
    """See `types.py`: dates and moments travel as whole numbers, bytes as hexadecimal text."""
    if kind == "date":
        return pa.int32()
    if kind in ("timestamp", "timestamp_ntz"):
        return pa.int64()
    return pa.string() if kind == "binary" else required_type(kind)


def _arrived(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    if kind == "binary":
        return pa.chunked_array(
            [[None if text is None else bytes.fromhex(text[len(_HEX) :]) for text in column.to_pylist()]], pa.binary()
        )
    return column.cast(required_type(kind))
