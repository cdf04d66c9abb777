"""Has the server end a session of ours that works on, though nobody hears it any more: until then it takes one of the server's connections."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import pymysql

from incremental_assets.adapters.databases.dialect import Address

_SECONDS = 2
"""For which such a server is asked, and for which the end is waited for."""
_UNKNOWN_THREAD = 1094
_OURS = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %s AND host LIKE %s"


@dataclass(frozen=True, slots=True)
class Line:
    """The session's number, and the port of our end of its line; 0 where it is not known."""

    session: int
    port: int


def end(address: Address, line: Line, tls: Mapping[str, Any]) -> None:
    """By KILL, of a session that the server shows behind this very line: another server behind the same address may have one of that number."""
    # Through a server of SSH the database sees another port than ours.
    if not (line.session and line.port) or address.ssh:
        return
    until = time.monotonic() + _SECONDS
    with suppress(pymysql.Error, OSError), closing(_opened(address, tls)) as connection, connection.cursor() as asked:
        while _is_there(asked, line) and time.monotonic() < until:
            _kill(asked, line.session)
            time.sleep(0.01)


def _opened(address: Address, tls: Mapping[str, Any]) -> pymysql.connections.Connection[Any]:
    return pymysql.connect(
        host=address.host,
        port=address.port,
        user=address.user,
        password=address.password,
        autocommit=True,
        connect_timeout=_SECONDS,
        read_timeout=_SECONDS,
        write_timeout=_SECONDS,
        **tls,
    )


def _is_there(asked: Any, line: Line) -> bool:
    asked.execute(_OURS, (line.session, f"%:{line.port}"))
    return bool(asked.fetchone()[0])


def _kill(asked: Any, session: int) -> None:
    try:
        asked.execute("KILL %s", (session,))
    except pymysql.Error as error:
        if error.args[0] != _UNKNOWN_THREAD:
            raise
