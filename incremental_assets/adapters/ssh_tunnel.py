"""A way to a database through a server of SSH: a port of this machine, whose connections go on from there.

One for each process and database. The port stays as long as the process does: where the line to the server was lost, the next connection
makes another one. Whoever reads rows on this machine, as Spark's tasks do, reaches it by the port alone.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from incremental_assets.adapters.ssh_route import HERE, Route
from incremental_assets.core.errors import IncrementalAssetsError, SourceUnreachable
from incremental_assets.core.extras import SSH

T = TypeVar("T")

_BYTES = 1 << 16
_ALIVE = {"keepalive_interval": 15, "keepalive_count_max": 3}


def door(route: Route, host: str, port: int) -> int:
    """The port of this machine behind which the database answers. Raises SourceUnreachable, SetupError."""
    SSH.require()
    pid = os.getpid()
    with _lock:
        tunnel = _tunnels.setdefault((pid, route, host, port), _Tunnel(route, host, port))
        loop = _loop(pid)
    return _done(tunnel.opened(), loop, route)


class _Tunnel:
    def __init__(self, route: Route, host: str, port: int) -> None:
        self._route, self._host, self._port = route, host, port
        self._line: Any = None
        self._server: asyncio.Server | None = None
        self._opening = asyncio.Lock()

    async def opened(self) -> int:
        """The port; the database was reached by this line at least once."""
        await self._whole_line()
        async with self._opening:
            if self._server is None:
                self._server = await asyncio.start_server(self._served, HERE, 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _whole_line(self) -> Any:
        async with self._opening:
            if self._line is None or self._line.is_closed():
                self._line = await self._connected()
            return self._line

    async def _connected(self) -> Any:
        import asyncssh

        route = self._route
        try:
            key = asyncssh.import_private_key(route.key.rstrip() + "\n", route.passphrase or None)
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError) as error:
            raise self._refused(
                f"the key that `ssh: {{key: …}}` refers to cannot be read ({error}); is it a private key in OpenSSH's or PEM format, and `passphrase` its own?"
            ) from None
        if not os.path.isfile(route.known):  # noqa: PTH113
            raise self._refused(f"there is no file {route.known}, which has the keys of known servers; {self._add_it}")
        try:
            known = asyncssh.read_known_hosts(route.known)
        except (OSError, ValueError) as error:
            raise self._refused(
                f"the keys of known servers in {route.known} cannot be read ({_words(error)}); correct that file, or name another by `known_hosts`"
            ) from None
        try:
            line = await asyncio.wait_for(
                asyncssh.connect(
                    route.host,
                    route.port,
                    username=route.user,
                    client_keys=[key],
                    known_hosts=known,
                    config=[],
                    agent_path=None,
                    **_ALIVE,
                ),
                route.within,
            )
        except asyncssh.HostKeyNotVerifiable:
            raise self._refused(
                f"its key is not one that {route.known} has of it, so that it may be another server; {self._add_it}"
            ) from None
        except asyncssh.PermissionDenied:
            raise self._refused(
                f"it does not take the key that `ssh: {{key: …}}` refers to for the user {route.user!r}; add its public half to their authorized_keys there"
            ) from None
        except (OSError, asyncssh.Error, TimeoutError) as error:
            raise self._refused(f"it does not answer ({_words(error)}); check `ssh: {{host, port}}`") from None
        try:
            _, once = await asyncio.wait_for(line.open_connection(self._host, self._port), route.within)
            once.close()
        except (OSError, asyncssh.Error, TimeoutError) as error:
            line.close()
            raise self._refused(
                f"it does not reach {self._host}:{self._port} ({_words(error)}); `host` and `port` of the source are those that this server sees, and it has to allow forwarding"
            ) from None
        return line

    @property
    def _add_it(self) -> str:
        at = f"-p {self._route.port} {self._route.host}"
        return f"compare it with whoever runs that server, and add it: ssh-keyscan {at} >> {self._route.known}"

    def _refused(self, why: str) -> SourceUnreachable:
        return SourceUnreachable(f"the SSH server {self._route.place} before {self._host}:{self._port}: {why}")

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import asyncssh

        try:
            line = await self._whole_line()
            there, back = await line.open_connection(self._host, self._port)
        except (IncrementalAssetsError, OSError, asyncssh.Error):
            # Whoever connects anew asks by `door`, which says why.
            writer.close()
            return
        await asyncio.gather(_passed_on(reader, back), _passed_on(there, writer))


async def _passed_on(reader: Any, writer: Any) -> None:
    with suppress(Exception):
        while data := await reader.read(_BYTES):
            writer.write(data)
            await writer.drain()
    with suppress(Exception):
        writer.close()


_lock = threading.Lock()
_tunnels: dict[tuple[int, Route, str, int], _Tunnel] = {}
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def _loop(pid: int) -> asyncio.AbstractEventLoop:
    """Of this process: a fork has the values of its parent, and none of its threads."""
    if pid not in _loops:
        loop = _loops[pid] = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="ssh tunnels", daemon=True).start()
    return _loops[pid]


def _done(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop, route: Route) -> T:
    try:
        return asyncio.run_coroutine_threadsafe(work, loop).result(3 * route.within)
    except TimeoutError:
        raise SourceUnreachable(
            f"the SSH server {route.place}: it does not answer; check `ssh: {{host, port}}`"
        ) from None


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__
