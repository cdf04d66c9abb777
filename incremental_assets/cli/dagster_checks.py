"""Verdicts of the command line, reported to Dagster's instance: its UI shows what the terminal says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

from dagster import DagsterInstance

from incremental_assets.cli.dagster_runs import dagster_instance
from incremental_assets.core.checks.verdict import Verdict
from incremental_assets.defs.verdicts import evaluation


def reported(verdicts: Iterable[Verdict], say: Callable[[str], None]) -> Iterator[Verdict]:
    """The same verdicts, each reported as it is reached. That Dagster cannot keep them is said once and fails no check."""
    with ExitStack() as stack:
        instance: DagsterInstance | None = None
        try:
            instance = stack.enter_context(dagster_instance())
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the folder or its settings
            say(_unseen(error))
        for verdict in verdicts:
            if instance is not None:
                try:
                    instance.report_runless_asset_event(evaluation(verdict))
                except Exception as error:  # noqa: BLE001 - the same of its storage
                    say(_unseen(error))
                    instance = None
            yield verdict


def _unseen(error: Exception) -> str:
    # Without its message: that of a wrong setting shows the settings, and any password in them.
    return f"Dagster's UI will not show these results: its instance could not keep them ({type(error).__name__}); look at dagster.yaml in DAGSTER_HOME"
