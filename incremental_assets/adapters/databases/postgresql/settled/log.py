"""The positions to which PostgreSQL has written and flushed its log: what is beyond the flushed one is visible, but lost by a crash."""

from __future__ import annotations

_SHORT, _LONG = 24, 40
"""Bytes at the beginning of a page of the log, and of a file of it."""

WRITTEN = (
    "CASE WHEN NOT pg_is_in_recovery() THEN (pg_current_wal_insert_lsn() - '0/0')::bigint END, "
    "current_setting('wal_block_size')::bigint, pg_size_bytes(current_setting('wal_segment_size'))"
)
FLUSHED = "CASE WHEN NOT pg_is_in_recovery() THEN (pg_current_wal_flush_lsn() - '0/0')::bigint END"


def written(next_record: int, page: int, file: int) -> int:
    """The byte at which the last record ends. The source says where the next one begins, which on a new page is behind a header that is not written yet."""
    if next_record % file == _LONG:
        return next_record - _LONG
    return next_record - _SHORT if next_record % page == _SHORT else next_record
