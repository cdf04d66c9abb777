"""Who does it: tasks, where they know all that the table and the batch have, or Spark's own reader or writer, and why. The one place where the two meet."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.concurrency.cohort import go_apart
from incremental_assets.core.errors import LakeRefused

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Made(Generic[Result]):
    """What came of it. `by_spark`: why Spark's own reader or writer did it; empty where tasks did."""

    result: Result
    by_spark: str = ""


def commit(path: str, what: str, by_tasks: Callable[[], Result], by_spark: Callable[[], Result]) -> Made[Result]:
    """One commit to a table; `what` names it for people. Raises LakeRefused where only Spark could make it and may not, and what the two ways raise."""
    try:
        return Made(by_tasks())
    except NotByTasks as found:
        why = str(found)
    leave_to_spark(path, why)
    _log.info("%s by Spark, as %s", what, why)
    go_apart()
    return Made(by_spark(), why)


def read(what: str, by_tasks: Callable[[], Result], by_spark: Callable[[], Result]) -> Made[Result]:
    """Likewise what is read, or staged, which Spark may always do."""
    try:
        return Made(by_tasks())
    except NotByTasks as found:
        why = str(found)
    _log.debug("%s by Spark, as %s", what, why)
    go_apart()
    return Made(by_spark(), why)


def known(ask: Callable[[], Result]) -> Result | None:
    """What tasks know without Spark; None where only Spark does."""
    with suppress(NotByTasks):
        return ask()
    return None


class OnlyBySpark(LakeRefused):
    """What Spark alone could commit, where it may not."""


def leave_to_spark(path: str, why: object) -> None:
    """Checks that Spark may commit to a table what is not done here. Raises OnlyBySpark where it does not ask whether another writer was first."""
    if not spark_commits(path):
        raise OnlyBySpark(
            f"{path}: only Spark could make this commit ({why}), and of two writers in S3 Spark would let both win, so it was not made; "
            "take away what is in its way, or keep this lake on a disk"
        )


def spark_commits(path: str) -> bool:
    """Whether commits of Spark's own are safe there."""
    store = store_of(path)
    return store is None or store.promises.spark_commits
