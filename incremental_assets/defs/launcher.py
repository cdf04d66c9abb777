"""Runs execute in the code location's server; run monitoring asks that server whether a run still exists."""

from __future__ import annotations

from dagster import DagsterRun, DefaultRunLauncher
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value


class WatchedRunLauncher(DefaultRunLauncher):
    """Dagster's own launcher, under which run monitoring also notices a run that died together with its server.

    For `dagster api grpc`. Behind `dagster code-server start` a reload would hide living runs from the question.
    """

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Makes run monitoring call the method below."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """FAILED once the server answers and does not know the run; a server that does not answer is waited for."""
        client = self._get_grpc_client_for_termination(run.run_id)
        if client is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "a command line executes it, and no server of ours")
        try:
            text = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id))
        except DagsterUserCodeUnreachableError:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "the server of its code location does not answer")
        if deserialize_value(text, CanCancelExecutionResult).can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(
            WorkerStatus.FAILED,
            "the server of its code location was restarted, and its process is gone; the next sync goes on from what had landed",
        )
