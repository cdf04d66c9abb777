"""Lineage by OpenLineage: a run event when a table's rows are read and one when they have landed, and one with the answer of each check.

The names of tables and columns, counts and versions are all that leaves: no key, no value of a row, no SQL and no message of an error, which may
hold any of them; the run's id leads to those.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    parent_run,
    schema_dataset,
)

from incremental_assets.core.model.dataset import Dataset
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Verdict
from incremental_assets.core.observing.datasets import Datasets
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import CheckEnded, Committed, Occurrence, PhaseBegun, SyncEnded
from incremental_assets.core.observing.trace_ids import trace_of
from incremental_assets.core.planning.report import Status, SyncReport

PRODUCER = f"urn:incremental-assets:{version('incremental-assets')}"
Send = Callable[[RunEvent], None]
Origins = dict[str, tuple[Dataset, str, bool]]
"""By a column's name where it comes from: the dataset, the column there, and whether its values are masked on the way."""
_SUBTYPES = {False: "IDENTITY", True: "TRANSFORMATION"}


class Lineage(Observer):
    """Of syncs that read anything: a table that stands still tells nothing. `namespace` is that of the jobs; `send` may be called from several threads."""

    def __init__(
        self, datasets: Datasets, namespace: str, send: Send, ended: Callable[[], None] = lambda: None
    ) -> None:
        self._datasets, self._namespace, self._send, self._ended = datasets, namespace, send, ended
        self._begun: dict[tuple[TableId, str], TableSpec | None] = {}
        """Syncs that have begun to read, and as what they have committed."""
        self._lock = threading.Lock()

    def notify(self, occurrence: Occurrence) -> None:
        """Tell of a sync that begins to read, of one that has ended, and of a check."""
        match occurrence:
            case PhaseBegun(table, run_id, "read") if self._begins(table, run_id):
                self._send(self._event(RunState.START, table, run_id))
            case Committed(spec, run_id):
                with self._lock:
                    self._begun[spec.id, run_id] = spec
            case SyncEnded(report):
                self._sync_ended(report)
            case CheckEnded(verdict) if verdict.was_checked:
                self._checked(verdict)

    def close(self) -> None:
        """Send what waits."""
        self._ended()

    def _begins(self, table: TableId, run_id: str) -> bool:
        """Once, however often the read is tried again."""
        with self._lock:
            first = (table, run_id) not in self._begun
            self._begun.setdefault((table, run_id), None)
        return first

    def _sync_ended(self, report: SyncReport) -> None:
        with self._lock:
            if (report.table, report.run_id) not in self._begun:
                return
            spec = self._begun.pop((report.table, report.run_id))
        if report.status is not Status.LANDED:
            self._send(self._event(RunState.FAIL, report.table, report.run_id))
            return
        event = self._event(RunState.COMPLETE, report.table, report.run_id)
        if spec is not None:
            event.inputs, event.outputs = [self._read(spec, report)], self._written(spec, report)
        self._send(event)

    def _event(self, state: RunState, table: TableId, run_id: str) -> RunEvent:
        """Of the sync of one table within a run, which is the parent of all that it syncs."""
        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=str(uuid.UUID(int=trace_of(run_id)))),
            job=parent_run.Job(namespace=self._namespace, name="sync"),
        )
        source, copy = self._datasets.source(table), self._datasets.copy(table)
        return RunEvent(
            eventType=state,
            eventTime=datetime.now(UTC).isoformat(),
            run=Run(runId=run_of(run_id, table), facets={"parent": parent}),
            job=Job(namespace=self._namespace, name=f"sync {table}"),
            producer=PRODUCER,
            inputs=[InputDataset(source.namespace, source.name)],
            outputs=[OutputDataset(copy.namespace, copy.name)],
        )

    def _read(self, spec: TableSpec, report: SyncReport) -> InputDataset:
        source = self._datasets.source(spec.id)
        named = dict(spec.source_names)
        columns = [(named.get(each.name, each.name), each.source_type) for each in spec.as_read.source_columns]
        return InputDataset(
            source.namespace,
            source.name,
            facets={"schema": _schema(columns)},
            inputFacets={
                "inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                    rowCount=report.rows.read
                )
            },
        )

    def _written(self, spec: TableSpec, report: SyncReport) -> list[OutputDataset]:
        """The copy, and the versions of its rows where they are kept."""
        rows, columns = report.rows, [(each.name, each.spark_type) for each in spec.columns]
        source = self._datasets.source(spec.id)
        copy = self._output(spec.id, columns, _lineage(spec, source), report.target_version)
        copy.outputFacets = {"outputStatistics": _statistics(rows.inserted + rows.updated)}
        if report.history is None:
            return [copy]
        copied = Dataset(copy.namespace, copy.name)
        same = {name: (copied, name, False) for name, _ in columns}
        history = self._output(spec.id.history, columns, same, report.history.version)
        history.outputFacets = {"outputStatistics": _statistics(report.history.added)}
        return [copy, history]

    def _output(
        self, table: TableId, columns: list[tuple[str, str]], lineage: Origins, written: int | None
    ) -> OutputDataset:
        copy = self._datasets.copy(table)
        known = {} if written is None else {"version": dataset_version_dataset.DatasetVersionDatasetFacet(str(written))}
        fields = {
            column: column_lineage_dataset.Fields(
                inputFields=[
                    column_lineage_dataset.InputField(
                        origin.namespace,
                        origin.name,
                        name,
                        [column_lineage_dataset.Transformation("DIRECT", _SUBTYPES[masked], None, masked)],
                    )
                ]
            )
            for column, (origin, name, masked) in lineage.items()
        }
        facets = {
            "schema": _schema(columns),
            "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(fields),
            **known,
        }
        return OutputDataset(copy.namespace, copy.name, facets=facets)

    def _checked(self, verdict: Verdict) -> None:
        """A run of its own, which begins and ends: what is said of a dataset's quality belongs to one that has read it."""
        checked = verdict.table.history if verdict.check.is_of_history else verdict.table
        copy = self._datasets.copy(checked)
        answer = data_quality_assertions_dataset.Assertion(
            assertion=str(verdict.check), success=verdict.passed, severity=str(verdict.severity)
        )
        facet = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(assertions=[answer])
        run = Run(runId=str(uuid.uuid4()))
        for state in (RunState.START, RunState.COMPLETE):
            self._send(
                RunEvent(
                    eventType=state,
                    eventTime=datetime.now(UTC).isoformat(),
                    run=run,
                    job=Job(namespace=self._namespace, name=f"check {verdict.check} {verdict.table}"),
                    producer=PRODUCER,
                    inputs=[
                        InputDataset(copy.namespace, copy.name, inputFacets={"dataQualityAssertions": facet}),
                    ],
                )
            )


def run_of(run_id: str, table: TableId) -> str:
    """The id of the sync of one table within a run, in every process the same."""
    return str(uuid.uuid5(uuid.UUID(int=trace_of(run_id)), str(table)))


def _lineage(spec: TableSpec, source: Dataset) -> Origins:
    """What the log tells of a change, and what is computed, has no column of the table."""
    named, masked = dict(spec.source_names), {each.name for each in spec.masks}
    return {each.name: (source, named.get(each.name, each.name), each.name in masked) for each in spec.source_columns}


def _schema(columns: list[tuple[str, str]]) -> schema_dataset.SchemaDatasetFacet:
    return schema_dataset.SchemaDatasetFacet(
        fields=[schema_dataset.SchemaDatasetFacetFields(name, kind) for name, kind in columns]
    )


def _statistics(rows: int) -> output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet:
    return output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows)
