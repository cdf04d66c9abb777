"""Folders and the lock of a local lake."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from incremental_assets.adapters.delta.storage import commit_lock, names_in, remove_folder
from incremental_assets.core.errors import Busy
from incremental_assets.core.model.table import TableId

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
        from incremental_assets.core.model.table import TableId
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


def test_a_store_with_conditional_writes_needs_no_lock() -> None:
    with commit_lock("s3a://bucket/lake", ORDERS):
        pass
