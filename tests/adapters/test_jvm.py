"""An error of a connection whose JVM is gone is told as what it is; any other stays what it is."""

from __future__ import annotations

import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext

from incremental_assets.adapters.spark.jvm import lost
from incremental_assets.adapters.spark.session_provider import Session
from incremental_assets.core.model.table_id import TableId

ORDERS = TableId("shop", "public", "orders")


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(["sleep", "600"])
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
    process.kill()
    return process


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), Py4JNetworkError("empty"), Py4JError("o1")])
def test_a_closed_connection_to_a_jvm_that_is_gone_names_its_end(
    killed: subprocess.Popen[bytes], error: Exception
) -> None:
    assert str(lost(error, ORDERS)) == (
        f"shop.public.orders: Spark's JVM (pid {killed.pid}) ended in the middle of this (signal 9); the next sync goes on from what "
        "has landed; if it was not stopped on purpose, the machine may have run out of memory, which its system log shows: give it more, or set `parallel: {tables: 1}`"
    )


@pytest.mark.parametrize(
    "words", ["Job 7 cancelled because SparkContext was shut down", "Cannot call methods on a stopped SparkContext."]
)
def test_what_is_cancelled_when_a_jvm_is_asked_to_end_tells_of_it(killed: subprocess.Popen[bytes], words: str) -> None:
    assert lost(RuntimeError(words), ORDERS) is not None


def test_an_error_of_another_kind_has_another_cause(killed: subprocess.Popen[bytes]) -> None:
    assert lost(ZeroDivisionError(), ORDERS) is None


def test_where_no_jvm_was_started_none_has_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    assert lost(ConnectionRefusedError(), ORDERS) is None


@pytest.mark.parametrize("fault", ["KeyboardInterrupt", "Py4JNetworkError"])
def test_ctrl_c_and_the_end_of_a_jvm_leave_no_traceback_of_py4j(fault: str) -> None:
    program = (
        "import sys\n"
        "from types import SimpleNamespace\n"
        "from py4j.java_gateway import GatewayClient\n"
        "from py4j.protocol import Py4JNetworkError\n"
        "from incremental_assets.adapters.spark.session import quieten\n"
        "def cut(command):\n"
        f"    raise {fault}\n"
        "client = GatewayClient()\n"
        "client._get_connection = lambda: SimpleNamespace(socket=None, send_command=cut, close=lambda reset: None)\n"
        "if sys.argv[1] == 'quiet':\n"
        "    quieten()\n"
        "try:\n"
        "    client.send_command('c', retry=False)\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
    )

    def told(how: str) -> str:
        done = subprocess.run([sys.executable, "-c", program, how], capture_output=True, text=True, check=True)
        return done.stderr

    assert "Traceback" in told("loud"), "this is what Py4J does by itself"
    assert told("quiet") == ""


def test_words_of_an_error_stay_quiet_when_logging_is_configured_after_us() -> None:
    """Dagster does so; what is only disabled is enabled by that, and the error of Spark would become one of logging."""
    program = (
        "import logging.config\n"
        "from incremental_assets.adapters.spark.session import quieten\n"
        "quieten()\n"
        "logging.config.dictConfig({'version': 1, 'disable_existing_loggers': False})\n"
        "from pyspark.logger import PySparkLogger\n"
        "PySparkLogger.getLogger('SQLQueryContextLogger').exception('a query', errorClass='WRONG')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_session_whose_jvm_is_gone_is_closed_without_it(killed: subprocess.Popen[bytes]) -> None:
    door = Session()
    door._session = Stops(Py4JNetworkError("empty"))  # type: ignore[assignment]
    door.close()
    assert not door.is_open


def test_a_session_that_cannot_be_stopped_says_why(killed: subprocess.Popen[bytes]) -> None:
    door = Session()
    door._session = Stops(ZeroDivisionError())  # type: ignore[assignment]
    with pytest.raises(ZeroDivisionError):
        door.close()


def test_whoever_started_a_jvm_that_was_ended_still_learns_how() -> None:
    """PySpark takes an exit code of 0 for a JVM that is still on its way, and that is what `subprocess` says of a child that another has waited for."""
    # In a process of its own: it ends every JVM that its process has started, and the session of these tests would be one.
    done = subprocess.run([sys.executable, "-c", ENDS_TWO], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(-signal.SIGTERM), str(-signal.SIGKILL)]


IGNORES = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
)
ENDS_TWO = f"""
import os, subprocess, sys
from incremental_assets.adapters.spark import jvm
environment = {{**os.environ, jvm._OF_GATEWAY: "anywhere"}}
beginning = subprocess.Popen(["sleep", "600"], env=environment)
stubborn = subprocess.Popen([sys.executable, "-c", {IGNORES!r}], env=environment, stdout=subprocess.PIPE)
stubborn.stdout.readline()
jvm.end()
print(beginning.poll(), stubborn.poll())
"""


class Stops:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def stop(self) -> None:
        raise self._error
