"""Runs that Dagster's server of a code location starts are forks of the process beside the engine, and Dagster cannot tell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from dagster import DagsterInstance, DagsterRunStatus
from dagster._core.test_utils import create_run_for_test
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import GrpcServerTarget

from incremental_assets.adapters.fork_server import control
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.resources.home import engine_folder
from tests.e2e import forked_runs
from tests.e2e.stand import free_port
from tests.waiting import until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no fork server elsewhere")

ENDED = {DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED}
OF_THE_SERVER = {
    "DAGSTER_IS_DEV_CLI": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONSAFEPATH": "1",
    "SHOP_PASSWORD": "swordfish",
}
"""What `dev` adds to the environment of a code location, and what only that may know."""


class Location:
    """A home with a fork server, and the server of a code location as Dagster starts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
        self.engine = own_folder(folder / "engine" / engine_folder().name)
        self._end = ExitStack()
        # The home exists before three processes open it: Dagster does not make one safely for several at once, our commands take turns.
        self.instance = self._end.enter_context(DagsterInstance.from_config(str(folder)))
        port = free_port()
        environment = {**os.environ, "DAGSTER_HOME": str(folder)}
        starting = self._importing()
        self._server = subprocess.Popen(
            [sys.executable, "-m", "dagster", "api", "grpc", "--host", "127.0.0.1", "--port", port, "--location-name", "runs", "--python-file", forked_runs.__file__],
            env={**environment, **OF_THE_SERVER},
        )  # fmt: skip
        assert starting.finish() == ""
        target = GrpcServerTarget(host="127.0.0.1", port=int(port), socket=None, location_name="runs")
        until(lambda: self._answers(int(port)))
        self._workspace = self._end.enter_context(WorkspaceProcessContext(self.instance, target))

    def _importing(self) -> control.Starting:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DAGSTER_HOME", str(self.folder))
            starting = control.start(self.engine, ())
        assert starting is not None
        return starting

    def start_forks(self) -> None:
        """The process beside the engine, once more."""
        assert self._importing().finish() == ""

    @staticmethod
    def _answers(port: int) -> bool:
        from dagster._grpc.client import DagsterGrpcClient

        return bool(DagsterGrpcClient(port=port, host="127.0.0.1").health_check_query() == "SERVING")

    @property
    def forks_from(self) -> int | None:
        """The process beside the engine."""
        return control.running(self.engine)

    def launch(self, job: str) -> str:
        """A run of the job, as the daemon launches it."""
        context = self._workspace.create_request_context()
        (repository,) = context.get_code_location("runs").get_repositories().values()
        remote = repository.get_full_job(job)
        run = create_run_for_test(
            self.instance, job_name=job, remote_job_origin=remote.get_remote_origin(), job_code_origin=remote.get_python_origin()
        )  # fmt: skip
        self.instance.launch_run(run.run_id, context)
        return run.run_id

    def ended(self, run: str) -> DagsterRunStatus:
        """How it ended."""
        until(lambda: self._status(run) in ENDED)
        return self._status(run)

    def process(self, run: str) -> tuple[int, int]:
        """The process of a run that is at work or was, and the one that it was started by."""
        until(lambda: "parent" in self._tags(run))
        return int(self._tags(run)["pid"]), int(self._tags(run)["parent"])

    def said(self, run: str) -> str:
        """Its log."""
        return "\n".join(entry.message for entry in self.instance.all_logs(run))

    def close(self) -> None:
        """End all of it."""
        self._server.terminate()
        self._server.wait(60)
        control.stop(self.engine)
        self._end.close()

    def _tags(self, run: str) -> dict[str, str]:
        found = self.instance.get_run_by_id(run)
        assert found is not None
        return dict(found.tags)

    def _status(self, run: str) -> DagsterRunStatus:
        found = self.instance.get_run_by_id(run)
        assert found is not None
        return found.status


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Location]:
    made = Location(tmp_path_factory.mktemp("a home with spaces"))
    yield made
    made.close()


@pytest.mark.acceptance
def test_a_run_is_a_fork_and_succeeds_and_fails_as_any_other(location: Location) -> None:
    good, bad = location.launch("succeeds"), location.launch("fails")
    assert (location.ended(good), location.ended(bad)) == (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE)
    pid, parent = location.process(good)
    assert parent == location.forks_from
    assert f"Started process for run (pid: {pid})" in location.said(good)
    assert f"Started process for run (pid: {location.process(bad)[1]})" in location.said(bad)
    assert "on purpose" in "".join(str(entry.dagster_event) for entry in location.instance.all_logs(bad))


def test_a_run_that_is_terminated_is_cancelled_and_its_process_ends(location: Location) -> None:
    run = location.launch("waits")
    pid, parent = location.process(run)
    assert parent == location.forks_from
    assert location.instance.run_launcher.terminate(run)
    assert location.ended(run) is DagsterRunStatus.CANCELED
    until(lambda: not psutil.pid_exists(pid))


@pytest.mark.acceptance
def test_a_run_that_is_killed_is_told_as_failed_and_takes_no_other_with_it(location: Location) -> None:
    killed, other = location.launch("waits"), location.launch("waits")
    os.kill(location.process(killed)[0], signal.SIGKILL)
    assert location.ended(killed) is DagsterRunStatus.FAILURE
    assert "was terminated by signal 9 (SIGKILL)" in location.said(killed)
    location.process(other)
    (location.folder / forked_runs.GO).touch()
    assert location.ended(other) is DagsterRunStatus.SUCCESS
    (location.folder / forked_runs.GO).unlink()
    assert location.process(location.launch("succeeds"))[1] == location.forks_from


def test_the_password_of_a_code_location_is_in_no_process_list(location: Location) -> None:
    run = location.launch("waits")
    pid, parent = location.process(run)
    for process in (pid, parent, *(child.pid for child in psutil.Process().children(recursive=True))):
        assert b"swordfish" not in Path(f"/proc/{process}/cmdline").read_bytes()
    assert b"swordfish" not in Path(f"/proc/{parent}/environ").read_bytes()
    (location.folder / forked_runs.GO).touch()
    assert location.ended(run) is DagsterRunStatus.SUCCESS
    (location.folder / forked_runs.GO).unlink()


@pytest.mark.acceptance
def test_runs_outlive_the_process_that_they_are_forks_of_and_the_next_imports_for_itself(location: Location) -> None:
    server = location.forks_from
    assert server is not None
    run = location.launch("waits")
    assert location.process(run)[1] == server
    os.kill(server, signal.SIGKILL)
    alone = location.launch("waits")
    assert location.process(alone)[1] == location._server.pid
    (location.folder / forked_runs.GO).touch()
    assert (location.ended(run), location.ended(alone)) == (DagsterRunStatus.SUCCESS, DagsterRunStatus.SUCCESS)
    (location.folder / forked_runs.GO).unlink()
    assert location.process(location.launch("succeeds"))[1] == location._server.pid
    location.start_forks()
    assert location.process(location.launch("succeeds"))[1] == location.forks_from, "as soon as there is one again"


@pytest.mark.acceptance
def test_a_server_that_is_told_to_end_takes_its_runs_along(location: Location) -> None:
    """The last of the module: there is no server any more."""
    run = location.launch("waits")
    pid, parent = location.process(run)
    assert parent == location.forks_from
    location._server.terminate()
    until(lambda: not psutil.pid_exists(pid))
    location._server.wait(60)
    assert location.ended(run) in (DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
