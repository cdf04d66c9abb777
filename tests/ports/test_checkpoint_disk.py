"""What is said of a checkpoint file that cannot be written, and that it is said at once."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from incremental_assets.adapters.checkpoints import database
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.errors import CheckpointsUnreachable
from tests.disks import fill, small_disk
from tests.ports.stories import ORDERS, intent

FULL = "its disk is full; make room there, and try again"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 2):
        yield tmp_path / "disk"


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody gives a full disk back by being waited for. Other threads of this process sleep as they like."""

    def slept(_: float) -> None:
        raise AssertionError("this waits for a writer that is not there")

    monkeypatch.setattr(database, "time", SimpleNamespace(monotonic=time.monotonic, sleep=slept))


def opened(disk: Path) -> SqlCheckpoints:
    return SqlCheckpoints(f"sqlite:///{disk}/checkpoints.db")


def record(checkpoints: SqlCheckpoints, seq: int) -> None:
    with checkpoints.lease(ORDERS, "run") as lease:
        lease.record(intent(seq))


def test_a_process_that_finds_its_disk_full_says_so_at_once_and_goes_on_when_there_is_room(disk: Path) -> None:
    before = opened(disk)
    record(before, 5)
    before.close()
    fill(disk / "ballast")
    with pytest.raises(CheckpointsUnreachable, match=FULL):
        opened(disk).position(ORDERS)
    (disk / "ballast").unlink()
    assert opened(disk).position(ORDERS).last_seq == 5
    record(opened(disk), 6)


def test_a_disk_that_becomes_full_while_a_process_writes_is_named(disk: Path) -> None:
    checkpoints = opened(disk)
    record(checkpoints, 5)
    fill(disk / "ballast")
    with pytest.raises(CheckpointsUnreachable, match=FULL):  # noqa: PT012 - as many as fit in the last page
        for seq in range(6, 200):
            record(checkpoints, seq)
    last = checkpoints.position(ORDERS).last_seq
    (disk / "ballast").unlink()
    record(checkpoints, last + 1)
    assert checkpoints.position(ORDERS).last_seq == last + 1


def test_a_file_that_may_not_be_written_is_named_with_its_cure(disk: Path) -> None:
    before = opened(disk)
    record(before, 5)
    before.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(
        CheckpointsUnreachable, match="this user may not write it; allow it to write the file and its folder"
    ):
        record(opened(disk), 6)


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_disk_that_cannot_be_written_is_read_by_whoever_writes_nothing(disk: Path, journal: str) -> None:
    """With a write-ahead log where a process that was killed has left the files of the log."""
    checkpoints = opened(disk)
    record(checkpoints, 5)
    checkpoints.close()
    killed = f"import os, sqlite3; c = sqlite3.connect({str(disk / 'checkpoints.db')!r}); c.execute('PRAGMA journal_mode = {journal}'); c.execute('SELECT count(*) FROM checkpoints').fetchall(); os._exit(0)"
    subprocess.run([sys.executable, "-c", killed], check=True)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    reader = SqlCheckpoints(f"sqlite:///{disk}/checkpoints.db", writes=False)
    assert reader.position(ORDERS).last_seq == 5
    reader.close()


def test_a_write_ahead_log_without_its_files_cannot_be_read_where_none_can_be_made(disk: Path) -> None:
    checkpoints = opened(disk)
    record(checkpoints, 5)
    checkpoints.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(CheckpointsUnreachable, match="allow it to write the file and its folder"):
        SqlCheckpoints(f"sqlite:///{disk}/checkpoints.db", writes=False).position(ORDERS)
