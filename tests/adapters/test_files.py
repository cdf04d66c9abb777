"""Folders and the lock of a local lake."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.quarantine.held import held_rows
from incremental_assets.adapters.delta.storage import commit_lock, names_in, remove_folder
from incremental_assets.core.errors import Busy, LakeRefused, TargetChanged
from incremental_assets.core.model.paths import lock_path, quarantine_path
from incremental_assets.core.model.table_id import TableId
from tests.scenario import orders

ORDERS = TableId("shop", "public", "orders")


def never() -> NoReturn:
    raise AssertionError("a local lake needs no Spark")


def test_folders_are_listed_and_removed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert names_in(str(tmp_path), never) == ("a",)
    remove_folder(str(tmp_path / "a"), never)
    remove_folder(str(tmp_path / "a"), never)
    assert names_in(str(tmp_path), never) == ()
    assert names_in(str(tmp_path / "none"), never) == ()


def test_one_process_at_a_time_commits_to_a_table_and_death_lets_go(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""\
        import time
        from incremental_assets.core.model.table_id import TableId
        from incremental_assets.adapters.delta.storage import commit_lock
        with commit_lock({str(tmp_path)!r}, TableId("shop", "public", "orders")):
            print("held", flush=True)
            time.sleep(60)
        """)
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(Busy, match=f"process {holder.pid} on this machine has been committing"),
            commit_lock(str(tmp_path), ORDERS, timedelta()),
        ):
            pass
        with commit_lock(str(tmp_path), TableId("shop", "public", "other"), timedelta()):
            pass
    finally:
        holder.kill()
        holder.wait()
    with commit_lock(str(tmp_path), ORDERS, timedelta()):
        pass


PLANTED: dict[str, Callable[[Path, Path], object]] = {
    "a link": lambda lock, file: lock.symlink_to(file),
    "a link to nothing": lambda lock, file: lock.symlink_to(file.with_name("none")),
    "another name of a file": lambda lock, file: lock.hardlink_to(file),
    "a folder": lambda lock, file: lock.mkdir(),
    "a pipe": lambda lock, file: os.mkfifo(lock),
    "a socket": lambda lock, file: os.mknod(lock, stat.S_IFSOCK | 0o600),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_somebody_has_put_in_the_place_of_a_lock_is_not_written_to(tmp_path: Path, planted: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("of this user alone")
    lock = Path(lock_path(str(tmp_path), ORDERS))
    lock.parent.mkdir(parents=True)
    PLANTED[planted](lock, precious)

    with pytest.raises(LakeRefused, match="is no lock file of this program's"), commit_lock(str(tmp_path), ORDERS):
        pass

    assert precious.read_text() == "of this user alone"
    assert not precious.with_name("none").exists()


@pytest.mark.parametrize("place", ["_last_checkpoint", "00000000000000000000.json", ""])
def test_a_pipe_in_a_log_is_told_and_not_waited_for(tmp_path: Path, place: str) -> None:
    log = tmp_path / "orders" / "_delta_log"
    (log if place else log.parent).mkdir(parents=True)
    os.mkfifo(log / place)

    with pytest.raises(TargetChanged, match=r"is no file, but a pipe|is no folder, where the lake has one"):
        open_log(str(tmp_path / "orders"))


def test_a_pipe_in_the_place_of_a_checkpoint_is_told_and_not_waited_for(tmp_path: Path) -> None:
    log = tmp_path / "orders" / "_delta_log"
    log.mkdir(parents=True)
    (log / "_last_checkpoint").write_text('{"version": 10, "size": 1}')
    os.mkfifo(log / "00000000000000000010.checkpoint.parquet")

    with pytest.raises(TargetChanged, match=r"10\.checkpoint\.parquet is no file, but a pipe or a device; remove it"):
        open_log(str(tmp_path / "orders"))


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_folder_in_the_place_of_a_file_of_a_log_is_told(tmp_path: Path) -> None:
    file = tmp_path / "orders" / "_delta_log" / "00000000000000000000.json"
    file.mkdir(parents=True)
    before = open_files()

    with pytest.raises(
        TargetChanged, match=r"0\.json cannot be read \(Is a directory\); let this user read it, or move"
    ):
        open_log(str(tmp_path / "orders"))

    assert open_files() == before, "its descriptor is closed"


def test_a_quarantine_that_is_no_folder_is_left_to_the_sync_of_its_table(tmp_path: Path) -> None:
    there = Path(quarantine_path(str(tmp_path), ORDERS))
    there.parent.mkdir(parents=True)
    os.mkfifo(there)
    assert held_rows(str(tmp_path), orders()) is None


def test_a_store_with_conditional_writes_needs_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    with commit_lock("s3a://bucket/lake", ORDERS):
        assert list(tmp_path.iterdir()) == []
