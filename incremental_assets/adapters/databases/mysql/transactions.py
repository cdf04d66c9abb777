"""The open transactions of the server, as `information_schema.innodb_trx` lists them.

The list is a copy that the server renews only where nobody has read it for 100 ms, so that a client that looks often keeps it old. Ours is trusted
only where it shows the very question that reads it: then it was made for this question.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pymysql

from incremental_assets.adapters.databases.mysql.connect import UTC as UTC_OFFSET
from incremental_assets.adapters.databases.mysql.connect import Connection, Text

PATIENCE = (0.0, 0.12, 0.15, 0.2, 0.3, 0.4)
"""Seconds before each look at the list of transactions: more than the 100 ms for which nobody may have read it."""


# The start is a reading of the machine's clock on the wall, cut to its second; in an hour that the wall shows twice, it is the first.
_OPEN = """
SELECT trx_mysql_thread_id, trx_is_read_only OR trx_autocommit_non_locking, trx_query,
       LEAST(UNIX_TIMESTAMP(trx_started), IF(FROM_UNIXTIME(UNIX_TIMESTAMP(trx_started) - 3600) = trx_started, UNIX_TIMESTAMP(trx_started) - 3600, UNIX_TIMESTAMP(trx_started))),
       IF(trx_rows_modified > 0, trx_id, NULL), trx_state = 'LOCK WAIT', %s FROM information_schema.innodb_trx ORDER BY trx_started
"""
_ROOM = 16 << 20
"""Bytes that the server has for the list. What does not fit into them it leaves out, and tells its own log alone."""
_OF_ONE, _WHERE_ONE_WAITS = 1_500, 18_500
"""The most bytes of a transaction there, its statement included; and where some wait for locks, which lie in the same room with what they lock."""
NO_PRIVILEGE = 1227

_CUT = (
    "so many transactions are open that innodb_trx has no room for all of them, and the server leaves some out without a word; "
    "end those that are idle, or set a `holdback`"
)


@dataclass(frozen=True, slots=True)
class Active:
    """Somebody at work: since when, and who."""

    number: int
    began: datetime
    who: str


@dataclass(frozen=True, slots=True)
class Open:
    """The transactions of InnoDB at one moment."""

    writers: tuple[Active, ...]
    readers: frozenset[int]
    """Connections whose transaction cannot write."""
    changed: frozenset[str]
    """Transactions that have written rows."""
    orphans: bool
    """Whether a transaction has lost its connection."""


_NOTHING = Open((), frozenset(), frozenset(), orphans=False)


class Transactions:
    """The list, read by one session of this process at a time: those that read it at once would keep it old for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = float("-inf")
        self._found: tuple[Open, str] = (_NOTHING, "")

    def read(self, connection: Connection) -> tuple[Open, str]:
        """What is open now or was since this was called, and why that could not be seen."""
        called = time.monotonic()
        with self._lock:
            # Whoever waited may have what was read in between.
            if self._began < called:
                began = time.monotonic()
                self._found = _read(connection)
                self._began = began
            return self._found


def _read(connection: Connection) -> tuple[Open, str]:
    """The open transactions, and why they could not be seen."""
    for pause in PATIENCE:
        # Not in step with other processes that look.
        time.sleep(pause * random.uniform(1, 1.5))  # noqa: S311 - a pause, no secret
        nonce = secrets.token_hex(8)
        try:
            with connection.snapshot():
                found = _transactions(connection, nonce)
        except pymysql.OperationalError as error:
            if error.args[0] != NO_PRIVILEGE:
                raise
            return _NOTHING, (
                "the transactions of others cannot be seen: GRANT PROCESS ON *.* to this user, or set a `holdback`"
            )
        if any(number == str(connection.number) and nonce in (query or "") for number, _, query, *_ in found):
            return (_NOTHING, _CUT) if is_full(found) else (_of(connection.number, found), "")
    return _NOTHING, (
        "somebody reads innodb_trx more often than every 100 ms, and the server renews that list for nobody meanwhile; "
        "have it looked at less often, or set a `holdback`"
    )


def is_full(found: Sequence[Sequence[Text]]) -> bool:
    """Whether some transactions may have found no room in the list."""
    waits = any(each[5] == "1" for each in found)
    return len(found) * (_WHERE_ONE_WAITS if waits else _OF_ONE) >= _ROOM


def _transactions(connection: Connection, nonce: str) -> list[tuple[Text, ...]]:
    connection.execute("SET SESSION time_zone = 'SYSTEM'")
    try:
        return connection.rows(_OPEN, (nonce,))
    finally:
        connection.execute("SET SESSION time_zone = %s", (UTC_OFFSET,))


def _of(own: int, found: list[tuple[Text, ...]]) -> Open:
    found = [each for each in found if int(each[0] or 0) != own]
    others = [(int(number or 0), reads == "1", began) for number, reads, _, began, *_ in found]
    return Open(
        writers=tuple(
            Active(
                number,
                datetime.fromtimestamp(float(began or 0), UTC),
                f"connection {number}, whose transaction is open",
            )
            for number, reads, began in others
            if not reads
        ),
        readers=frozenset(number for number, reads, _ in others if reads),
        changed=frozenset(each[4] for each in found if each[4] is not None),
        orphans=any(number == 0 for number, *_ in others),
    )
