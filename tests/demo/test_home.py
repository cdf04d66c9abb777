"""The copy of PostgreSQL's programs that the demo makes where the installed ones cannot be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.demo import home
from incremental_assets.demo.home import Home


def test_a_copy_of_the_programs_that_no_longer_runs_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    programs = installed / home._PROGRAMS
    programs.mkdir(parents=True)
    (programs / "postgres").write_text("first")
    (programs / "postmaster").symlink_to("postgres")
    monkeypatch.setattr(home, "_packages", lambda: installed)
    place = Home(tmp_path / "home")
    place.copy_programs()
    (programs / "postgres").write_text("second")
    place.copy_programs()
    assert place.programs == tmp_path / "home" / "programs" / home._PROGRAMS
    assert [file.read_text() for file in sorted(place.programs.iterdir())] == ["second", "second"]
