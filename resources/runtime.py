"""One configuration, opened piece by piece on demand: used by the command line, the assets, the checks and the sensors."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from incremental_assets.core.concurrency.background import in_background
from incremental_assets.core.config.effective import effective
from incremental_assets.core.config.resolve import Resolved, resolve_all
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.quarantine import NONE_UNFIT, NOTHING_HELD, held_in_store
from incremental_assets.core.ports import Ports
from incremental_assets.resources.checkpoints import open_checkpoints
from incremental_assets.resources.contracts import with_sound_contracts
from incremental_assets.resources.erasures import open_erasures
from incremental_assets.resources.lake import open_lake, open_logged_lake, open_ownership, open_stage
from incremental_assets.resources.observers import open_observers
from incremental_assets.resources.references import digest_of, looked_up
from incremental_assets.resources.registering import open_registrar
from incremental_assets.resources.session import session_of
from incremental_assets.resources.source import open_source
from incremental_assets.resources.stores import know_stores, renew_stores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
    from incremental_assets.adapters.databases.probe import SqlProbe
    from incremental_assets.adapters.delta.ownership import Ownership
    from incremental_assets.adapters.spark.session import Work
    from incremental_assets.adapters.spark.session_provider import Session
    from incremental_assets.adapters.spark.tasks import Tasks
    from incremental_assets.core.config.settings import Configuration
    from incremental_assets.core.errors import EngineLost
    from incremental_assets.core.model.mask import MaskKey
    from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
    from incremental_assets.core.model.table import TableSpec
    from incremental_assets.core.model.table_id import TableId
    from incremental_assets.core.model.table_shape import TableShape
    from incremental_assets.core.observing.observers import Observers
    from incremental_assets.core.ports import OpenSource, Probe, Registrar
    from incremental_assets.resources.spark import SparkResource

_HASHED = 3
"""How often a byte counts that is known to be read, by a check or a refresh: checks of 140 MB were a quarter sooner through in a session made
for loads, while first loads of as much took as long in either."""


class Runtime:
    """Opens nothing when it is made. A session begins when rows are first read, measured or written; everything is kept until `close`.

    Without `writes` the checkpoint table is only read, and no catalogue is remembered.
    """

    def __init__(
        self, configuration: Configuration, spark: SparkResource | None = None, *, writes: bool = True
    ) -> None:
        self.configuration, self._writes = configuration, writes
        know_stores(configuration)
        self._spark = spark
        self._lock = threading.RLock()
        self._checkpoints: SqlCheckpoints | None = None
        self._sources: dict[str, OpenSource] = {}
        self._led_to: dict[str, str] = {}
        self._ports: dict[str, Ports] = {}
        self._begun: Session | None = None
        self._tasks: Tasks | None = None
        self._remembered: dict[str, tuple[TableShape, ...]] = {}
        self._expected: set[TableId] = set()

    @cached_property
    def observer(self) -> Observers:
        """Who hears of what happens; opened here, as a command that only shows something needs none."""
        found = open_observers(self.configuration)
        if self.configuration.notify and self._writes:
            from incremental_assets.adapters.notifying.notifier import Notifier
            from incremental_assets.resources.notifying import notify

            found.join(Notifier(lambda: notify(self.configuration, self.checkpoints)))
        return found

    @property
    def spark(self) -> SparkResource:
        """The resource that the session comes from. Imported here: it is a Dagster resource, and a look at the checkpoints needs no Dagster."""
        from incremental_assets.resources.spark import SparkResource

        with self._lock:
            if self._spark is None:
                spark = self.configuration.spark
                own = not self.configuration.shares_engine
                self._spark = SparkResource(
                    remote=spark.remote,
                    master=spark.master,
                    own=own,
                    keep=spark.keep.total_seconds() if spark.keep else None,
                    secrets=list(self.configuration.secrets),
                )
            return self._spark

    @property
    def checkpoints(self) -> SqlCheckpoints:
        """The checkpoint table."""
        with self._lock:
            if self._checkpoints is None:
                self._checkpoints = open_checkpoints(self.configuration.checkpoints, writes=self._writes)
            return self._checkpoints

    @property
    def process(self) -> str:
        """This process, as another one can look for it."""
        from incremental_assets.adapters.process import ProcessIdentity

        return ProcessIdentity.here().text

    def has_ended(self, process: str) -> bool:
        """Whether such a process is certainly gone."""
        from incremental_assets.adapters.process import ProcessIdentity

        return ProcessIdentity.parse(process).is_gone

    def remove_tracebacks(self, than: timedelta) -> int:
        """How many were older, of what no command expected."""
        from incremental_assets.adapters import tracebacks

        return tracebacks.remove_older(than)

    def probe(self, source: str) -> Probe:
        """Light queries to a source, by its name."""
        return self._source(source).probe

    def database(self, source: str) -> SqlProbe | None:
        """The same, and what only a database can be asked; None for a source of another kind."""
        from incremental_assets.resources.database import OpenDatabase

        found = self._source(source)
        return found.probe if isinstance(found, OpenDatabase) else None

    def ports(self, source: str) -> Ports:
        """All that a sync of this source's tables needs."""
        from incremental_assets.resources.database import OpenDatabase

        found = self._source(source)
        with self._lock:
            if source not in self._ports:
                root, session = self.configuration.lake, self._session
                tasks, erasures = self._open_tasks(), open_erasures(self.configuration)
                reader = found.reader if isinstance(found, OpenDatabase) else None
                self._ports[source] = Ports(
                    probe=found.probe,
                    source=found.source,
                    stage=open_stage(root, session, tasks, self.ownership, erasures),
                    lake=open_logged_lake(
                        open_lake(root, session, reader, tasks, self.ownership),
                        found.versions if isinstance(found, OpenDatabase) else None,
                        erasures,
                    ),
                    checkpoints=self.checkpoints,
                    erasures=erasures,
                    observer=self.observer,
                    registrar=self.registrar,
                    lost_engine=self._lost_engine,
                )
            return self._ports[source]

    @cached_property
    def registrar(self) -> Registrar | None:
        """The data catalogues to which copies are made known; None where there are none."""
        return open_registrar(self.configuration, self._session)

    def _source(self, name: str) -> OpenSource:
        """Opened anew once a reference leads to another value, such as a password that was rotated; whoever works with the one before goes on with it."""
        configured, path = self.configuration.source(name), self.configuration.path
        renew_stores(self.configuration)
        # Without the lock, under which others wait: a program may take its time.
        values, problems = looked_up(configured, path)
        led_to = digest_of(values)
        with self._lock:
            found = self._sources.get(name)
            if found is not None and (problems or led_to == self._led_to[name]):
                return found
            opened = open_source(configured, path, self.configuration.lake, self._session)
            self._ports.pop(name, None)
            self._sources[name], self._led_to[name] = opened, led_to
        if found is not None:
            found.close()
        return opened

    @property
    def ownership(self) -> Ownership:
        """Which installation writes which table of the lake."""
        return open_ownership(self.configuration.lake, self.checkpoints.installation)

    def held(self, spec: TableSpec) -> HeldRows | None:
        """Rows that a contract holds, by the lake alone: whether the source answers does not matter."""
        from incremental_assets.adapters.lake_store.opened import store_of

        lake = self.configuration.lake
        if store_of(lake) is None:
            return held_in_store(spec)
        if self._has_no_quarantine(spec):
            return NOTHING_HELD
        # Inside the function: Arrow takes longer to import than most tables take to be asked.
        from incremental_assets.adapters.delta.quarantine.held import held_rows

        return held_rows(lake, spec)

    def unfit(self, spec: TableSpec) -> UnfitRows | None:
        """Rows that cannot land, by the lake alone."""
        lake = self.configuration.lake
        if self._has_no_quarantine(spec):
            return NONE_UNFIT
        # Inside the function, as above.
        from incremental_assets.adapters.delta.quarantine.unfit import unfit_rows

        return unfit_rows(lake, spec)

    def _has_no_quarantine(self, spec: TableSpec) -> bool:
        """Whether a folder says so. A store has none, and is asked for the log at once."""
        from incremental_assets.adapters.lake_store.opened import store_of

        store = store_of(self.configuration.lake)
        return (
            store is not None
            and not store.promises.paged
            and store.head(quarantine_path(self.configuration.lake, spec.id)) is None
        )

    def specs(self, source: str) -> Resolved:
        """Every table of a source as it is to be synced, resolved against the catalogue of now, which is remembered for the next look."""
        shapes = self.probe(source).catalogue()
        # A sensor looks every minute; new estimates of rows and bytes do not count as a change.
        lasting = tuple(replace(shape, rows=0, bytes=0, pages=0, updates=None) for shape in shapes)
        if self._writes and source not in self._remembered:
            self.checkpoints.remember_configuration(source, effective(self.configuration.source(source)))
        if self._writes and self._remembered.get(source) != lasting:
            self.checkpoints.remember_catalogue(source, self._known(source, shapes))
            self._remembered[source] = lasting
        resolved = with_sound_contracts(resolve_all(self.configuration.source(source), shapes))
        if any(spec.masks for spec in resolved.specs):
            resolved = resolved.with_key(self._mask_key(source))
        if not any(spec.discards or spec.collation_key or spec.pii for spec in resolved.specs):
            return resolved
        # Checks compare what syncs read.
        return resolved.as_landed(self.checkpoints.positions())

    def _mask_key(self, source: str) -> MaskKey | None:
        from incremental_assets.resources.database import OpenDatabase

        found = self._source(source)
        return found.mask_key if isinstance(found, OpenDatabase) else None

    def _known(self, source: str, shapes: tuple[TableShape, ...]) -> tuple[TableShape, ...]:
        """The shapes, and of tables that the source cannot describe at the moment what it told of them last: Dagster's definitions are made of it."""
        if not any(shape.undescribed for shape in shapes):
            return shapes
        before = {shape.id: shape for shape in self.checkpoints.catalogue(source) or ()}
        return tuple(before.get(shape.id, shape) if shape.undescribed else shape for shape in shapes)

    def expect_full_reads(self, whole: Iterable[TableId]) -> None:
        """These tables will be read whole, landed or not: a session that is opened after this is made for as much."""
        self._expected.update(whole)

    def begin_session(self) -> None:
        """Open the session and start its workers in the background; does nothing where a resource is there already. If that fails, the first use raises the error."""
        from incremental_assets.adapters.spark.kept import Keep
        from incremental_assets.adapters.spark.session import SparkSettings
        from incremental_assets.adapters.spark.tasks import begin_workers

        if self._spark is not None:
            return  # somebody else's, who knows when to open it
        spark = self.configuration.spark
        own = not self.configuration.shares_engine
        keep = Keep(spark.keep, self.configuration.secrets) if spark.keep else None
        begun = session_of(SparkSettings(spark.remote, spark.master), own=own, keep=keep)
        self._begun = begun
        in_background(lambda: begin_workers(begun(self._work())))

    def close(self) -> None:
        """Close what was opened; the Spark session ends with it."""
        # First, and without the lock: what there still is to say is read from the checkpoint table.
        if (observer := self.__dict__.pop("observer", None)) is not None:
            observer.close()
        with self._lock:
            for source in self._sources.values():
                source.close()
            if self._checkpoints is not None:
                self._checkpoints.close()
            self._checkpoints = None
            self._sources.clear()
            self._ports.clear()
            self._remembered.clear()
            self._expected.clear()
            if self._spark is not None:
                self._spark.close()
            if self._begun is not None:
                self._begun.close()

    def _open_tasks(self) -> Tasks:
        """One for all sources, so that work of concurrent syncs becomes one job."""
        from incremental_assets.adapters.spark.tasks import Tasks

        if self._tasks is None:
            self._tasks = Tasks(self._session, self.configuration.lake)
        return self._tasks

    def _session(self) -> SparkSession:
        session = self.spark.session() if self.spark.is_open else self.spark.session(self._work())
        if self.configuration.store is not None:
            from incremental_assets.adapters.spark.store_settings import let_spark_reach

            let_spark_reach(session, self.configuration.lake)
        return session

    def _lost_engine(self) -> EngineLost | None:
        # Where there is no resource yet, no session was used.
        return self._spark.lost if self._spark is not None else None

    def _work(self) -> Work:
        """What a session is opened for, as far as can be predicted: enough rows to make up for a slower start, or ticks."""
        from incremental_assets.adapters.spark.session import Work

        positions, ahead = self.checkpoints.positions(), 0
        for source in self.configuration.sources:
            for spec in resolve_all(source, self.checkpoints.catalogue(source.name) or ()).specs:
                landed = positions.get(spec.id)
                ahead += spec.shape.bytes if landed is None or landed.state is None else 0
                ahead += spec.shape.bytes * _HASHED if spec.id in self._expected else 0
        return Work.ahead(ahead)
