"""Servers of a test's own that write a binlog: one that is put back to an older copy, and one that follows another."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from tests.adapters.logs.binlogged import BinlogShop
from tests.adapters.logs.opening import NUMBERED, ROWS, binlog_server
from tests.waiting import until


def back_up(server: EmbeddedMariaDB) -> None:
    """The files of a server that stands still."""
    server.stop()
    subprocess.run(["cp", "-a", str(server.data), f"{server.data}.backup"], check=True)
    server.start()


def restore(server: EmbeddedMariaDB) -> None:
    """It comes up with these, in a later second than it was started in: by the second in which it was begun a file is known."""
    server.stop()
    stopped = int(time.time())
    until(lambda: time.time() >= stopped + 1)
    subprocess.run(["rm", "-rf", str(server.data)], check=True)
    subprocess.run(["mv", f"{server.data}.backup", str(server.data)], check=True)
    server.start()


@contextmanager
def replica_of(primary: EmbeddedMariaDB, folder: Path, *, logs: str = "ON") -> Iterator[EmbeddedMariaDB]:
    """One that gets whatever the primary writes from now on. `logs`: whether it writes to its own binlog what it gets."""
    settings = {"server-id": "2", "log-slave-updates": logs, "skip-slave-start": "ON"}
    with binlog_server(type(primary), folder, **settings) as server:
        is_mysql = isinstance(primary, EmbeddedMySQL)
        (position,) = _one(primary, f"SELECT @@global.{'gtid_executed' if is_mysql else 'gtid_binlog_pos'}")
        by = "MASTER_AUTO_POSITION = 1, GET_MASTER_PUBLIC_KEY = 1" if is_mysql else "MASTER_USE_GTID = slave_pos"
        purged = f"SET GLOBAL gtid_purged = '{position}'" if is_mysql else f"SET GLOBAL gtid_slave_pos = '{position}'"
        with server.connect() as connection, connection.cursor() as cursor:
            # What it has written itself while it was made is no transaction of the primary's.
            cursor.execute("RESET MASTER")
            cursor.execute(purged)
            cursor.execute(
                f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {primary.port}, MASTER_USER = '{primary.user}', "
                f"MASTER_PASSWORD = '{primary.password}', {by}"
            )
            cursor.execute("START SLAVE")
        yield server


def caught_up(replica: EmbeddedMariaDB, primary: EmbeddedMariaDB) -> None:
    """Until it has all that the primary has."""
    name = "gtid_executed" if isinstance(primary, EmbeddedMySQL) else "gtid_binlog_pos"
    own = name if isinstance(primary, EmbeddedMySQL) else "gtid_slave_pos"
    until(lambda: _one(replica, f"SELECT @@global.{own}") == _one(primary, f"SELECT @@global.{name}"))


def stop_following(replica: EmbeddedMariaDB) -> None:
    """It gets no more."""
    with replica.connect() as connection, connection.cursor() as cursor:
        cursor.execute("STOP SLAVE")


def promote(replica: EmbeddedMariaDB) -> None:
    """It is nobody's replica any more."""
    with replica.connect() as connection, connection.cursor() as cursor:
        cursor.execute("STOP SLAVE")
        cursor.execute("RESET SLAVE ALL")


def begin_a_file(server: EmbeddedMariaDB) -> None:
    """Of its binlog."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH BINARY LOGS")


def purge(server: EmbeddedMariaDB) -> None:
    """All files but a new one."""
    begin_a_file(server)
    with server.connect() as connection, connection.cursor() as cursor:

        def files() -> list[str]:
            cursor.execute("SHOW BINARY LOGS")
            return [name for name, *_ in cursor.fetchall()]

        def only_one_is_left() -> bool:
            # A file that may still be needed after a crash stays for a moment.
            cursor.execute(f"PURGE BINARY LOGS TO '{files()[-1]}'")
            return len(files()) == 1

        until(only_one_is_left)


def without_log(replica: EmbeddedMariaDB, primary: EmbeddedMariaDB, meanwhile: Callable[[], None]) -> EmbeddedMariaDB:
    """It is started again without `log_slave_updates`, and with that once more after what is done meanwhile."""
    for logs in ("OFF", "ON"):
        replica.stop()
        numbered = NUMBERED if isinstance(replica, EmbeddedMySQL) else {}
        settings = {**ROWS, **numbered, "server-id": "2", "log-slave-updates": logs, "skip-slave-start": "ON"}
        replica = type(replica)(replica.folder, settings=settings).start()
        with replica.connect() as connection, connection.cursor() as cursor:
            cursor.execute("START SLAVE")
        if logs == "OFF":
            meanwhile()
        caught_up(replica, primary)
    return replica


def ask_another(shop: BinlogShop, server: EmbeddedMariaDB) -> None:
    """The configuration leads to it."""
    shop.stand.shop = replace(shop.stand.shop, server=server)
    shop.follow_the_port()


def _one(server: EmbeddedMariaDB, query: str) -> tuple[object, ...]:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(query)
        row = cursor.fetchone()
    assert row is not None
    return tuple(row)
