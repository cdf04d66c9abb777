"""The process of the engine: how it is started, asked where it answers, and ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from incremental_assets.adapters.permissions import strict
from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.adapters.spark.cds_archive import spark_home
from incremental_assets.adapters.spark.session import Machine, temporary_in
from incremental_assets.core.errors import SetupError

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_READY_WITHIN = 120
"""Seconds; an idle machine takes four."""
_ENDS_WITHIN = 10
"""Seconds for Spark to remove its files, before it is made to end."""
_STARTED = re.compile(r"Spark Connect server started at: \S*:(\d+)")
_SERVED = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # Any that is free; the log tells which one.
    "spark.connect.grpc.binding.port": "0",
    # What a killed run had begun is over before the next run can be there: two JVMs must not write one table of a local disk.
    "spark.connect.execute.manager.detachedTimeout": "2s",
    "spark.connect.execute.manager.maintenanceInterval": "1s",
    # On loopback no answer gets lost, so clients need not reattach for it.
    "spark.connect.execute.reattachable.senderMaxStreamDuration": "0",
    # A backfill may rest for hours between two parts.
    "spark.connect.session.manager.defaultSessionTimeout": "12h",
    # A whole collection, which is when memory is given back; Spark's own rhythm is half an hour.
    "spark.cleaner.periodicGC.interval": "1min",
    # What a page would show, and there is none.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.sql.connect.ui.retainedStatements": "5",
    "spark.sql.connect.ui.retainedSessions": "5",
}


def spawn(folder: Path, machine: Machine, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own, which no Ctrl-C reaches. The token is in its environment, which only its user can read."""
    scratch(folder).mkdir(mode=0o700)
    conf = {**machine.conf, **_SERVED, "spark.local.dir": str(scratch(folder))}
    # Out of memory is logged once and ends it; a run that used it then continues in its own session.
    conf["spark.driver.extraJavaOptions"] += f" -XX:+ExitOnOutOfMemoryError {temporary_in(scratch(folder))}"
    settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    program = spark_home() / "bin" / "spark-submit"
    command = [str(program), "--class", SERVER, "--name", "incremental-assets", "--master", machine.master, *settings]
    inherited = {name: value for name, value in environment.items() if name not in _OF_CLIENTS}
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        return subprocess.Popen(
            [*command, "spark-internal"],
            cwd=folder,
            env=inherited,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=strict(),
        )


_OF_CLIENTS = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE", "SPARK_CONNECT_MODE")
"""Variables that tell a process to use a server, which is no advice for the server."""


def answering_port(process: subprocess.Popen[bytes], log: Path) -> int:
    """Wait for the server's port, as its log names it. Raises SetupError where the server ends before, or is not there within two minutes."""
    deadline = time.monotonic() + _READY_WITHIN
    while time.monotonic() < deadline:
        output = log.read_text(encoding="utf-8", errors="replace")
        if found := _STARTED.search(output):
            return int(found[1])
        if process.poll() is not None:
            output = log.read_text(encoding="utf-8", errors="replace")
            raise SetupError(f"the engine ended while it started ({_reason(output)}); its log is {log}")
        time.sleep(0.05)
    raise SetupError(f"the engine did not answer within {_READY_WITHIN} seconds and was ended; its log is {log}")


_NO_JVM = "Error: Could not create the Java Virtual Machine."
"""What a JVM says after it has named the fault."""


def _reason(output: str) -> str:
    """The line that names the fault, of a log that was read after its process had ended."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [before for before, line in pairwise(lines) if line == _NO_JVM]
    named += [line for line in lines if "Exception" in line or "Error" in line]
    return (named or lines[-1:] or ["it said nothing"])[0]


def end_process(owner: ProcessIdentity) -> None:
    """SIGTERM, then SIGKILL. The parent may be alive and not have reaped it yet, so that its pid stays for a while."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(owner.pid, number)
        deadline = time.monotonic() + _ENDS_WITHIN
        while time.monotonic() < deadline:
            if owner.is_gone:
                return
            time.sleep(0.05)
    raise SetupError(
        f"the engine (pid {owner.pid}) does not stop, not even by force; find out what its process is waiting for"
    )


def scratch(folder: Path) -> Path:
    """The folder into which the server spills, and which it must not leave behind."""
    return folder / "scratch"
