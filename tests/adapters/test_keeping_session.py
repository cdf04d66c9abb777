"""A process whose runs leave an engine behind takes the one that is there, asks for one where it has to, and holds it while it uses it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.spark import server_record as announced
from incremental_assets.adapters.spark import session_provider as door
from incremental_assets.adapters.spark.kept import Keep
from incremental_assets.adapters.spark.session import SparkSettings
from incremental_assets.adapters.spark.session_provider import Session
from incremental_assets.adapters.spark.use import unused
from incremental_assets.core.errors import EngineLost, SetupError
from tests.adapters.test_server_record import ENGINE, GONE
from tests.adapters.test_session_provider import FakeRemote, kind, opened, remote

__all__ = ["opened", "remote"]

KEEP = Keep(timedelta(minutes=10))
KEPT = replace(ENGINE, idle=600.0, keeper=ENGINE.process.text)


def is_used(folder: Path) -> bool:
    with unused(folder) as last:
        return last is None


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Keep]:
    """What engines were asked for, each of which is there at once."""
    told: list[Keep] = []

    @contextmanager
    def ask(folder: Path, keep: Keep) -> Iterator[None]:
        told.append(keep)
        announced.write(folder, KEPT)
        yield
        assert is_used(folder)

    monkeypatch.setattr(door, "ask_for_engine", ask)
    return told


def test_without_the_key_no_engine_is_asked_for(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings], asked: list[Keep]
) -> None:
    assert kind(Session(engines=tmp_path)()) == "own"
    assert (asked, list(tmp_path.iterdir())) == ([], [])


def test_one_is_asked_for_where_there_is_none_and_held_until_the_session_ends(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings], asked: list[Keep]
) -> None:
    first, second = Session(engines=tmp_path, keep=KEEP), Session(engines=tmp_path, keep=KEEP)
    assert [kind(first()), kind(second())] == ["engine", "engine"]
    assert (asked, opened) == ([KEEP], [])
    first.close()
    assert is_used(tmp_path)
    second.close()
    assert not is_used(tmp_path)


def test_who_did_not_ask_holds_it_as_well(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings], asked: list[Keep]
) -> None:
    announced.write(tmp_path, KEPT)
    session = Session(engines=tmp_path)
    assert kind(session()) == "engine"
    assert is_used(tmp_path)
    announced.withdraw(tmp_path)
    assert kind(session()) == "own"
    assert not is_used(tmp_path), "it has let go of it"


def test_one_that_was_started_to_stay_is_not_held(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings], asked: list[Keep]
) -> None:
    announced.write(tmp_path, ENGINE)
    assert kind(Session(engines=tmp_path, keep=KEEP)()) == "engine"
    assert (asked, [path.name for path in tmp_path.iterdir()]) == ([], ["engine.json"])


@pytest.mark.parametrize(
    "there",
    [GONE, replace(KEPT, made_from="other jars"), replace(KEPT, keeper=GONE.process.text)],
    ids=["it has ended", "of another release", "nobody keeps it"],
)
def test_another_one_is_asked_for_where_the_one_that_is_there_will_not_do(
    tmp_path: Path,
    remote: FakeRemote,
    opened: list[SparkSettings],
    asked: list[Keep],
    caplog: pytest.LogCaptureFixture,
    there: announced.Announced,
) -> None:
    announced.write(tmp_path, there)
    assert kind(Session(engines=tmp_path, keep=KEEP)()) == "engine"
    assert (asked, opened, caplog.records) == ([KEEP], [], [])


def test_one_that_ends_before_it_is_held_is_not_used(
    tmp_path: Path,
    remote: FakeRemote,
    opened: list[SparkSettings],
    asked: list[Keep],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    announced.write(tmp_path, KEPT)
    begin: Callable[[Path], Any] = door.Use

    def late(folder: Path) -> Any:
        announced.withdraw(folder)
        return begin(folder)

    monkeypatch.setattr(door, "Use", late)
    assert kind(Session(engines=tmp_path)()) == "own"
    assert not is_used(tmp_path)


@pytest.mark.parametrize("fails", [SetupError("there is no Java"), EngineLost(1, "/nowhere/engine.log")])
def test_where_there_can_be_none_the_run_goes_on_by_itself_and_says_why(
    tmp_path: Path,
    remote: FakeRemote,
    opened: list[SparkSettings],
    asked: list[Keep],
    caplog: pytest.LogCaptureFixture,
    fails: Exception,
) -> None:
    remote.fails = fails
    assert kind(Session(engines=tmp_path, keep=KEEP)()) == "own"
    (record,) = caplog.records
    assert (record.levelno, record.message) == (logging.WARNING, f"{fails}; this run opens its own session")
    assert not is_used(tmp_path)
