"""What else happens while the product works: changes in the source between the plan and the read, and how a refusal must read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import DifferingRows, Ports, Seek, Snapshot, Source

Change = Callable[[], object]


class _Late:
    """A source that is changed at the last moment: after the sync of a table was planned, before its snapshot is opened."""

    def __init__(self, source: Source, changes: Mapping[str, Change]) -> None:
        self._source, self._changes = source, dict(changes)

    @property
    def differing(self) -> _Late:
        return self

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Snapshot]:
        self._change(plan)
        with self._source.snapshot(plan) as snapshot:
            yield snapshot

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[Snapshot]:
        self._change(plan)
        differing = self._source.differing
        assert differing is not None
        with differing.compared(plan, seek) as snapshot:
            yield snapshot

    def _change(self, plan: SyncPlan) -> None:
        change = self._changes.pop(plan.spec.id.name, None)
        if change is not None:
            change()


def before_the_read(changes: Mapping[str, Change]) -> Callable[[Ports], Ports]:
    """For `Stand.sync(through=...)`: by table, what is done to it once, between its plan and its read."""

    def through(ports: Ports) -> Ports:
        source: Source = _Late(ports.source, changes)
        return replace(ports, source=source)

    return through


class _Moving:
    """A source that is changed before the values of new columns are read; it keeps which columns were asked for then."""

    def __init__(self, source: Source, change: Change, read: list[tuple[str, ...]]) -> None:
        self._source, self._change, self._read = source, change, read

    @property
    def differing(self) -> DifferingRows | None:
        return self._source.differing

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Snapshot]:
        if plan.request.mode is Mode.FILL:
            self._change()
            self._read.append(plan.spec.shape.names)
        with self._source.snapshot(plan) as snapshot:
            yield snapshot


def before_the_fill(change: Change, read: list[tuple[str, ...]]) -> Callable[[Ports], Ports]:
    """For `Stand.sync(through=...)`: what is done before each read of new columns; `read` is told of the columns."""

    def through(ports: Ports) -> Ports:
        source: Source = _Moving(ports.source, change, read)
        return replace(ports, source=source)

    return through


def assert_told(
    report: SyncReport, *words: str, status: Status = Status.FAILED, expected_full_reads: bool = True
) -> None:
    """The sync of this table stopped, and says why in one sentence that holds these words: one of the product's own, where the fault was foreseen."""
    error = report.error
    assert report.status is status, (report.status, error)
    assert error is not None
    assert "\n" not in error
    assert "Traceback" not in error
    assert (": unexpected " in error) is not expected_full_reads, error
    assert [word for word in words if word not in error] == [], error
