"""Tracebacks are kept for their owner, for as long as `retention` says."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import pytest

from incremental_assets.adapters import tracebacks

DAY = 86_400


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(file: Path, days: int) -> Path:
    then = time.time() - days * DAY
    os.utime(file, (then, then), follow_symlinks=False)
    return file


def test_a_traceback_is_in_a_file_that_its_owner_alone_reads() -> None:
    file = Path(tracebacks.kept(ValueError("no such thing")))
    assert "ValueError: no such thing" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_those_that_are_older_go_and_nothing_else_does(temporary: Path) -> None:
    old, young = aged(Path(tracebacks.kept(ValueError())), 31), Path(tracebacks.kept(ValueError()))
    other = temporary / "incremental-assets-of-mine.txt"
    other.write_text("kept")
    aged(other, 400)
    link = temporary / "incremental-assets-link.log"
    link.symlink_to(other)
    aged(link, 400)
    folder = temporary / "incremental-assets-folder.log"
    folder.mkdir()
    aged(folder, 400)
    assert tracebacks.remove_older(timedelta(days=30)) == 1
    assert not old.exists()
    assert all(each.exists() for each in (young, other, link, folder))


@pytest.mark.skipif(os.getuid() != 0, reason="another user's file is made as root")
def test_another_users_traceback_stays(temporary: Path) -> None:
    theirs = aged(Path(tracebacks.kept(ValueError())), 400)
    os.chown(theirs, 12345, 12345)
    assert tracebacks.remove_older(timedelta(days=30)) == 0
    assert theirs.exists()
