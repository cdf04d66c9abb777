"""A process takes the engine where it may, a session of its own where it must, and says why."""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.spark import jvm
from incremental_assets.adapters.spark import server_record as announced
from incremental_assets.adapters.spark import session as own
from incremental_assets.adapters.spark import session_provider as door
from incremental_assets.adapters.spark.session import SparkSettings, Work
from incremental_assets.adapters.spark.session_provider import Session
from incremental_assets.core.concurrency.background import in_background
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import EngineLost
from tests.adapters.test_server_record import ENGINE, GONE


class FakeSession:
    """One that notes its end."""

    def __init__(self, kind: str) -> None:
        self.kind, self.ended = kind, ""

    def stop(self) -> None:
        self.ended = "stopped"


class FakeRemote:
    """`engine.remote`, without a server. `fails` is raised at the next opening."""

    fails: Exception | None = None

    def open_remote(self, engine: announced.Announced, is_there: Any) -> FakeSession:
        if self.fails is not None:
            raise self.fails
        return FakeSession("engine")

    def leave(self, session: FakeSession) -> None:
        session.ended = "left"

    def close(self, session: FakeSession) -> None:
        session.ended = "closed"


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> FakeRemote:
    fake = FakeRemote()
    monkeypatch.setattr("incremental_assets.adapters.spark.connect_client", fake, raising=False)
    monkeypatch.setitem(sys.modules, "incremental_assets.adapters.spark.connect_client", fake)
    monkeypatch.setattr(door, "made_from", lambda _: "these jars")
    # Another test of this process may have a JVM.
    monkeypatch.setattr(door, "_has_jvm", lambda: False)
    return fake


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[SparkSettings]:
    """What sessions of the process's own were opened for."""
    told: list[SparkSettings] = []

    def open_session(settings: SparkSettings) -> FakeSession:
        told.append(settings)
        return FakeSession("own")

    monkeypatch.setattr(own, "open_session", open_session)
    return told


def kind(session: Any) -> str:
    return str(session.kind)


def test_an_engine_is_used_and_goes_on_when_the_session_ends(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings]
) -> None:
    announced.write(tmp_path, ENGINE)
    session = Session(engines=tmp_path)
    got: Any = session(Work.LOAD)
    assert (kind(got), session() is got, opened) == ("engine", True, [])
    session.close()
    assert (got.ended, session.is_open) == ("closed", False)


def test_without_one_the_session_is_ones_own_and_nothing_is_said(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings], caplog: pytest.LogCaptureFixture
) -> None:
    assert kind(Session(engines=tmp_path)(Work.TICK)) == "own"
    assert [settings.work for settings in opened] == [Work.TICK]
    assert caplog.records == []


def test_one_that_is_announced_is_not_looked_for_by_whoever_does_not_ask(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings]
) -> None:
    announced.write(tmp_path, ENGINE)
    assert kind(Session()()) == "own"


@pytest.mark.parametrize(
    ("engine", "why"),
    [(replace(ENGINE, made_from="other jars"), "is not used"), (GONE, "has ended by itself")],
    ids=["other jars", "gone"],
)
def test_why_an_engine_is_not_used_is_said(
    tmp_path: Path,
    remote: FakeRemote,
    opened: list[SparkSettings],
    caplog: pytest.LogCaptureFixture,
    engine: announced.Announced,
    why: str,
) -> None:
    announced.write(tmp_path, engine)
    assert kind(Session(engines=tmp_path)()) == "own"
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert why in record.message
    assert record.message.endswith("this run opens its own session")


def test_one_that_does_not_answer_is_not_used(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings], caplog: pytest.LogCaptureFixture
) -> None:
    announced.write(tmp_path, ENGINE)
    remote.fails = EngineLost(1, "/nowhere/engine.log")
    assert kind(Session(engines=tmp_path)()) == "own"
    assert len(caplog.records) == 1


@pytest.mark.parametrize("another", [False, True], ids=["none in its place", "another in its place"])
def test_once_it_is_gone_the_process_goes_on_by_itself_and_says_so(
    tmp_path: Path,
    remote: FakeRemote,
    opened: list[SparkSettings],
    caplog: pytest.LogCaptureFixture,
    another: bool,
) -> None:
    announced.write(tmp_path, ENGINE)
    session = Session(engines=tmp_path)
    first: Any = session()
    announced.withdraw(tmp_path)
    if another:
        announced.write(tmp_path, replace(ENGINE, token="another"))
    second: Any = session(Work.TICK)
    assert (first.ended, kind(second), session() is second) == ("left", "own", True)
    assert [record.message for record in caplog.records] == [
        f"the engine (pid {ENGINE.process.pid}) has ended; this run continues in its own session"
    ]


def test_the_loss_is_known_before_the_kind_of_sessions_changes_for_every_thread(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    announced.write(tmp_path, ENGINE)
    session, known = Session(engines=tmp_path), list[EngineLost | None]()
    monkeypatch.setattr(remote, "leave", lambda _: known.append(session.lost), raising=False)
    session()
    assert session.lost is None
    announced.withdraw(tmp_path)
    session()
    assert [str(ENGINE.process.pid) in str(each) for each in known] == [True]
    assert session.lost is known[0]


def test_a_process_with_a_jvm_of_its_own_stays_with_it(
    tmp_path: Path, remote: FakeRemote, opened: list[SparkSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    announced.write(tmp_path, ENGINE)
    monkeypatch.setattr(door, "_has_jvm", lambda: True)
    assert kind(Session(engines=tmp_path)()) == "own"


def test_whoever_ends_does_not_wait_for_a_session_that_another_thread_is_still_opening(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def open_session(settings: SparkSettings) -> FakeSession:
        begun.set()
        may_end.wait()
        return FakeSession("own")

    monkeypatch.setattr(own, "open_session", open_session)
    monkeypatch.setattr(door, "_PATIENCE", 0.01)
    session = Session()
    opening = threading.Thread(target=session, daemon=True)
    opening.start()
    assert begun.wait(60)
    # With a lock that waits, this line would be the last.
    session.close()
    assert opening.is_alive()
    may_end.set()
    opening.join(60)
    session.close()
    assert not session.is_open


def test_a_jvm_that_is_beginning_is_ended_with_whoever_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    beginning, ended = threading.Event(), threading.Event()

    def open_session(_: SparkSettings) -> FakeSession:
        beginning.set()
        assert ended.wait(60), "nobody has ended it"
        raise RuntimeError("the JVM ended before it said its port")

    monkeypatch.setattr(own, "open_session", open_session)
    monkeypatch.setattr(jvm, "end", ended.set)
    opening = in_background(Session())
    assert beginning.wait(60)
    this_process.ask()
    with pytest.raises(RuntimeError, match="its port"):
        opening.result(60)
    this_process.go_on()
    ended.clear()
    this_process.ask()
    this_process.go_on()
    assert not ended.wait(0.2), "what has ended is not cancelled"
