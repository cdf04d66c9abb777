"""What is ours alone is made so under any umask, and a folder that somebody else made first is not used."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.delta.storage import commit_lock
from incremental_assets.adapters.permissions import own_folder, scratch_folder, strictly
from incremental_assets.core.model.table_id import TableId


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_every_folder_that_is_missing_is_made_for_its_user_alone(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2750)
    own_folder(shared / "one" / "two")
    assert mode(shared) == 0o2750
    assert [mode(path) & 0o777 for path in (shared / "one", shared / "one" / "two")] == [0o700, 0o700]


def test_a_lake_that_a_commit_makes_is_closed(tmp_path: Path) -> None:
    with commit_lock(str(tmp_path / "lake"), TableId("shop", "public", "orders")):
        assert mode(tmp_path / "lake") == 0o700


def test_the_lock_of_a_table_is_no_other_user_s_to_hold_where_the_lake_lets_him_in(tmp_path: Path) -> None:
    """Whoever may read a file can lock it."""
    (tmp_path / "lake").mkdir(mode=0o755)
    with commit_lock(str(tmp_path / "lake"), TableId("shop", "public", "orders")):
        assert [mode(path) for path in (tmp_path / "lake").rglob("*") if path.is_file()] == [0o600]


def test_checkpoints_are_for_their_user_alone(tmp_path: Path) -> None:
    checkpoints = SqlCheckpoints(f"sqlite:///{tmp_path}/ours/checkpoints.db")
    checkpoints.remember_catalogue("shop", [])
    assert mode(tmp_path / "ours") == 0o700
    assert {mode(path) for path in (tmp_path / "ours").iterdir()} == {0o600}
    checkpoints.close()


def test_scratch_is_one_closed_folder(temporary: Path) -> None:
    assert scratch_folder() == scratch_folder()
    assert mode(scratch_folder()) == 0o700
    assert scratch_folder().parent == temporary


def test_scratch_is_one_folder_of_the_process_too_where_another_user_has_taken_its_name(temporary: Path) -> None:
    name = temporary / f"incremental-assets-{os.geteuid()}"
    name.mkdir()
    name.chmod(0o755)
    assert scratch_folder() == scratch_folder()
    assert (mode(scratch_folder()), len(list(temporary.iterdir()))) == (0o700, 2)


@pytest.mark.parametrize("trap", ["a link", "an open folder", "a file"])
def test_scratch_that_somebody_made_first_is_not_used(temporary: Path, trap: str) -> None:
    theirs, name = temporary / "theirs", temporary / f"incremental-assets-{os.geteuid()}"
    theirs.mkdir()
    if trap == "a link":
        name.symlink_to(theirs)
    elif trap == "an open folder":
        name.mkdir()
        name.chmod(0o755)
    else:
        name.touch()
    found = scratch_folder()
    assert found != name
    assert mode(found) == 0o700


def test_a_process_that_is_started_strictly_writes_nothing_for_everybody(tmp_path: Path) -> None:
    with strictly():
        (tmp_path / "file").touch()
    assert mode(tmp_path / "file") == 0o640
    assert os.umask(0o022) == 0o022
