"""The settled bound of a SQLite file: the clock, then whether any process holds the one lock under which rows are written.

A writer holds that lock from before its first stamp to its commit. So if the lock is free after the clock was read, every row with an older stamp
is committed, and later writers stamp later. The lock is queried and never taken, because a writer without a timeout would fail. A separate process
queries it: locks of a file belong to a process, so this process would not see its own, and would release them by closing the file.
"""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from incremental_assets.adapters.databases.host_clock import with_host_clock
from incremental_assets.adapters.databases.sqlite.header import header
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.source_identity import SourceIdentity

_LOOK = """
import fcntl, struct, sys
for path, byte in zip(sys.argv[1::2], map(int, sys.argv[2::2])):
    with open(path, "rb") as file:
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, 0, byte, 1, 0)
        kind, _, _, _, pid = struct.unpack("hhqqi", fcntl.fcntl(file, fcntl.F_GETLK, asked)[:28])
        if kind != fcntl.F_UNLCK:
            print(pid)
            break
"""
_RESERVED = 0x40000001
"""The byte of a file with a rollback journal that a writer locks."""
_WAL_WRITE = 120
"""The same in the index of a write-ahead log."""
PATIENCE = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Most transactions of SQLite are over in some milliseconds."""


def take_bound(path: Path) -> Bound:
    """Ask after the highest numbers and before any snapshot."""
    clock, host = with_host_clock(lambda: datetime.now(UTC))
    blind = _blind(path)
    return Bound(
        clock=clock,
        oldest=None,
        holder="",
        prepared=None,
        blind=blind,
        # As CURRENT_TIMESTAMP and datetime('now') write it.
        zone="UTC",
        identity=_identity(path),
        listed=datetime.now(UTC),
        host=host,
    )


def _blind(path: Path) -> str:
    """Why nothing is proven, with the cure: somebody may be writing. Empty where the lock was found free, within about a second."""
    if not sys.platform.startswith("linux"):
        return "whether another process is writing the file can be seen on Linux only; set a `holdback`"
    why = ""
    for pause in PATIENCE:
        time.sleep(pause)
        why = _held(path)
        if not why:
            break
    return why


def _held(path: Path) -> str:
    """Who holds the lock, or why that is not known; empty where nobody does."""
    index = path.with_name(f"{path.name}-shm")
    places = [str(path), str(_RESERVED)] + ([str(index), str(_WAL_WRITE)] if index.exists() else [])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LOOK, *places], capture_output=True, text=True, check=False
    )
    if done.returncode:
        reason = "".join(done.stderr.strip().splitlines()[-1:])
        return f"whether another process is writing the file could not be seen ({reason}); let this user read the file and what lies beside it, or set a `holdback`"
    if not done.stdout:
        return ""
    # Of a process in another container Linux tells no number.
    pid = int(done.stdout)
    return (
        f"{f'process {pid}' if pid > 0 else 'a process that is not seen from here'} has held the file's write lock for longer than {sum(PATIENCE):.1f} s, "
        "and it is not known since when; end its transaction, or set a `holdback`"
    )


def _identity(path: Path) -> SourceIdentity | None:
    """The file's path, and the change counter in its header, which is lower in an older copy; None where the file cannot be read."""
    read = header(path)
    return SourceIdentity.of(0, int.from_bytes(read[24:28], "big"), file=str(path)) if read else None
