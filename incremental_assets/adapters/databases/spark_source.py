"""A plan's window as a DataFrame: one snapshot of the source, shared by all parallel readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from incremental_assets.adapters.databases.dialect import Address, Numbers, Reader
from incremental_assets.adapters.databases.host_clock import since
from incremental_assets.adapters.databases.named_rows import Names, named_frame, named_parts
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.spark.error_text import words
from incremental_assets.adapters.spark.jvm import lost
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.errors import IncrementalAssetsError, SourceFull
from incremental_assets.core.model.as_copied import in_source
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.key_parts import Selected
from incremental_assets.core.model.schema_drift import check_names
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Seek, SourceKeys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class SparkSnapshot:
    """Implements `core.ports.Snapshot`. The rows come in `parts` that tasks read, or as a `frame` of the source's columns and the four flags."""

    rows: int
    rejected: int
    nulls: int
    highest: CursorValue | None
    due: CursorValue | None
    visible: str
    fingerprint: Fingerprint | None
    parts: tuple[ReadPart, ...] | None
    opened: Callable[[], DataFrame]
    waited: timedelta = timedelta()
    keys: SourceKeys | None = None
    selected: Selected | None = None

    @property
    def frame(self) -> DataFrame:
        """Opened when it is first asked for: the source is asked what it would give."""
        return self.opened()


class SparkSource:
    """Implements `core.ports.Source` over a dialect's reader."""

    def __init__(self, probe: SqlProbe, address: Address, session: Callable[[], SparkSession]) -> None:
        self._probe, self._session = probe, session
        self._reader = dialect_of(address.dialect).reader(address)

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[SparkSnapshot]:
        """Open one snapshot, held until the block ends; its frame reads nothing before it is written."""
        check_names(plan.spec)
        names, plan = Names.of(plan.spec), _as_read(plan)
        with self._taken(plan, self._probe.snapshot(plan), names) as snapshot:
            yield snapshot

    @property
    def differing(self) -> SparkSource:
        """Itself: a database can be compared."""
        return self

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[SparkSnapshot]:
        """One snapshot likewise, of the rows that differ from the copy. Raises SourceRefused."""
        check_names(plan.spec)
        names, plan = Names.of(plan.spec), _as_read(plan)
        with self._taken(plan, self._probe.compared(plan, seek), names) as snapshot:
            yield snapshot

    @contextmanager
    def _taken(self, plan: SyncPlan, taking: AbstractContextManager[Numbers], names: Names) -> Iterator[SparkSnapshot]:
        with taking as held, read_explained(self._reader, plan.spec.id), ExitStack() as opened:
            if held.selected is not None:
                plan = plan.at(held.selected.places)
            yield SparkSnapshot(
                rows=held.rows,
                rejected=held.rejected,
                nulls=held.nulls,
                highest=held.highest,
                due=held.due,
                visible=held.visible,
                fingerprint=held.fingerprint,
                parts=named_parts(self._reader.parts(plan, held), names),
                opened=cache(
                    lambda: named_frame(opened.enter_context(self._reader.frame(self._session(), plan, held)), names)
                ),
                waited=since(of_database(plan).bound.host),
                keys=held.keys,
                selected=held.selected,
            )


def _as_read(plan: SyncPlan) -> SyncPlan:
    """The plan for a table as its source has it: its rows come as they land, which readers see to."""
    return replace(plan, spec=in_source(plan.spec.as_read))


@contextmanager
def read_explained(reader: Reader, table: TableId) -> Iterator[None]:
    """Turn what Spark raises inside into an error of the family, where its JVM is gone or its cause is the source's."""
    try:
        yield
    except SourceFull:
        reader.address.budget.narrow()
        raise
    except IncrementalAssetsError:
        raise
    except Exception as error:
        known = lost(error, table) or reader.explain(words(error), table)
        if known is None:
            raise
        if isinstance(known, SourceFull):
            reader.address.budget.narrow()
        # Without the cause: the driver's own error may quote anything.
        raise known from None


@contextmanager
def one_reader(reader: Reader, table: TableId) -> Iterator[None]:
    """The same, with a place for the one session by which the frames of a reader are read."""
    with reader.address.budget.readers(1), read_explained(reader, table):
        yield
