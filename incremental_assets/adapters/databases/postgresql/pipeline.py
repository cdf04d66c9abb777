"""Several statements in one round trip: all are sent, then all are answered.

The driver has such a mode of its own, which forgets why the server has ended a connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.generators import fetch, send
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

Statement = tuple[str, Sequence[Any]]
"""A statement and the values of its `$1`, `$2`, …"""
Rows = list[tuple[Any, ...]]


def together(connection: psycopg.Connection[Any], statements: Sequence[Statement]) -> list[Rows]:
    """The rows of each. After one that fails the server does none of the others, and the error of that one is raised."""
    results = connection.wait(_together(connection, statements))
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result)
    return [_rows(connection, result) for result in results]


def _together(connection: psycopg.Connection[Any], statements: Sequence[Statement]) -> PQGen[list[PGresult]]:
    wire = connection.pgconn
    wire.enter_pipeline_mode()
    for sql, values in statements:
        _send(connection, sql, values)
    wire.pipeline_sync()
    yield from send(wire)
    results: list[PGresult] = []
    while True:
        try:
            result = yield from fetch(wire)
        except psycopg.OperationalError:
            # What the server has said before it ended the connection says more.
            if any(each.status == ExecStatus.FATAL_ERROR for each in results):
                return results
            raise
        if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
            wire.exit_pipeline_mode()
            return results
        results += [result] if result is not None else []


def _send(connection: psycopg.Connection[Any], sql: str, values: Sequence[Any]) -> None:
    wire: PGconn = connection.pgconn
    dumped = Transformer(connection)
    texts = dumped.dump_sequence(values, [PyFormat.AUTO] * len(values))
    wire.send_query_params(sql.encode(), texts, dumped.types, dumped.formats)


def _rows(connection: psycopg.Connection[Any], result: PGresult) -> Rows:
    loaded = Transformer(connection)
    loaded.set_pgresult(result)
    return loaded.load_rows(0, result.ntuples, tuple)
