"""A connection: its deadlines, its TLS, and the session settings under which a value always prints the same."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pymysql

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql.ending import Line, end
from incremental_assets.adapters.databases.mysql.flavour import MARIADB, Flavour, flavour_of
from incremental_assets.adapters.databases.mysql.packets import packets
from incremental_assets.adapters.databases.mysql.settings import check, check_dirty, set_all
from incremental_assets.adapters.databases.sentences import ANOTHER_KIND, place_of
from incremental_assets.core.errors import SourceRefused, SourceUnreachable

Value = str | int
Text = str | None

UTC = "+00:00"
"""UTC as the server takes it: names of zones are known to it only where somebody has loaded them."""

_LOST = 2013
"""No whole answer came."""
_QUIT = b"\x01\x00\x00\x00\x01"
"""The protocol's COM_QUIT, as a packet."""
_ENDED_WITHIN = 2.0
"""Seconds for which the end of a session is waited for."""
_RESET_CONNECTION, _UNKNOWN_COMMAND = 0x1F, 1047
_NO_STATEMENT, _WAITED, _MAY_NOT = 1064, 1205, (1227, 1045)
_HELD_UP_SECONDS = 5
"""For which commits of others may wait for a statement that runs, behind the lock that waits for it."""
_AT_ONCE = 1 << 18
"""Bytes that are received together."""


