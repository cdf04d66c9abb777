"""In place of what tasks would do, so that Spark does it: the two ways meet in `adapters.delta.plane`."""

from __future__ import annotations

from typing import NoReturn

from incremental_assets.adapters.spark.not_by_tasks import NotByTasks


def left_to_spark(*_: object) -> NoReturn:
    """Raises NotByTasks."""
    raise NotByTasks("the test leaves it to Spark")
