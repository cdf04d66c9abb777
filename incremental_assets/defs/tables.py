"""What is known when the definitions load: the configuration, and the last seen catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from dagster import AssetKey, AssetsDefinition, AssetSpec

from incremental_assets.core.config.copied_names import by_source_names
from incremental_assets.core.config.dialects import kind_of
from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.config.terms import all_terms
from incremental_assets.core.model.change_columns import version_columns
from incremental_assets.core.model.history import SUFFIX, History
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import WEEK_BEGINS_ON, has_weeks
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies import traits_of
from incremental_assets.defs import metadata
from incremental_assets.defs.names import AssetKeys, source_key, usual_key
from incremental_assets.defs.partitions import Scheme, scheme_of
from incremental_assets.defs.translation import Translation


@dataclass(frozen=True, slots=True)
class Known:
    """One table: its settings, and its shape if it has ever been seen."""

    id: TableId
    terms: TableConfig
    scheme: Scheme
    shape: TableShape | None

    @property
    def keeps_history(self) -> bool:
        """Whether a history is kept beside the copy."""
        return self.terms.history is not History.NONE


@dataclass(frozen=True, slots=True)
class Home:
    """What all sources of a configuration share: its file, its lake, the resource key of what opens it, and what its assets are called."""

    file: Path
    lake: str
    resource: str
    ledger: timedelta | None = None
    """How long the checkpoint database keeps what it says of syncs."""
    logs: timedelta | None = None
    """How long what runs have printed is kept, and tracebacks."""
    translation: Translation | None = None


@dataclass(frozen=True, slots=True)
class View:
    """One source as the definitions show it."""

    config: SourceConfig
    home: Home
    tables: tuple[Known, ...]
    keys: AssetKeys = field(default_factory=AssetKeys)
    """Of all sources: two assets of one key are as wrong where their sources differ."""

    @classmethod
    def of(cls, config: SourceConfig, home: Home, shapes: Iterable[TableShape]) -> View:
        """Listed tables, and those that only the catalogue shows."""
        seen = {shape.id: shape for shape in shapes}
        tables = []
        for terms in all_terms(config, seen.values()):
            table = terms.id(config.name)
            tables.append(Known(table, terms, scheme_of(config, terms), _read_of(terms, seen.get(table))))
        # A table of the source that is called so is refused by name when its source is read.
        histories = {known.id.history for known in tables if known.keeps_history}
        shown = tuple(known for known in tables if known.id not in histories)
        return cls(config, home, shown)

    @property
    def copies(self) -> tuple[TableId, ...]:
        """The tables in the lake: copies and histories."""
        return tuple(
            table
            for known in self.tables
            for table in ((known.id, known.id.history) if known.keeps_history else (known.id,))
        )

    @property
    def name(self) -> str:
        """The source's name, which is the group of its assets."""
        return self.config.name

    @property
    def resource(self) -> str:
        """The resource that its assets, checks and sensor use."""
        return self.home.resource

    @property
    def place(self) -> metadata.Metadata:
        """Dagster's link to the line where the source is configured."""
        return metadata.of_place(self.home.file, self.config.line)

    @property
    def kind(self) -> str:
        """The database, in Dagster's word for it."""
        return kind_of(self.config.dialect)

    def by_scheme(self) -> Mapping[Scheme, tuple[Known, ...]]:
        """The tables that one op syncs and one job runs."""
        schemes: dict[Scheme, list[Known]] = {}
        for known in self.tables:
            schemes.setdefault(known.scheme, []).append(known)
        return {scheme: tuple(tables) for scheme, tables in schemes.items()}

    def external(self) -> tuple[AssetsDefinition, ...]:
        """The tables in the database, where lineage starts; apart by scheme, as Dagster takes each definition into a job whole."""
        return tuple(
            AssetsDefinition(specs=[self._source_spec(known) for known in tables])
            for tables in self.by_scheme().values()
        )

    def _source_spec(self, known: Known) -> AssetSpec:
        return AssetSpec(
            source_key(known.id),
            description=known.shape.comment or None if known.shape else None,
            metadata={**metadata.of_source(known.id, self.config.dialect, known.shape), **self._place_of(known)},
            group_name=self.name,
            kinds={self.kind},
        )

    def spec(self, known: Known) -> AssetSpec:
        """The copy in the lake."""
        known_of = metadata.of_table(
            known.id, table_path(self.home.lake, known.id), known.shape, known.terms.column_names
        )
        spec = AssetSpec(
            usual_key(known.id),
            description=_description(known),
            metadata={
                **known_of,
                **metadata.of_catalogues(known.id, known.terms.register),
                **self._place_of(known),
            },
            group_name=self.name,
            owners=known.terms.owners,
            tags=known.terms.tags,
            kinds={self.kind, "pyspark", "deltalake"},
        )
        return self._translated(spec, known.id)

    def history_spec(self, known: Known) -> AssetSpec:
        """The versions of the copy's rows, beside it in the lake."""
        table, kind = known.id.history, known.terms.history
        seen = "each that was committed" if known.terms.capture else "as syncs saw them"
        known_of = metadata.of_history_table(known.id, table_path(self.home.lake, table))
        if known.shape is not None:
            own = version_columns(kind, known.terms.capture)
            columns = metadata.of_history_columns(self.keys.of(known.id), known.shape, known.terms.column_names, own)
            known_of = {**known_of, **columns}
        spec = AssetSpec(
            usual_key(table),
            description=f"Versions of the rows of `{known.id.schema}.{known.id.name}` (`history: {kind}`), {seen}.",
            metadata={**known_of, **metadata.of_catalogues(table, known.terms.register), **self._place_of(known)},
            group_name=self.name,
            owners=known.terms.owners,
            tags=known.terms.tags,
            kinds={"pyspark", "deltalake"},
        )
        return self._translated(spec, table)

    def _translated(self, spec: AssetSpec, table: TableId) -> AssetSpec:
        translation = self.home.translation
        return (
            spec if translation is None else translation.spec(spec, table).replace_attributes(key=self.keys.of(table))
        )

    def asset_keys(self, tables: Iterable[TableId]) -> list[AssetKey]:
        """The keys of the tables' copies, each followed by that of its history if it keeps one."""
        kept = {known.id for known in self.tables if known.keeps_history}
        return [
            key
            for table in tables
            for key in (self.keys.of(table), *([self.keys.of(table.history)] if table in kept else []))
        ]

    def table_of(self, key: AssetKey) -> TableId:
        """The table of which an asset is the copy or the history; any other key is read as that of a copy."""
        found = self.keys.table(key)
        if not found.name.endswith(SUFFIX):
            return found
        return next((known.id for known in self.tables if known.keeps_history and known.id.history == found), found)

    def _place_of(self, known: Known) -> metadata.Metadata:
        return metadata.of_place(self.home.file, known.terms.line or self.config.line)


