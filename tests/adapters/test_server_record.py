"""What an engine tells of itself is for its own user, and holds for the very process that it names."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.adapters.spark import server_record as announced
from incremental_assets.adapters.spark import session_provider as door
from incremental_assets.adapters.spark.server_record import Announced
from incremental_assets.core.errors import SetupError

ENGINE = Announced(
    process=ProcessIdentity.here(),
    port=4711,
    token="s3cret-of-the-engine",
    made_from="these jars",
    spark="4.2.0",
    memory="2048m",
    since=datetime(2026, 1, 1, 12, 30, tzinfo=UTC),
    log="/nowhere/engine.log",
)
GONE = replace(ENGINE, process=replace(ProcessIdentity.here(), started="at another time"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(door, "made_from", lambda _: "these jars")
    announced.write(tmp_path, ENGINE)
    return tmp_path


def test_it_is_read_as_it_was_written_and_by_its_owner_alone(folder: Path) -> None:
    assert announced.read(folder) == door.find_engine(folder) == ENGINE
    assert [(path.name, path.stat().st_mode & 0o777) for path in folder.iterdir()] == [("engine.json", 0o600)]
    assert ENGINE.address == "sc://127.0.0.1:4711"


def test_the_token_shows_nowhere_but_in_the_file() -> None:
    assert "s3cret" not in f"{ENGINE!r} {ENGINE} {ENGINE.address}"


def test_nothing_announced_is_no_engine_and_no_error(tmp_path: Path) -> None:
    assert door.find_engine(tmp_path) is None
    assert door.find_engine(tmp_path / "nowhere") is None


def test_a_file_that_others_may_read_is_not_trusted(folder: Path) -> None:
    (folder / "engine.json").chmod(0o644)
    with pytest.raises(SetupError, match="others may read it"):
        door.find_engine(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_trusted(folder: Path) -> None:
    os.chown(folder / "engine.json", 65534, 65534)
    with pytest.raises(SetupError, match="belongs to another user"):
        door.find_engine(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"process": "x", "since": "yesterday"}'])
def test_a_file_of_another_release_is_named(folder: Path, text: str) -> None:
    (folder / "engine.json").write_text(text)
    with pytest.raises(SetupError, match=r"engine\.json is not used: another release wrote the file"):
        door.find_engine(folder)


@pytest.mark.parametrize(
    "process",
    [
        replace(ProcessIdentity.here(), started="at another time"),
        replace(ProcessIdentity.here(), pid=2**22 + 1, started="1"),
        replace(ProcessIdentity.here(), machine="before the last boot"),
    ],
    ids=["pid used again", "no such pid", "boot"],
)
def test_an_engine_that_has_ended_is_not_taken_for_one_that_runs(folder: Path, process: ProcessIdentity) -> None:
    announced.write(folder, replace(ENGINE, process=process))
    with pytest.raises(SetupError, match=r"has ended by itself, its last messages are in /nowhere/engine\.log"):
        door.find_engine(folder)
    assert not announced.is_announced(folder, replace(ENGINE, process=process))


def test_one_of_other_jars_is_not_used(folder: Path) -> None:
    announced.write(folder, replace(ENGINE, made_from="other jars"))
    with pytest.raises(SetupError, match="started with another Java, another Spark, other jars"):
        door.find_engine(folder)


def test_one_that_was_withdrawn_is_there_no_more_though_its_process_is(folder: Path) -> None:
    assert announced.is_announced(folder, ENGINE)
    announced.withdraw(folder)
    announced.withdraw(folder)
    assert not announced.is_announced(folder, ENGINE)


def test_another_one_in_its_place_is_another_one(folder: Path) -> None:
    announced.write(folder, replace(ENGINE, token="another"))
    assert not announced.is_announced(folder, ENGINE)


def test_an_engine_whose_keeper_died_is_left_alone() -> None:
    assert not ENGINE.is_left_alone
    assert not replace(ENGINE, keeper=ProcessIdentity.here().text).is_left_alone
    assert replace(ENGINE, keeper=GONE.process.text).is_left_alone
