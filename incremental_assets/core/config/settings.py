"""The configuration as frozen values, with all defaults merged: the form that the rest of the program uses."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Literal

from incremental_assets.core.config.addresses import bucket_of
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.column_choice import ALL, ColumnChoice
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.cursor import CursorValue, Span
from incremental_assets.core.model.dataset import Dataset
from incremental_assets.core.model.deletes import IGNORED, Deletes
from incremental_assets.core.model.history import History
from incremental_assets.core.model.incident import DEFAULT_ABOUT, About
from incremental_assets.core.model.layout import Target
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.objective import NO_OBJECTIVES, Objectives
from incremental_assets.core.model.partition import Every, Grid, TimeGrid
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.quiet import QuietTime
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.registration import Registration
from incremental_assets.core.model.retention import KEEPS_ALL, Retention
from incremental_assets.core.model.row_condition import RowCondition
from incremental_assets.core.model.schedule import Schedule
from incremental_assets.core.model.table import Cursor, FuturePolicy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_match import TableMatch
from incremental_assets.core.model.verdict import Severity
from incremental_assets.core.strategies import Strategy, traits_of

_MONTHS = TimeGrid(Every.MONTH, date(2000, 1, 1))


LOG = "log"
"""The capture of a table whose changes are read from the source's log."""


class Compact(StrEnum):
    """Who puts the small files of a copy together."""

    AUTO = "auto"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a value: an environment variable, a file (an absolute path), or a program that prints it. It never holds the value itself."""

    kind: Literal["env", "file", "command"]
    name: str
    arguments: tuple[str, ...] = ()
    """Of a program, which they follow."""

    def __str__(self) -> str:
        if self.kind == "command":
            return f"{{command: [{self.name}{', …' if self.arguments else ''}]}}"
        return f"{{{self.kind}: {self.name}}}"


@dataclass(frozen=True, slots=True)
class Parallel:
    """Tables at once, and connections to the source in all."""

    tables: int = 4
    connections: int = 4

    @property
    def checks(self) -> int:
        """How many checks run at once: where a count differs, rows are read by a second connection."""
        return max(1, min(self.tables, self.connections // 2))


@dataclass(frozen=True, slots=True)
class BackfillTerms:
    """How a backfill limits its load on the source: partitions per read, connections per read, and a pause between two reads."""

    windows: int = 12
    connections: int | None = None
    """The connections of one read; None: as many as a sync has."""
    pause: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Freshness:
    """The age of the oldest row that has not landed, at which to warn and to fail; None is never."""

    warn: timedelta | None = None
    fail: timedelta | None = None


@dataclass(frozen=True, slots=True)
class TableConfig:
    """One table as the file wants it synced. `file` and `line` are its place, 0 for a table that is not listed."""

    schema: str
    name: str
    strategy: Strategy
    cursor: Cursor | None = None
    primary_key: tuple[str, ...] | None = None
    """The columns of the key; None: found in the source's catalogue."""
    lookback: Span = 0
    holdback: Span = 0
    future: FuturePolicy = FuturePolicy.LAND
    partitions: Grid | None = None
    """The grid of the partitions; None: the single key `current`."""
    start: CursorValue | None = None
    where: RowCondition | None = None
    """Which rows are copied; None: all."""
    target: Target | None = None
    """Where its copy lies in the lake; None: as usual."""
    register: tuple[Registration, ...] = ()
    """How it is named in data catalogues."""
    column_names: ColumnNames = ColumnNames.KEEP
    schema_changes: Literal["evolve", "widen", "freeze", "discard"] = "evolve"
    freshness: Freshness = Freshness()
    slo: Objectives = NO_OBJECTIVES
    refresh_every: timedelta = timedelta(days=1)
    """How often a table without a cursor is read whole, or compared."""
    schedule: Schedule | None = None
    """When it is due by the calendar; None: with each look, or as often as it is read or compared."""
    compares: bool = False
    """Whether changes are found without a cursor, by a comparison of all rows with the copy."""
    capture: str = ""
    """The capture by which changes are found, where the file names one."""
    owners: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    renamed: tuple[tuple[str, str], ...] = ()
    """Columns by the name before, and after."""
    pii: tuple[str, ...] = ()
    reconciliation: Severity = Severity.ERROR
    repaired_at_most: int = 0
    """Drifted rows that the daily check repairs by itself; of more of them it repairs none."""
    compact: Compact = Compact.AUTO
    retention: Retention = KEEPS_ALL
    readers: Readers = Readers.VECTORS
    deletes: Deletes = IGNORED
    contract: Contract | None = None
    history: History = History.NONE
    columns: ColumnChoice = ALL
    file: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        """`file:line`, or nothing for a table that is not listed."""
        return f"{self.file}:{self.line}" if self.line else ""

    @property
    def interval(self) -> timedelta | None:
        """How often it is read whole, or compared, or by its schedule at the least; None of a table that every sync follows."""
        if self.schedule is not None:
            return self.schedule.longest_wait
        return self.refresh_every if self.compares or traits_of(self.strategy).overwrites else None

    @property
    def cursor_columns(self) -> tuple[str, ...]:
        """The columns that the cursor is taken from; that of one by transactions is empty until the catalogue names it."""
        return self.cursor.columns if self.cursor else ()

    def id(self, source: str) -> TableId:
        """The table's full name."""
        return TableId(source, self.schema, self.name)