def _read_of(terms: TableConfig, shape: TableShape | None) -> TableShape | None:
    """The table with the columns that are read of it."""
    if shape is None:
        return None
    columns = by_source_names(terms, shape).columns
    return shape.without([name for name in shape.names if columns.leaves_out(name)])


def _description(known: Known) -> str:
    """The description of a copy: the source's comment, what it holds, and what its partitions are."""
    comment = known.shape.comment if known.shape else ""
    entries = [
        comment,
        f"Copy of `{known.id.schema}.{known.id.name}`, {traits_of(known.terms.strategy).holds} (`{known.terms.strategy}`).",
        f"Of its rows those alone with `{known.terms.where}`." if known.terms.where else "",
        _partitions(known.terms),
    ]
    return "\n\n".join(line for line in entries if line)


def _partitions(terms: TableConfig) -> str:
    column = next(iter(terms.cursor_columns), "")
    if terms.partitions is None:
        return "The one partition, `current`, is the whole table; to materialize it reads it again, whether that is due or not."
    if isinstance(terms.partitions, IntegerGrid):
        # The source tells the column's name when it is asked.
        values = f"`{column}`" if column else "numbers of the transactions that wrote the rows"
        return f"A partition is a range of {values}. To materialize one reads that range again and leaves the watermark alone."
    week = f"A week begins on {WEEK_BEGINS_ON}, and its key is that day. " if has_weeks(terms.partitions) else ""
    row = (
        "each version of a row that a sync saw stays in the window of its own value"
        if traits_of(terms.strategy).keeps_versions
        else "a row lives in the window of its latest version, and moves on when it changes"
    )
    return (
        f"A partition is a window of `{column}`: {row}. "
        f"{week}To materialize one reads that window again and leaves the watermark alone. A first sync announces them from the table's first row on."
    )
