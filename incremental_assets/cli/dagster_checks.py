"""Verdicts of the command line, reported to Dagster's instance so that its UI shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from dagster import DagsterInstance

from incremental_assets.cli.dagster_runs import dagster_instance
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import CheckEnded, Occurrence
from incremental_assets.defs.names import AssetKeys
from incremental_assets.defs.verdicts import report


class DagsterChecks(Observer):
    """Reports each verdict as it is reached. That Dagster cannot keep them is reported once and fails no check."""

    def __init__(self, instance: DagsterInstance | None, keys: AssetKeys, say: Callable[[str], None]) -> None:
        self._instance, self._keys, self._say = instance, keys, say

    def notify(self, occurrence: Occurrence) -> None:
        """Report a verdict as an event without a run."""
        if self._instance is None or not isinstance(occurrence, CheckEnded):
            return
        try:
            report(self._instance, occurrence.verdict, self._keys)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with its storage
            self._instance = None
            self._say(_unseen(error))


@contextmanager
def shown_in_dagster(keys: AssetKeys, say: Callable[[str], None]) -> Iterator[DagsterChecks]:
    """An observer that reports to the instance of DAGSTER_HOME; one that does nothing if that does not open."""
    with ExitStack() as stack:
        instance: DagsterInstance | None = None
        try:
            instance = stack.enter_context(dagster_instance())
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the folder or its settings
            say(_unseen(error))
        yield DagsterChecks(instance, keys, say)


def _unseen(error: Exception) -> str:
    # Without its message: that of a wrong setting shows the settings, and any password in them.
    return f"Dagster's UI will not show these results: its instance could not keep them ({type(error).__name__}); look at dagster.yaml in DAGSTER_HOME"
