"""A code location whose runs tell which process they are, and do what a test wants of them."""

import os
import time
from pathlib import Path

from dagster import Definitions, OpExecutionContext, in_process_executor, job, op

from incremental_assets.adapters.fork_server.runs import begin_as_forks
from incremental_assets.defs.shutdown import end_runs_with_server

GO = "go"
"""A file beside the instance, for which the run that waits waits."""


def _tell(context: OpExecutionContext) -> None:
    context.instance.add_run_tags(context.run_id, {"pid": str(os.getpid()), "parent": str(os.getppid())})


@op
def succeed(context: OpExecutionContext) -> None:
    """Nothing more."""
    _tell(context)


@op
def fail(context: OpExecutionContext) -> None:
    """As any program may."""
    _tell(context)
    raise RuntimeError("on purpose")


@op
def wait(context: OpExecutionContext) -> None:
    """Until the test has made the file."""
    _tell(context)
    while not (Path(os.environ["DAGSTER_HOME"]) / GO).exists():
        time.sleep(0.02)


@job(executor_def=in_process_executor)
def succeeds() -> None:
    """A run that ends well."""
    succeed()


@job
def fails() -> None:
    """A run that does not, with a process of its own for each step, as Dagster has it where nobody says otherwise."""
    fail()


@job(executor_def=in_process_executor)
def waits() -> None:
    """A run that is at work for as long as a test needs it."""
    wait()


end_runs_with_server()
begin_as_forks()
defs = Definitions(jobs=[succeeds, fails, waits])
