"""Run monitoring asks the launcher whether a run is still executed by anybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from dagster import DagsterInstance, DagsterRun
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import WorkerStatus
from dagster._core.test_utils import create_run_for_test
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import serialize_value

from incremental_assets.defs.launcher import WatchedRunLauncher


@dataclass
class Server:
    """A code location's server: the runs that it executes, or None while it is away."""

    runs: Sequence[str] | None

    def can_cancel_execution(self, request: CanCancelExecutionRequest) -> str:
        if self.runs is None:
            raise DagsterUserCodeUnreachableError("nobody answers")
        return serialize_value(CanCancelExecutionResult(can_cancel=request.run_id in self.runs))


@pytest.fixture
def run() -> DagsterRun:
    with DagsterInstance.ephemeral() as instance:
        return create_run_for_test(instance, job_name="sync__shop__current_job")


def asked_of(server: Server | None, run: DagsterRun, monkeypatch: pytest.MonkeyPatch) -> WorkerStatus:
    launcher = WatchedRunLauncher()
    monkeypatch.setattr(launcher, "_get_grpc_client_for_termination", lambda _: server)
    assert launcher.supports_check_run_worker_health, "or nobody asks"
    return launcher.check_run_worker_health(run).status


def test_a_run_that_its_server_executes_is_left_alone(run: DagsterRun, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked_of(Server([run.run_id]), run, monkeypatch) is WorkerStatus.RUNNING


def test_a_run_that_its_server_knows_nothing_of_has_died_with_the_server_before(
    run: DagsterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked_of(Server(["another"]), run, monkeypatch) is WorkerStatus.FAILED


def test_a_server_that_is_away_is_waited_for(run: DagsterRun, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked_of(Server(None), run, monkeypatch) is WorkerStatus.RUNNING


def test_a_run_of_a_command_line_belongs_to_no_server(run: DagsterRun, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked_of(None, run, monkeypatch) is WorkerStatus.RUNNING
