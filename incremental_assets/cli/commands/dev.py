"""`dev`: Dagster's webserver and daemon for the configuration, with the demo's database if it is configured, until Ctrl-C."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from urllib.error import URLError

from incremental_assets.cli.answer import Answer, Note
from incremental_assets.cli.commands.demo_site import Site
from incremental_assets.cli.lines import JSON, LOG_FORMAT, is_json, say
from incremental_assets.cli.opening import configured_or_demo, dagster_home, opened
from incremental_assets.cli.served_home import end_group, hearing_sigint, serving, take_over
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import IncrementalAssetsError, SetupError
from incremental_assets.core.extras import UI
from incremental_assets.core.words import agreeing, counted

HOST = "127.0.0.1"
_READY_WITHIN = 180
"""Seconds; a cold start compiles nothing but reads a lot."""
_SCALE = Decimal("0.1")


def run(config: Path | None, port: int) -> Answer:
    """The command. Ctrl-C is how it is meant to end, so that the exit status is then 0."""
    UI.require()
    configuration = configured_or_demo(config)
    home = dagster_home()
    if left := take_over(home):
        say(left)
    _refuse_busy(port)
    # Not in `logs`: Dagster takes what lies there for its telemetry, posts it whatever `telemetry.enabled` says, and removes it.
    url, log = f"http://{HOST}:{port}", home / "dev.log"
    with _database(configuration), _engine(configuration):
        _look(configuration)
        _end_dead_runs()
        _serve(configuration, port, url, log)
    return Answer({"url": url, "configuration": str(configuration.path), "log": str(log)}, (Note("ended"),))


def _serve(configuration: Configuration, port: int, url: str, log: Path) -> None:
    """Serve Dagster until Ctrl-C. Raises SetupError where it does not start, or ends by itself."""
    with running_dagster(port, log, configuration.path.parent) as process, serving(log.parent, process.pid, url):
        _wait_until_ready(process, url, log)
        say(
            f"Dagster is up: {url}\n  configuration {configuration.path}\n  log           {log}\n"
            f"  sensors       run from now on, and sync what is due; to stop one: {url}/automation\nCtrl-C ends it."
        )
        with suppress(KeyboardInterrupt):
            process.wait()
        if process.poll() is not None:
            raise SetupError(f"Dagster ended by itself: {_last_line(log)}; see {log}")
        say("ending …")


def _look(configuration: Configuration) -> None:
    """The definitions show the catalogue last seen, so it had better be seen once. A source that is away is the sensor's to tell again."""
    with opened(configuration) as runtime:
        for source in configuration.sources:
            try:
                runtime.specs(source.name)
            except IncrementalAssetsError as error:
                say(str(error))


def _end_dead_runs() -> None:
    """Else the sensor would wait for them."""
    from incremental_assets.cli.dagster_runs import dagster_instance
    from incremental_assets.cli.orphaned_runs import end_dead_runs

    with dagster_instance() as instance:
        count = end_dead_runs(instance)
    if count:
        them = agreeing(count, "it", "them")
        say(
            f"{counted(count, 'run')} had been killed; Dagster shows {them} as failed now, and the sensor asks for {them} again"
        )


@contextmanager
def _database(configuration: Configuration) -> Iterator[None]:
    """The demo's database, with its data; none for other configurations."""
    site = Site.find(configuration)
    if site is None:
        yield
        return
    shop = site.shop()
    place = site.start(shop)
    try:
        if shop.loaded_scale() is None:
            say(f"loading TPC-H at scale {_SCALE} …")
            shop.prepare(_SCALE, lambda _table, _rows: None)
            site.claim()
        say(f"{shop.database} answers on {place}")
        yield
    finally:
        shop.stop()


@contextmanager
def _engine(configuration: Configuration) -> Iterator[None]:
    """The engine, so that runs need not start Spark; one that was there before stays there. Without it the runs do as they can."""
    from incremental_assets.adapters.fork_server import control
    from incremental_assets.adapters.process import ProcessIdentity
    from incremental_assets.adapters.spark import connect_server as server
    from incremental_assets.resources.home import engine_folder

    if not configuration.shares_engine:
        yield
        return
    folder, ours, me = engine_folder(), False, ProcessIdentity.here().text
    forks: control.Starting | None = None
    try:
        engine, _ = server.start(folder, without=configuration.secrets, keeper=me)
        ours = engine.keeper == me or engine.is_left_alone
        say(f"the engine answers at {engine.address} (pid {engine.process.pid})")
        if control.running(folder) is None:
            # Of which runs are forks; until it has imported, they import for themselves.
            forks = control.start(folder, configuration.secrets)
    except SetupError as error:
        say(f"{error}; runs start Spark themselves")
    try:
        yield
    finally:
        if forks:
            forks.end()
        if ours:
            # Beside one that a run had left behind, and that was taken over.
            control.stop(folder)
            server.stop(folder)


@contextmanager
def running_dagster(port: int, log: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Webserver, daemon and code server, in a process group of their own that ends with the block.

    They start in the folder of the configuration: they take modules and `.env` from where they start, and another user who may write there
    could run code as this one.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "dagster", "dev", "--host", HOST, "--port", str(port), *_workspace()]
    if is_json():
        command += [LOG_FORMAT, JSON]
    with log.open("wb") as output:
        with hearing_sigint():
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1"},
                start_new_session=True,
            )
        try:
            yield process
        finally:
            end_group(process.pid)
            process.wait()


def _workspace() -> list[str]:
    """The checkout's own, in which the code location has its name; an installed package has none."""
    file = Path(__file__).resolve().parents[3] / "workspace.yaml"
    return ["--workspace", str(file)] if file.is_file() else ["--module-name", "incremental_assets.definitions"]


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _READY_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SetupError(f"Dagster did not start: {_last_line(log)}; see {log}")
        with suppress(URLError, OSError), urllib.request.urlopen(f"{url}/server_info", timeout=5):  # noqa: S310 - our own address
            return
        time.sleep(0.2)
    raise SetupError(f"Dagster's UI did not answer at {url} within {_READY_WITHIN} seconds; see {log}")


def _refuse_busy(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise SetupError(
                f"port {port} on {HOST} is in use by another program; end it, or choose another one with --port {port + 1}"
            ) from None


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it left no message"
