"""The identity of a process, such as the holder of a lease, and whether it is still running."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_LINUX = sys.platform.startswith("linux")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process. `machine` says where its pid means something; `started` tells it from a later process of the same pid."""

    host: str
    machine: str
    pid: int
    started: str

    @classmethod
    def here(cls) -> ProcessIdentity:
        """This process."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """A living process of this machine."""
        return cls(socket.gethostname(), _machine(), pid, _started(pid) or "")

    @classmethod
    def parse(cls, text: str) -> ProcessIdentity:
        """The inverse of `text`."""
        host, machine, pid, started = text.split("|")
        return cls(host, machine, int(pid), started)

    @property
    def text(self) -> str:
        """The identity on one line, for another process to read."""
        return "|".join((self.host, self.machine, str(self.pid), self.started))

    @property
    def is_gone(self) -> bool:
        """Whether the process has certainly ended. One that cannot be seen from here may be alive."""
        if self.machine != _machine() or not self.started:
            return False
        if _started(self.pid) == self.started:
            return False
        return _started(self.pid) is not None or not _answers(self.pid)

    @property
    def is_of_another_boot(self) -> bool:
        """Whether it belongs to a machine of this name that was started at another time; a container of the same name looks so, too."""
        return self.host == socket.gethostname() and self.machine != _machine()

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}"


def machine_name() -> tuple[str, str]:
    """The host's name, and with it what tells this machine from another one of the name: the identity that its system was given."""
    host = socket.gethostname()
    with suppress(OSError):
        return host, f"{host}/{Path('/etc/machine-id').read_text(encoding='ascii').strip()}"
    return host, host


def _machine() -> str:
    """This boot and this name space of pids: containers share host names, and a name may belong to two machines."""
    if not _LINUX:
        return socket.gethostname()
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """When the process began, in text to be compared; None if it is not seen. A process that only waits to be reaped has ended."""
    if _LINUX:
        try:
            # After the name, which may hold anything: state is the first field, the start in ticks since boot the twentieth.
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        return "ended" if fields[0] in "ZX" else fields[19]
    try:
        process = psutil.Process(pid)
        return "ended" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.AccessDenied:
        return None
    except psutil.NoSuchProcess:
        return None


def _answers(pid: int) -> bool:
    """Whether there is a process of that number, even one of another user."""
    return psutil.pid_exists(pid)
