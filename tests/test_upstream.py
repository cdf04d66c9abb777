"""Private names and habits of Dagster, PySpark and their kin that this program relies on: what fails here has changed upstream, not with us.

Each test names who relies on it. A new release of a pinned package is taken once these hold, or once whoever is named no longer needs them.
"""

from __future__ import annotations

import inspect
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

# --- Dagster --------------------------------------------------------------------------------------------


def test_dagster_a_job_of_assets_is_of_the_class_that_we_name() -> None:
    """defs/jobs.py, which types its jobs by it."""
    from dagster import define_asset_job
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

    assert isinstance(define_asset_job("sync"), UnresolvedAssetJobDefinition)


def test_dagster_the_last_evaluation_of_a_check_says_whether_it_succeeded() -> None:
    """defs/verdicts.py, which reports a check of the schema only where its outcome has turned."""
    from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

    assert {"SUCCEEDED", "FAILED"} <= set(AssetCheckExecutionRecordStatus.__members__)


def test_dagster_a_launcher_can_ask_the_server_that_executes_a_run() -> None:
    """defs/launcher.py, under which run monitoring notices runs that died with their server."""
    from dagster import DefaultRunLauncher
    from dagster._core.errors import DagsterUserCodeUnreachableError
    from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
    from dagster._grpc.client import DagsterGrpcClient
    from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
    from dagster._serdes import deserialize_value, serialize_value

    assert list(inspect.signature(DefaultRunLauncher._get_grpc_client_for_termination).parameters) == ["self", "run_id"]
    assert "can_cancel_execution_request" in inspect.signature(DagsterGrpcClient.can_cancel_execution).parameters
    assert CheckRunHealthResult(WorkerStatus.FAILED, "gone").msg == "gone"
    answer = serialize_value(CanCancelExecutionResult(can_cancel=False))
    assert not deserialize_value(answer, CanCancelExecutionResult).can_cancel
    assert CanCancelExecutionRequest(run_id="r").run_id == "r"
    assert issubclass(DagsterUserCodeUnreachableError, Exception)


def test_dagster_puts_its_own_handler_in_the_place_of_every_other() -> None:
    """defs/shutdown.py and cli/ending.py, which hear of signals from a pipe therefore."""
    from dagster._utils.interrupts import capture_interrupts

    def ours(*_: object) -> None: ...

    before = signal.signal(signal.SIGTERM, ours)
    try:
        with capture_interrupts():
            assert signal.getsignal(signal.SIGTERM) is not ours
    finally:
        signal.signal(signal.SIGTERM, before)


def test_dagster_a_server_executes_runs_as_children_of_multiprocessing() -> None:
    """defs/shutdown.py, which ends all of them with the server."""
    from dagster._grpc import server

    source = inspect.getsource(server)
    assert "multiprocessing" in source
    assert "start_run_in_subprocess" in source
    assert multiprocessing.active_children() == []


def test_dagster_a_server_starts_runs_by_the_executable_of_multiprocessing() -> None:
    """adapters/fork_server/runs.py, which sets it: should either change, runs import for themselves."""
    from multiprocessing import spawn

    from dagster._grpc import server

    from incremental_assets.adapters.fork_server.runs import _SPAWNED

    assert 'multiprocessing.get_context("spawn")' in inspect.getsource(server)
    program = spawn.get_command_line(tracker_fd=5, pipe_handle=7)[-2]
    assert _SPAWNED.fullmatch(program)


# --- PySpark --------------------------------------------------------------------------------------------


def test_pyspark_names_the_file_of_its_jvms_port_in_the_jvms_environment() -> None:
    """adapters/spark/jvm.py, which knows by it a JVM that is just beginning."""
    from pyspark import java_gateway

    from incremental_assets.adapters.spark import jvm

    assert f'env["{jvm._OF_GATEWAY}"]' in inspect.getsource(java_gateway.launch_gateway)


def test_pyspark_takes_a_jvm_that_ended_with_0_for_one_that_is_still_beginning() -> None:
    """adapters/spark/jvm.py, which leaves the exit code of what it ends to PySpark. Should this change, `end` may wait as it likes."""
    from pyspark import java_gateway

    assert "while not proc.poll() and not os.path.isfile" in inspect.getsource(java_gateway.launch_gateway)


def test_python_says_0_of_a_child_whose_exit_code_another_has_taken() -> None:
    """The other half of the same."""
    child = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    os.waitpid(child.pid, 0)
    assert child.poll() == 0


def test_pyspark_keeps_the_gateway_and_its_process_at_the_context() -> None:
    """adapters/spark/jvm.py, session_provider.py and training.py: whether there is a JVM of this process's own, and how it ended."""
    from pyspark import SparkContext, java_gateway

    assert {"_gateway", "_active_spark_context"} <= set(vars(SparkContext))
    assert "gateway.proc = proc" in inspect.getsource(java_gateway.launch_gateway)


def test_pyspark_a_remote_session_keeps_the_way_to_its_server() -> None:
    """adapters/spark/session.py, which opens another session over the same way."""
    from pyspark.sql.connect.client import SparkConnectClient
    from pyspark.sql.connect.session import SparkSession

    assert "self._builder" in inspect.getsource(SparkConnectClient.__init__)
    assert "connection" in inspect.signature(SparkSession.__init__).parameters


def test_pyspark_reaches_java_by_these_names(spark: Any) -> None:
    """adapters/delta/storage.py and training.py: file systems of Hadoop, classes by their names."""
    if not hasattr(spark, "sparkContext"):
        pytest.skip("a session of an engine has no JVM here")
    place = spark._jvm.org.apache.hadoop.fs.Path("/")
    assert place.getFileSystem(spark._jsc.hadoopConfiguration()).exists(place)


def test_dagster_pyspark_hands_out_the_session_that_it_was_given() -> None:
    """resources/spark.py: the builder there would start a JVM without our jars and settings."""
    from dagster_pyspark import LazyPySparkResource

    lazy, ours = LazyPySparkResource(spark_config={}), object()
    lazy._spark_session = ours  # type: ignore[assignment]
    assert lazy.spark_session is ours


# --- Delta ----------------------------------------------------------------------------------------------


@pytest.fixture
def delta_classes() -> Iterator[set[str]]:
    """Names of the classes in the pinned jar."""
    from zipfile import ZipFile

    from incremental_assets.adapters.spark.jars import verified_jars

    (jar,) = [each for each in verified_jars() if "delta-spark" in each.name]
    with ZipFile(jar) as content:
        yield set(content.namelist())


def test_delta_has_the_classes_whose_errors_and_settings_we_name(delta_classes: set[str]) -> None:
    """adapters/delta: the transaction identifier, the commit's metadata and the conflict that `Overtaken` stands for."""
    for name in (
        "org/apache/spark/sql/delta/sources/DeltaSQLConf.class",
        "org/apache/spark/sql/delta/actions/SetTransaction.class",
        "io/delta/exceptions/ConcurrentWriteException.class",
    ):
        assert name in delta_classes
