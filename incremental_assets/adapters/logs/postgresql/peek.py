"""The log read by SQL: the slot is peeked, which may be repeated, and what comes is spooled as it comes."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.rows.copy_part import received
from incremental_assets.adapters.databases.postgresql.sql import literal
from incremental_assets.adapters.logs.postgresql.octets import numbers
from incremental_assets.adapters.logs.postgresql.session import without_limit
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Block, Spool
from incremental_assets.adapters.logs.postgresql.wire import Wire
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.errors import StageBroken

_SIGNATURE = b"PGCOPY\n\xff\r\n\x00"
_HEADER_BYTES = 19
_TRAILER_BYTES = 2
_BEFORE_BYTES = 26
"""Before each message: how many values there are, and for each its length: the position, the transaction, the message."""
_VALUES = 3
_BROKEN = "the answer to a look into the slot is not what COPY gives; nothing was written, please report it"


def peek(asked: Asked, slot: Slot, upto: int, spool: Spool, *, binary: bool) -> None:
    """Spool what the slot holds up to a position, and the rest of the transaction that reaches it. Nothing is consumed. Raises what psycopg raises, StageBroken."""
    formats = ", 'binary', 'true'" if binary else ""
    sql = (
        "COPY (SELECT lsn, xid, data FROM pg_catalog.pg_logical_slot_peek_binary_changes("
        f"{literal(slot.name)}, '{lsn_text(upto)}', NULL, 'proto_version', '1', 'publication_names', {literal(quoted(slot.publication))}"
        f"{formats})) TO STDOUT (FORMAT binary)"
    )
    # The first row comes when the last one is decoded.
    wire = Wire.of(asked.encoding)
    with without_limit(asked), psycopg.RawCursor(asked.connection) as cursor:
        if unconverted := wire.unconverted("LOCAL"):
            asked.execute(unconverted)
        with cursor.copy(sql.encode(wire.codec)):
            spool.before = _BEFORE_BYTES
            spool.add_all(_rows(received(asked.connection)))
    for block in spool.blocks():
        _check(block)


def quoted(publication: str) -> str:
    """A name as the plugin reads a list of names."""
    doubled = publication.replace('"', '""')
    return f'"{doubled}"'


def _rows(answer: Iterator[memoryview]) -> Iterator[memoryview]:
    """Without what comes before the first row and after the last one."""
    for first in answer:
        row = first[_HEADER_BYTES:] if first[: len(_SIGNATURE)] == _SIGNATURE else first
        if len(row) > _TRAILER_BYTES:
            yield row
        break
    yield from (row for row in answer if len(row) > _TRAILER_BYTES)


def _check(block: Block) -> None:
    """Whether each row is what was asked for. Raises StageBroken."""
    values = numbers(block.data, block.starts - _BEFORE_BYTES, ">u2")
    lengths = numbers(block.data, block.starts - 4, ">i4")
    if (values != _VALUES).any() or (lengths != block.lengths).any():
        raise StageBroken(_BROKEN)
