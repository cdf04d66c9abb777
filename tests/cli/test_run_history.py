"""Dagster's run history is a folder that may be full, or read-only."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from incremental_assets.cli.dagster_runs import dagster_instance
from incremental_assets.core.errors import SetupError


def test_a_run_history_that_cannot_be_opened_is_one_sentence_with_its_folder_and_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    (tmp_path / "history" / "runs.db").mkdir(parents=True)
    with (
        pytest.raises(SetupError, match=rf"run history in {tmp_path} could not be read or written .* by DAGSTER_HOME$"),
        dagster_instance(),
    ):
        pass


def test_so_is_one_whose_disk_is_full_in_the_middle_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with pytest.raises(SetupError, match="disk is full"), dagster_instance():
        raise OperationalError("INSERT", {}, OSError("database or disk is full"))


@pytest.mark.parametrize("home", ["/proc/nowhere/dagster", "{file}", "{file}/dagster"])
def test_a_home_that_can_be_no_folder_is_one_sentence_with_its_name_and_the_cure(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    named = home.format(file=tmp_path / "file")
    monkeypatch.setenv("DAGSTER_HOME", named)
    with (
        pytest.raises(SetupError, match=rf"cannot be kept in {named} \(.*\); let this user .* by DAGSTER_HOME$"),
        dagster_instance(),
    ):
        pass
