"""A clock of a server's own that can be set while the server runs, as NTP, a resumed machine or a failover sets it; and at which one of its
processes can be held.

A small library (`clock.c`) is compiled with the machine's C compiler and preloaded into a server; it shifts the time of day by what a
file says at that moment. Nothing else of the server changes: what it measures with the monotonic clock goes on, and PostgreSQL's `pg_sleep`, which waits
for a time of day, waits longer by what the clock was put back meanwhile.
"""

from __future__ import annotations

import atexit
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from incremental_assets.demo.home import Home
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.demo.state import ServerState

_SOURCE = Path(__file__).with_name("clock.c")


class ClockMissing(Exception):
    """No such clock can be made here, with the reason."""


class Clock:
    """What a server that is started under its `variables` reads. Its folder is one that the server's account may enter, without a space in its name."""

    def __init__(self) -> None:
        self._library = _library()
        self._folder = Path(tempfile.mkdtemp(prefix="clock-", dir="/var/tmp"))
        self._folder.chmod(0o755)
        self._file = self._folder / "offset"
        self._file.write_bytes(bytes(16))

    @property
    def offset(self) -> float:
        """Seconds by which it is ahead of the machine's clock; below 0 it is behind."""
        return struct.unpack("=qq", self._file.read_bytes())[0] / 1e6

    def set(self, offset: float) -> None:
        """From now on it is ahead of the machine's clock by so many seconds."""
        self._write(0, round(offset * 1e6))

    def step(self, seconds: float) -> None:
        """Set forward, or back with a number below 0. It takes effect at once, in transactions that are open as well."""
        self.set(self.offset + seconds)

    def set_below(self, moment: datetime, seconds: float) -> None:
        """So many seconds below a moment: below what has settled, say, however long the run took that settled it."""
        self.set(moment.timestamp() - seconds - time.time())

    @contextmanager
    def held(self, pid: int) -> Iterator[None]:
        """That process of the server asks once more what time it is, and stands still with the answer until the end of the block."""
        self._write(8, pid)
        try:
            yield
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Nobody is held any more."""
        self._write(8, 0)

    @property
    def variables(self) -> tuple[str, ...]:
        """Under which a process, and every one that it starts, reads this clock: `NAME=value`."""
        return f"LD_PRELOAD={self._library}", f"CLOCK_OFFSET_FILE={self._file}"

    def remove(self) -> None:
        """Its files. A server that still runs keeps its last offset."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, place: int, number: int) -> None:
        with self._file.open("r+b") as file:  # in place: the server has mapped this very file
            file.seek(place)
            file.write(struct.pack("=q", number))


class ClockedPostgres(EmbeddedPostgres):
    """An embedded server with a clock of its own, which it keeps when it is started again."""

    def __init__(self, folder: str | Path, *, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, settings=settings)
        self.clock = Clock()

    def remove(self) -> None:
        super().remove()
        self.clock.remove()

    def _home(self, state: ServerState) -> Home:
        return _ClockedHome(super()._home(state).folder, self.clock.variables)


@dataclass(frozen=True)
class _ClockedHome(Home):
    """The same home, whose programs read another clock."""

    variables: tuple[str, ...]

    def run(self, program: str, *arguments: str | Path, timeout: float = 90) -> subprocess.CompletedProcess[str]:
        return super().run("/usr/bin/env", *self.variables, self.programs / program, *arguments, timeout=timeout)


class ClockedMariaDB(EmbeddedMariaDB):
    """Likewise."""

    def __init__(self, folder: str | Path, **options: Any) -> None:
        super().__init__(folder, **options)
        self.clock = Clock()

    def remove(self) -> None:
        super().remove()
        self.clock.remove()

    def _server(self) -> list[str]:
        return ["/usr/bin/env", *self.clock.variables, *super()._server()]


class ClockedMySQL(ClockedMariaDB, EmbeddedMySQL):
    """Likewise."""


@cache
def _library() -> Path:
    """The compiled library, once per process."""
    if sys.platform != "linux":
        raise ClockMissing(f"a library is preloaded for it, which is done on Linux and not on {sys.platform}")
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise ClockMissing("it is compiled when the test runs, and this machine has no C compiler")
    folder = Path(tempfile.mkdtemp(prefix="clock-library-", dir="/var/tmp"))
    folder.chmod(0o755)
    library = folder / "clock.so"
    made = subprocess.run(
        [compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, _SOURCE],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        shutil.rmtree(folder)
        raise ClockMissing(f"{compiler} does not compile it: {made.stderr.strip()}")
    library.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return library
