"""What a sync writes between the log and the lake is gone with it, and what a killed one left with the next."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from incremental_assets.adapters.logs.scratch import scratch_file

HOLDS = """
import os, signal, sys
from pathlib import Path
from incremental_assets.adapters.logs.scratch import scratch_file
with scratch_file(Path(sys.argv[1])) as path:
    path.write_bytes(b"rows")
    print(path.name, flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_gone_with_its_block_and_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    with scratch_file(folder) as path:
        path.write_bytes(b"rows")
        assert names(folder) == [path.name]
        assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert names(folder) == []


def test_what_a_killed_process_left_goes_with_the_next_and_what_a_living_one_holds_stays(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("of somebody")
    (tmp_path / "folder.parquet").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    held = process.stdout.readline().strip()
    with scratch_file(tmp_path) as mine, scratch_file(tmp_path) as another:
        assert names(tmp_path) == sorted([held, mine.name, another.name, "folder.parquet", "note.txt"])
    process.communicate("")
    assert process.returncode == -signal.SIGKILL
    assert names(tmp_path) == sorted([held, "folder.parquet", "note.txt"])
    with scratch_file(tmp_path) as mine:
        assert names(tmp_path) == sorted([mine.name, "folder.parquet", "note.txt"])
