"""Channels are notified by what is configured: on a server of HTTP in this process, which is down, slow or refuses."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.notifying import channels
from incremental_assets.adapters.notifying.notifier import Notifier
from incremental_assets.cli.commands.doctor import of_channels
from incremental_assets.cli.findings.finding import Health
from incremental_assets.core.config.load import load
from incremental_assets.core.observing.occurrences import LeaseTaken, SyncEnded
from incremental_assets.core.planning.report import Status
from incremental_assets.resources.notifying import notify
from incremental_assets.resources.runtime import Runtime
from tests.ports.stories import ORDERS, failed, report, sync
from tests.ports.test_incidents import pass_two_minutes

FILE = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
notify:
  oncall: {url: {env: ONCALL_URL}, about: [failure]}
sources:
  shop:
    dialect: postgresql
    host: localhost
    database: shop
    user: reader
    password: {env: SHOP_PASSWORD}
    tables: ["public.orders:updated_at:timestamp!upsert"]
"""
FAILS = "shop.public.orders: its last sync failed; `incremental-assets status --select shop.public.orders` says why"
ENDED = SyncEnded(report(Status.FAILED))


class Service:
    """What a webhook was sent, and how it answers."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.answers, self.waits = 200, threading.Event()
        self.waits.set()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.waits.wait(20)
                if service.answers == 200:
                    service.told.append((said["title"], said["message"]))
                self.send_response(service.answers)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"json://127.0.0.1:{self.server.server_port}/s3cret-token"

    @property
    def titles(self) -> list[str]:
        return [title for title, _ in self.told]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    found = Service()
    monkeypatch.setenv("ONCALL_URL", found.url)
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    yield found
    found.waits.set()
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def runtime(tmp_path: Path, service: Service) -> Iterator[Runtime]:
    file = tmp_path / "sources.yaml"
    file.write_text(FILE)
    found = Runtime(load(file))
    yield found
    found.close()


def tell(checkpoints: SqlCheckpoints, *events: object) -> None:
    with checkpoints.lease(ORDERS, "test") as lease:
        for event in events:
            lease.record(event)  # type: ignore[arg-type]


def look(runtime: Runtime) -> None:
    notify(runtime.configuration, runtime.checkpoints)


def test_a_table_that_fails_is_said_once_and_once_that_it_is_over(runtime: Runtime, service: Service) -> None:
    look(runtime)
    assert service.told == [], "nothing has happened"
    tell(runtime.checkpoints, failed())
    look(runtime)
    tell(runtime.checkpoints, failed())
    look(runtime)
    assert service.told == [("incremental-assets: 1 incident", FAILS)]

    tell(runtime.checkpoints, *sync(0))
    look(runtime)
    look(runtime)
    assert service.told[1:] == [("incremental-assets: 1 over", f"over: {FAILS}")]


def test_the_end_of_a_sync_says_it_in_a_run_that_goes_on(runtime: Runtime, service: Service) -> None:
    tell(runtime.checkpoints, failed())
    runtime.observer.notify(ENDED)

    deadline = time.monotonic() + 10
    while not service.told and time.monotonic() < deadline:
        time.sleep(0.02)
    assert service.titles == ["incremental-assets: 1 incident"]


def test_a_command_says_what_there_is_before_it_ends(runtime: Runtime, service: Service) -> None:
    tell(runtime.checkpoints, failed())
    runtime.observer.notify(ENDED)
    tell(runtime.checkpoints, *sync(0))
    runtime.observer.notify(ENDED)
    runtime.close()

    assert service.titles in ([], ["incremental-assets: 1 incident", "incremental-assets: 1 over"])


def test_a_channel_that_refuses_is_tried_again_and_its_address_is_in_no_message(
    runtime: Runtime, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.answers = 503
    tell(runtime.checkpoints, failed())
    with caplog.at_level(logging.WARNING, "incremental_assets"):
        look(runtime)
    assert "notify: oncall: it did not take the message; it is tried again in two minutes" in caplog.messages
    assert "s3cret" not in "".join(each for each in caplog.messages if "incremental" in each or "notify" in each)

    service.answers = 200
    look(runtime)
    assert service.told == [], "somebody else may be about to say it"
    pass_two_minutes(runtime.checkpoints)
    look(runtime)
    assert service.titles == ["incremental-assets: 1 incident"]


def test_a_channel_that_answers_too_late_hears_it_again_though_it_may_have_had_it(
    runtime: Runtime, service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(channels, "_SECONDS", 0.2)
    tell(runtime.checkpoints, failed())
    service.waits.clear()
    with caplog.at_level(logging.WARNING, "incremental_assets"):
        look(runtime)
    service.waits.set()
    assert "notify: oncall: it did not take the message; it is tried again in two minutes" in caplog.messages

    monkeypatch.setattr(channels, "_SECONDS", 5)
    pass_two_minutes(runtime.checkpoints)
    look(runtime)
    look(runtime)
    assert service.titles == ["incremental-assets: 1 incident", "incremental-assets: 1 incident"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nothing://s3cret", "notify: oncall: its address is of no service that Apprise knows"),
        ("", "the environment variable ONCALL_URL is not set"),
        ("json://127.0.0.1:9/s3cret", "notify: oncall: it did not take the message"),
    ],
)
def test_a_channel_that_cannot_be_reached_harms_nobody(
    runtime: Runtime, url: str, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ONCALL_URL", url)
    tell(runtime.checkpoints, failed())
    with caplog.at_level(logging.WARNING, "incremental_assets"):
        look(runtime)

    ours = [each.getMessage() for each in caplog.records if each.name.startswith("incremental_assets")]
    assert any(said in each for each in ours)
    assert not any("s3cret" in each for each in ours)


def test_a_channel_that_does_not_answer_holds_up_no_sync(service: Service, runtime: Runtime) -> None:
    service.waits.clear()
    tell(runtime.checkpoints, failed())
    begun = time.monotonic()
    for _ in range(100):
        runtime.observer.notify(ENDED)
    tell(runtime.checkpoints, *sync(0))

    took = time.monotonic() - begun
    service.waits.set()
    assert took < 2


def test_a_command_waits_no_longer_than_its_patience() -> None:
    hangs = threading.Event()
    notifier = Notifier(lambda: hangs.wait(20) and None, patience=0.2)
    notifier.notify(ENDED)
    begun = time.monotonic()
    notifier.close()
    hangs.set()

    assert time.monotonic() - begun < 2


def test_what_is_no_end_and_no_look_wakes_nobody() -> None:
    looks: list[int] = []
    notifier = Notifier(lambda: looks.append(1))
    notifier.notify(LeaseTaken(ORDERS, "run", 0.0))
    time.sleep(0.1)
    assert looks == []
    notifier.close()


def test_a_command_whose_source_did_not_answer_says_so_at_its_end(runtime: Runtime, service: Service) -> None:
    assert runtime.observer is not None
    tell(runtime.checkpoints, failed())
    runtime.close()

    assert service.titles == ["incremental-assets: 1 incident"]


def test_a_failure_of_its_own_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise OSError("no disk")

    notifier = Notifier(fails)
    with caplog.at_level(logging.WARNING):
        notifier.notify(ENDED)
        notifier.close()
    assert caplog.messages[0] == "nobody could be notified: no disk"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "ONCALL_URL is not set"),
        ("nothing://s3cret", "its address is of no service that Apprise knows"),
        ("json://127.0.0.1:9/s3cret", ""),
    ],
)
def test_doctor_knows_what_is_wrong_with_a_channel_without_a_message_to_it(
    runtime: Runtime, url: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONCALL_URL", url)
    (finding,) = of_channels(runtime.configuration)
    assert said in finding.detail
    assert (finding.health is Health.OK) is not bool(said)
    assert "s3cret" not in finding.detail + finding.cure


def test_without_channels_and_without_writes_nobody_is_notified(tmp_path: Path, service: Service) -> None:
    file = tmp_path / "sources.yaml"
    file.write_text(FILE)
    reads = Runtime(load(file), writes=False)
    reads.observer.notify(ENDED)
    reads.close()
    assert service.told == []
