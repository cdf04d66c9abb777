"""`--plane=spark`: the same product without its tasks, as it lands what these must not touch. Rows come by Spark, and Spark and Delta write the commits.

The product has no such option. What is asked whether tasks may do a thing says no, in this process and in those that scenarios start of themselves;
a command of the product's own would play the default, so that scenarios of commands are left out by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incremental_assets.adapters.delta.plane import Made, Result

VARIABLE = "TEST_PLANE"
COMMANDS_ALONE = "a command of the product's own has no other plane"
"""Why a scenario is not played so that is about one."""
BY_COMMANDS = ("test_signals", "test_code_location")
"""Modules of such scenarios that begin their commands themselves."""
_OF_TASKS = {
    "test_jobs": "does not apply: how few jobs there are is told of tasks alone",
    "test_absences": "does not apply: tasks read the log of a copy before anything is left to Spark",
    **dict.fromkeys(
        ("test_log_", "test_binlog_", "test_topic_", "test_file_"), "does not apply: tasks alone read what is no query"
    ),
    "test_store_": "does not apply: nothing of Spark's own is committed to a store",
}
"""How modules begin whose scenarios say nothing of Spark's own writers, and why."""
_WHY = "the scenarios are played by Spark's own writers"


def play_by_spark() -> None:
    """From now on, until the end of this process."""
    # Here, as whoever only asks needs no Spark.
    from incremental_assets.adapters.delta import plane

    def commit(path: str, _what: str, _by_tasks: Callable[[], Result], by_spark: Callable[[], Result]) -> Made[Result]:
        plane.leave_to_spark(path, _WHY)
        return plane.Made(by_spark(), _WHY)

    plane.commit = commit
    plane.read = lambda _what, _by_tasks, by_spark: plane.Made(by_spark(), _WHY)


def of_tasks(module: str) -> str:
    """Why its scenarios say nothing of Spark's own writers; empty where they do."""
    return next((why for begin, why in _OF_TASKS.items() if module.startswith(begin)), "")


def is_by_spark() -> bool:
    """Whether this process is to play so."""
    return os.environ.get(VARIABLE) == "spark"
