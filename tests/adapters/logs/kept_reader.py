"""A reader of the log who has a session kept for him as soon as the server decodes a megabyte in vain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from incremental_assets.adapters.logs.postgresql.resident.client import Resident
from incremental_assets.adapters.logs.postgresql.resident.record import Record, record_in
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.adapters.process import ProcessIdentity
from tests.adapters.logs.log_reader import Reader
from tests.adapters.logs.stand import LogStand

MEGABYTE = 2**20


class KeptReader(Reader):
    """A reader who finds a megabyte in vain too much."""

    def __init__(self, stand: LogStand, lake: Path, **changes: Any) -> None:
        super().__init__(stand, lake)
        address = replace(stand.address(), connections=4, **changes)
        own_folder(self.shelf.folder)
        self.resident = Resident(address, stand.slot, self.shelf.folder, begins_at=MEGABYTE, ends_at=MEGABYTE // 4)
        self.log = replace(self.log, resident=self.resident)

    @property
    def record(self) -> Record | None:
        return record_in(self.shelf.folder)

    @property
    def session(self) -> int | None:
        """The session of the source that is kept."""
        return self.record.pid if self.record else None


def write_log(stand: LogStand, megabytes: int = 2) -> None:
    """Of no table, and behind it what tells the server which transactions run."""
    stand.execute(
        *["SELECT pg_logical_emit_message(false, 'x', repeat('x', 1048576))"] * megabytes,
        "SELECT pg_log_standby_snapshot()",
    )


def held(stand: LogStand, kept: KeptReader) -> int:
    """Have the server decode more in vain than is worth it, and the reader have a session kept; the table that he follows."""
    oid = kept.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    kept.read()
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    kept.read()
    assert kept.session is not None
    return oid


def notes(kept: KeptReader, oid: int) -> list[object]:
    return [row["note"] for row in kept.rows(oid)]


def reader_of(stand: LogStand) -> int | None:
    found = stand.value(f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{stand.slot_name}'")
    return None if found is None else int(found)


def owner_of(session: int, stand: LogStand) -> ProcessIdentity:
    """The process of this machine at the other end of a session."""
    port = stand.value(f"SELECT client_port FROM pg_stat_activity WHERE pid = {session}")
    (pid,) = {
        each.pid
        for each in psutil.net_connections("tcp")
        if each.laddr and each.laddr.port == port and each.pid is not None
    }
    return ProcessIdentity.of(pid)