@dataclass(frozen=True, slots=True)
class MatchConfig:
    """The terms of each table that a glob stands for."""

    match: TableMatch
    terms: TableConfig

    def of(self, table: TableId) -> TableConfig:
        """Those of one of them."""
        return replace(self.terms, schema=table.schema, name=table.name)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a table of the source gets for the keys that it leaves out, listed or not."""

    schema_changes: Literal["evolve", "widen", "freeze", "discard"] = "evolve"
    slo: Objectives = NO_OBJECTIVES
    """That of freshness is for tables that are followed; one that is read once a day by choice is not late after an hour."""
    owners: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    reconciliation: Severity = Severity.ERROR
    repaired_at_most: int = 0
    compact: Compact = Compact.AUTO
    retention: Retention = KEEPS_ALL
    readers: Readers = Readers.VECTORS
    columns: ColumnChoice = ALL


class SourceSettings:
    """How a source is reached, in the words of its kind, which derives its own from this as a frozen value; nobody else asks for more than stands here.

    A field whose value is a `Reference` is one that is followed when the source is opened.
    """

    __slots__ = ()

    @property
    def secrets(self) -> tuple[Reference, ...]:
        """The references to what nobody but the source may see."""
        return ()

    @property
    def unencrypted(self) -> tuple[str, str] | None:
        """That rows may cross a network that others read, and what to write; None where they do not."""
        return None

    def dataset(self, _schema: str, _table: str) -> Dataset | None:
        """What catalogues of lineage call a table of it, once each reference in its address is followed; None where they have no name for this kind."""
        return None


_NOTHING = SourceSettings()


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """One source: a database, or another kind."""

    name: str
    dialect: str
    settings: SourceSettings = _NOTHING
    schemas: tuple[str, ...] = ()
    """Where tables that are not listed are looked for."""
    unlisted: Literal["full_refresh", "ignore"] = "full_refresh"
    exclude: tuple[str, ...] = ()
    """Globs over the names of tables that are not listed."""
    parallel: Parallel = Parallel()
    every: timedelta = timedelta(minutes=1)
    schedule: Schedule | None = None
    """When tables are due that say nothing of it themselves."""
    quiet: QuietTime | None = None
    """When the sensor begins no work."""
    refresh_every: timedelta = timedelta(days=1)
    target: Target | None = None
    """Where copies lie of tables that say nothing of it themselves; None: as usual."""
    register: tuple[Registration, ...] = ()
    """How copies are named in data catalogues, of tables that say nothing of it themselves."""
    column_names: ColumnNames = ColumnNames.KEEP
    """How the columns of copies are named, of tables that say nothing of it themselves."""
    check_at: time | None = time(3)
    """When everything is checked, daily in UTC; None is never."""
    backfill: BackfillTerms = BackfillTerms()
    partitions: TimeGrid = _MONTHS
    defaults: Defaults = Defaults()
    tables: tuple[TableConfig, ...] = ()
    matches: tuple[MatchConfig, ...] = ()
    """Globs, for whose tables the file has terms though it does not list them."""
    line: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)
    """The lines of its keys."""

    def line_of(self, key: str) -> int:
        """The line where a key is written, else that of the source."""
        return self.lines.get(key, self.line)

    @property
    def registers(self) -> bool:
        """Whether copies of it are made known to a data catalogue."""
        return bool(self.register) or any(each.register for each in (*self.tables, *(of.terms for of in self.matches)))

    @property
    def reads_log(self) -> bool:
        """Whether a table of it is read from its log."""
        return any(table.capture == LOG for table in self.tables)


@dataclass(frozen=True, slots=True)
class SparkConfig:
    """How sessions are opened: on a cluster's `master` when there is one, else by `remote`: `auto` or `sc://…`."""

    remote: str = "auto"
    master: str | None = None
    keep: timedelta | None = None
    """How long an engine waits for its next use that a run starts where it finds none; None: no run starts one."""

    @property
    def is_here(self) -> bool:
        """Whether Spark runs on this machine, by settings of ours."""
        return self.remote == "auto" and self.master is None


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """How a bucket is reached, beside what the environment says."""

    bucket: str
    endpoint: str | Reference | None = None
    region: str | None = None
    access_key_id: Reference | None = None
    secret_access_key: Reference | None = None
    session_token: Reference | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class ChannelConfig:
    """Who is notified, and of what."""

    name: str
    url: Reference
    about: frozenset[About] = frozenset(DEFAULT_ABOUT)
    stalled: timedelta | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class ErasureConfig:
    """The key by which erased keys are kept out; None where nothing is erased."""

    key: Reference | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class TranslationConfig:
    """Attributes of assets as they were written, templates and all; `line` is where."""

    written: str | Mapping[str, object]
    line: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """The whole file. `lake` is an absolute path or a URI, `checkpoints` a SQLAlchemy URL with an absolute path in it."""

    path: Path
    lake: str
    checkpoints: str
    sources: tuple[SourceConfig, ...]
    spark: SparkConfig = SparkConfig()
    stores: tuple[StoreConfig, ...] = ()
    observers: tuple[str, ...] = ()
    """The names of entry points that observe what happens."""
    notify: tuple[ChannelConfig, ...] = ()
    ledger: timedelta | None = None
    """How long the checkpoint database keeps what it says of syncs; None: forever."""
    logs: timedelta | None = None
    """How long what runs have printed is kept, and tracebacks; None: forever."""
    erasure: ErasureConfig = ErasureConfig()
    translation: TranslationConfig | None = None

    @property
    def store(self) -> StoreConfig | None:
        """That of the lake, where `stores` names its bucket."""
        return next((each for each in self.stores if each.bucket == bucket_of(self.lake)), None)

    @property
    def shares_engine(self) -> bool:
        """Whether runs use the engine of this machine: not if Spark runs elsewhere, nor for a lake in a store, which needs a JVM in the process."""
        return self.spark.is_here and is_local(self.lake)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The environment variables that hold passwords of sources, the keys of stores, the addresses of channels, and the key of erasures."""
        keys = [key for each in self.stores for key in (each.access_key_id, each.secret_access_key, each.session_token)]
        urls = (each.url for each in self.notify)
        given = [*(found for source in self.sources for found in source.settings.secrets), *filter(None, keys), *urls]
        given += [self.erasure.key] if self.erasure.key else []
        return tuple(found.name for found in given if found.kind == "env")

    @property
    def unencrypted(self) -> tuple[str, ...]:
        """A sentence for each source whose connections may be unencrypted, with its place and what to write."""
        return tuple(
            f"{self.path}:{each.line_of('host')}: {each.name}: {'; '.join(found)}"
            for each in self.sources
            if (found := each.settings.unencrypted)
        )

    def source(self, name: str) -> SourceConfig:
        """The source of that name; SelectionError names the ones that exist."""
        names = [source.name for source in self.sources]
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose one of: {', '.join(names)}"
            raise SelectionError(f"there is no source {name!r} in {self.path}; {hint}")
        return self.sources[names.index(name)]


def unlisted_table(source: SourceConfig, schema: str, name: str) -> TableConfig:
    """The terms of a table that the file does not list: the source as it is, on the source's own cadence."""
    defaults = source.defaults
    return TableConfig(
        schema=schema,
        name=name,
        strategy=Strategy.FULL_REFRESH,
        refresh_every=source.refresh_every if source.schedule is None else timedelta(),
        schedule=source.schedule,
        target=source.target,
        register=source.register,
        column_names=source.column_names,
        schema_changes=defaults.schema_changes,
        slo=replace(defaults.slo, freshness=None),
        owners=defaults.owners,
        tags=defaults.tags,
        reconciliation=defaults.reconciliation,
        repaired_at_most=defaults.repaired_at_most,
        compact=defaults.compact,
        retention=defaults.retention,
        readers=defaults.readers,
        columns=defaults.columns,
    )