class Connection:
    """One connection in autocommit, which only reads. Values come as the server prints them."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._aborted = False
        """Whether another thread has shut the line, on which nobody hears the server any more."""
        self._line = _reached(address)
        self._port = int(self._line.getsockname()[1])
        # From here on the line has the server's own deadlines: a question may take as long as it is allowed to.
        self._driver = pymysql.connections.Connection(
            host=address.host,
            port=address.port,
            user=address.user,
            password=address.password,
            database=address.database,
            charset="utf8mb4",
            autocommit=True,
            use_unicode=False,
            conv=dict(pymysql.converters.encoders),  # encoders alone: nothing is decoded
            read_timeout=_seconds(address.connect_timeout),
            write_timeout=_seconds(address.socket_timeout),
            program_name="incremental-assets",
            defer_connect=True,
            **_tls(address),
        )
        try:
            self._connect(address)
            self._driver._read_timeout = _seconds(address.statement_timeout + address.socket_timeout)
            self._reset()
            # `init_connect` may have gone to another one, by whose name this source would be known.
            self._driver.select_db(address.database)
            self.limit(address.statement_timeout)
            set_all(self, self.flavour, place_of(address))
        except BaseException:
            self.close()
            raise

    def _connect(self, address: Address) -> None:
        try:
            self._driver.connect(self._line)
        except pymysql.OperationalError as error:
            if error.args[0] != _LOST:
                raise
            raise SourceUnreachable(f"{place_of(address)}: {ANOTHER_KIND.format(error.args[-1])}") from None
        except ValueError as error:
            # Where nothing else encrypts it, a password travels in one block of the server's key.
            raise SourceUnreachable(
                f"{place_of(address)}: the secret that `password` refers to cannot be sent ({error}); is it a password? A long one needs TLS"
            ) from None

    def _reset(self) -> None:
        """Forget what `init_connect` has left beside settings: a transaction, variables, and temporary tables, which answer in place of a table of their name."""
        try:
            self._driver._execute_command(_RESET_CONNECTION, b"")
            self._driver._read_ok_packet()
        except pymysql.Error as error:
            # Not every proxy knows the command.
            if error.args[0] != _UNKNOWN_COMMAND:
                raise

    @property
    def version(self) -> str:
        """What the server says of its version."""
        return str(self._driver.get_server_info())

    @property
    def flavour(self) -> Flavour:
        """The flavour of the server, MySQL or MariaDB, by what it says of its version."""
        return flavour_of(self.version)

    @property
    def number(self) -> int:
        """The number of the connection, as the server's own lists show it."""
        return int(self._driver.thread_id())

    def limit(self, duration: timedelta | None) -> None:
        """Set how long a statement may take; None: forever."""
        allowed = 0 if duration is None else _seconds(duration) * 1000 // self.flavour.limit_unit
        self.execute(f"SET SESSION {self.flavour.limit} = {allowed}")

    @contextmanager
    def waiting(self, seconds: int) -> Iterator[None]:
        """In the block a statement waits no longer than this for a table that another session is altering."""
        (before,) = self.row("SELECT @@session.lock_wait_timeout")
        self.execute(f"SET SESSION lock_wait_timeout = {seconds}")
        try:
            yield
        finally:
            with suppress(pymysql.Error):
                self.execute(f"SET SESSION lock_wait_timeout = {before}")

    def execute(self, sql: str, values: Sequence[Value] = ()) -> None:
        """A statement without an answer."""
        with self._driver.cursor() as cursor:
            cursor.execute(sql, tuple(values))

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[Text, ...]]:
        """All of an answer, as texts."""
        with self._driver.cursor() as cursor:
            cursor.execute(sql, tuple(values))
            return [tuple(None if each is None else each.decode() for each in row) for row in cursor.fetchall()]

    def row(self, sql: str, values: Sequence[Value] = ()) -> tuple[Any, ...]:
        """The one row of an answer."""
        (found,) = self.rows(sql, values)
        return found

    def batches(self, sql: str, values: Sequence[Value], size: int) -> Iterator[list[pa.BinaryArray]]:
        """The columns of an answer of any length, as it arrives; nothing else can be asked before its end."""
        try:
            with self._driver.cursor() as cursor:
                asked = cursor.mogrify(sql, tuple(values))
            self._driver.query(asked, unbuffered=True)
            result = self._driver._result
            # Its rows go past the driver, which would wait for them.
            result.unbuffered_active = False
            for found in packets(self._filled, size):
                yield found.columns(result.field_count)
        except BaseException:
            # Whoever gives up would otherwise wait until the rest has arrived.
            self.close()
            raise

    def stream(self, command: int, asked: bytes) -> Iterator[bytes]:
        """The packets with which the server answers a command, each without its first byte; nothing else can be asked any more."""
        try:
            self._driver._execute_command(command, asked)
            while not (packet := self._driver._read_packet()).is_eof_packet():
                yield packet.get_all_data()[1:]
        finally:
            self.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is asked in the block is answered from one view of every InnoDB table."""
        self.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        try:
            # A proxy may have it answered by another session than the one that was set.
            check(self, self.flavour, place_of(self._address))
            yield
        finally:
            # Where the connection is lost, the transaction went with it.
            with suppress(pymysql.Error):
                self.execute("ROLLBACK")

    def place_of_snapshot(self) -> str:
        """The file and the place in MariaDB's binlog up to which a snapshot that is open shows all that it has, and nothing behind it."""
        told = (self.row(f"SHOW STATUS LIKE 'Binlog_snapshot_{name}'") for name in ("file", "position"))
        return ":".join(value for _, value in told)

    @contextmanager
    def located_snapshot(self) -> Iterator[str]:
        """The same as `snapshot`, which ends with its place in the binlog. MySQL tells that of no snapshot, so that commits are held up for the moment in which one is opened."""
        if self.flavour is MARIADB:
            with self.snapshot():
                yield self.place_of_snapshot()
            return
        self._hold_up()
        with ExitStack() as opened:
            try:
                opened.enter_context(self.snapshot())
                file, offset, *_ = self.binlog_status()
            finally:
                self.execute("UNLOCK TABLES")
            yield f"{file}:{offset}"

    def _hold_up(self) -> None:
        """Raises SourceRefused, SourceUnreachable."""
        place = place_of(self._address)
        try:
            with self.waiting(_HELD_UP_SECONDS):
                self.execute("FLUSH TABLES WITH READ LOCK")
        except pymysql.OperationalError as error:
            if error.args[0] in _MAY_NOT:
                raise SourceRefused(
                    f"{place}: the user {self._address.user} may not hold up commits for the moment in which a load joins the binlog; GRANT RELOAD ON *.* to it"
                ) from None
            if error.args[0] != _WAITED:
                raise
            raise SourceUnreachable(
                f"{place}: a load joins the binlog while no commit is under way, and a statement ran for longer than {_HELD_UP_SECONDS} seconds; try again when it has ended"
            ) from None

    def binlog_status(self) -> tuple[Text, ...]:
        """The last file of the binlog, up to where it is written, and what else the server says of it; nothing where there is none. The name of the statement has changed."""
        try:
            rows = self.rows("SHOW MASTER STATUS")
        except pymysql.ProgrammingError as error:
            if error.args[0] != _NO_STATEMENT:
                raise
            rows = self.rows("SHOW BINARY LOG STATUS")
        return rows[0] if rows else ()

    @contextmanager
    def dirty_reads(self) -> Iterator[None]:
        """What is asked in the block is answered from rows as they are now, whether they are committed or not."""
        self.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
        self.execute("START TRANSACTION READ ONLY")
        try:
            check_dirty(self, self.flavour, place_of(self._address))
            yield
        finally:
            with suppress(pymysql.Error):
                self.execute("ROLLBACK")
                self.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    def abort(self) -> None:
        """Abort from another thread: whatever waits for an answer fails at once."""
        self._aborted = True
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def _filled(self, room: memoryview) -> int:
        """What has arrived, in the driver's own words where the line is lost."""
        try:
            # Not into the room at once: that would wait for more where the driver has the whole answer already.
            received: bytes = self._driver._rfile.read1(min(len(room), _AT_ONCE))
        except OSError as error:
            raise _lost(str(error)) from None
        if not received:
            raise _lost("the server has closed it")
        room[: len(received)] = received
        return len(received)

    def close(self) -> None:
        """Close the line, and see the server end the session: until then it takes one of the server's connections."""
        ended = self._quit()
        self._driver._force_close()
        self._line.close()
        if not ended:
            # Of one that was never greeted nobody knows the number.
            session = getattr(self._driver, "server_thread_id", (0,))[0]
            end(self._address, Line(session, self._port), _tls(self._address))

    def _quit(self) -> bool:
        """Whether the server has surely ended the session. In the middle of an answer it hears that it should behind the last byte: so the rest is read, for a moment."""
        line = self._driver._sock
        if line is None or self._aborted:
            return False
        try:
            line.settimeout(_ENDED_WITHIN)
            line.sendall(_QUIT)
            until = time.monotonic() + _ENDED_WITHIN
            while line.recv(_AT_ONCE):
                line.settimeout(max(until - time.monotonic(), 0.001))
        except TimeoutError:
            return False
        except (OSError, ValueError):
            return True  # it is no longer there
        return True


def _reached(address: Address) -> socket.socket:
    """A line that notices when the other side is gone."""
    try:
        line = socket.create_connection(
            address.door or (address.host, address.port), address.connect_timeout.total_seconds()
        )
    except OSError as error:
        raise pymysql.OperationalError(pymysql.constants.CR.CR_CONN_HOST_ERROR, str(error)) from None
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    silence = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
    silence["TCP_USER_TIMEOUT"] = 1000 * _seconds(address.socket_timeout)
    for name, value in silence.items():
        if hasattr(socket, name):
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return line


def _lost(why: str) -> pymysql.OperationalError:
    return pymysql.OperationalError(
        pymysql.constants.CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({why})"
    )


def _tls(address: Address) -> dict[str, Any]:
    """Authorities are those of the system, and those that SSL_CERT_FILE names."""
    if address.tls == "disable":
        return {"ssl_disabled": True}
    context = ssl.create_default_context()
    context.check_hostname = address.tls == "verify-full"
    if address.tls == "require":
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


def _seconds(duration: timedelta) -> int:
    return max(1, round(duration.total_seconds()))
