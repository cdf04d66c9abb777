"""A table: its name, its columns as in the catalogue, and the settings it is synced with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.cursor import CursorType, CursorValue, Span
from incremental_assets.core.model.definition import Fact
from incremental_assets.core.model.deletes import IGNORED, Deletes
from incremental_assets.core.model.history import SUFFIX, History
from incremental_assets.core.model.mask import Mask, MaskKey
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.row_condition import RowCondition
from incremental_assets.core.model.schedule import Schedule
from incremental_assets.core.model.stamping import Stamping
from incremental_assets.core.strategies import Strategy, Traits, traits_of

_FEW_ROWS, _FEW_BYTES = 10_000, 8 * 2**20
"""A table below both sizes is read whole in a moment, and is then right whatever its columns tell."""


def is_small(rows: int, size: int) -> bool:
    """Whether a table of so many rows and bytes is read in a moment, with an index or without one."""
    return rows < _FEW_ROWS and size < _FEW_BYTES


class NullPolicy(StrEnum):
    """What happens to rows without a cursor."""

    FAIL = "fail"
    ALWAYS = "always"
    SKIP = "skip"


class FuturePolicy(StrEnum):
    """What happens to rows stamped past the source's clock."""

    LAND = "land"
    QUARANTINE = "quarantine"
    WAIT = "wait"


class Fidelity(StrEnum):
    """How faithfully a Spark type holds a source type."""

    EXACT = "exact"
    TEXT = "text"


class Arrival(StrEnum):
    """How rows of a table may become visible apart from the transaction that stamped them."""

    SUBSCRIPTION = "subscription"
    FOREIGN = "foreign"
    MATERIALIZED = "materialized"
    VIEW = "view"
    UNTRACKED = "untracked"


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """`source.schema.table`, in the source's own spelling."""

    source: str
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.source}.{self.schema}.{self.name}"

    @property
    def history(self) -> TableId:
        """The table of its rows' versions."""
        return replace(self, name=f"{self.name}{SUFFIX}")


@dataclass(frozen=True, slots=True)
class Sequence:
    """What gives a column its numbers: `cache` of them at once to a session, `step` apart."""

    name: str
    step: int = 1
    cache: int = 1
    cycles: bool = False
    logged: bool = True
    """Whether it continues from its last value after a crash (PostgreSQL: not if it is UNLOGGED)."""
    always: bool = False
    """Whether the source refuses a number that a row brings itself (GENERATED ALWAYS AS IDENTITY)."""
    restarts: bool = True
    """Whether its numbers may begin again without another definition of the table."""
    last: int | None = field(default=None, compare=False)
    """The number that it had drawn last when the catalogue was read; None where it had drawn none, or the source does not show it to this user."""
    seen: bool = field(default=True, compare=False)
    """Whether this user may see how far it has come."""
    trigger: str = ""
    """A trigger that may give a row another number than the one that was drawn; empty where none does."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `source_type` is the catalogue's text, such as `numeric(15,2)`; `spark_type` is DDL, such as `decimal(15,2)`."""

    name: str
    source_type: str
    spark_type: str
    fidelity: Fidelity
    nullable: bool = True
    comment: str = ""
    identity: str = ""
    """What the source knows the column by, whatever it is called (PostgreSQL: numbers of table and column); empty where it has none."""
    sequence: Sequence | None = None
    """The one sequence from which its default, or its identity, draws: in the table and in every partition or child of it."""
    encoding: str = ""
    """The source's name of the encoding of its texts, where one of them may be no UTF-8; empty where none can."""
    stamps: Stamping | None = None
    """What of the source writes it, of a column that holds times: in the table and in every partition or child of it; None: this source does not say."""
    readings: tuple[str, ...] = ()
    """Other Spark types by which its values may be read where it is a cursor, as the source stores values of any kind in it (SQLite)."""
    collation: str = ""
    """How the source compares its values, in the words of its dialect, where it takes some for equal that a copy holds differently; empty where it takes none."""
    no_key: str = ""
    """Why nothing that a copy may hold shows which of its values the source takes for equal, so that it can be no part of a key; empty where something does."""
    shown_by: str = ""
    """What else than its row decides how a value of it shows, as the end of a sentence: no stamp moves when that changes. Empty where nothing does."""
    of: tuple[Column, ...] = ()
    """Of a collation key the columns that it is made of, see `collation_key.py`; none of any other."""
    of_log: bool = False
    """Whether it tells of a change, see `change_columns.py`, and the source has none that is called so."""


@dataclass(frozen=True, slots=True)
class MaskedColumn:
    """A column whose values never leave the task that reads them: as the source has it, and as it lands."""

    name: str
    mask: Mask
    read: Column
    lands: Column


@dataclass(frozen=True, slots=True)
class RoleZone:
    """A role that may write a table, whose sessions begin in a time zone of its own."""

    role: str
    zone: str


@dataclass(frozen=True, slots=True)
class TableShape:
    """What the catalogue says of one table. `rows` and `bytes` are the database's estimates."""

    id: TableId
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    """Other keys that the source enforces for every row: not partial, not deferrable, no column nullable."""
    indexed_keys: tuple[tuple[Column, ...], ...] = ()
    """The columns of each enforced key whose index does not compare as they do, each as the index compares it."""
    own_key: tuple[str, ...] = ()
    """The declared primary key where it is none of all rows: others inherit from the table, whose rows are shown too and may repeat it, or it may hold NULL."""
    comment: str = ""
    rows: int = 0
    bytes: int = 0
    splits: bool = False
    """Whether a first load may read it in ranges of its physical blocks (a plain table, not a view or a foreign table)."""
    pages: int = 0
    """Physical blocks, where it splits."""
    row_versions: bool = False
    """Whether each row shows a version of its own, which changes with every write (PostgreSQL: ctid and xmin)."""
    filtered: bool = False
    """Whether the source may hide rows from this user (row-level security)."""
    arrivals: tuple[Arrival, ...] = ()
    zones: tuple[RoleZone, ...] = ()
    logged: bool = True
    """Whether its rows outlive a crash (PostgreSQL: not where it, or a partition or child of it, is UNLOGGED)."""
    readable: bool = True
    """Whether this user may read it; of one that it may not, nothing but the name is known."""
    undescribed: str = ""
    """Why the source could not tell what columns it has, with the cure; empty where it could. Nothing but the name is known then."""
    updates: int | None = None
    """Rows that were updated since the source's statistics began; None where it does not count them."""
    left_out: tuple[str, ...] = ()
    """Columns of the source that are not read, and do not count."""
    numbering: Column | None = None
    """The number of the transaction that wrote a row: what the source can show beside its columns, or one of them; None where it shows none."""
    facts: tuple[Fact, ...] | None = None
    """What the catalogue says of how its rows are stored and shown; None where the database was not asked."""
    by_itself: bool = False
    """Whether its rows are its own alone, as each change of one has its name, of a database that reads no table in ranges of blocks."""

    @property
    def is_partitioned(self) -> bool:
        """Whether its rows lie in partitions, each of which is a table of its own (PostgreSQL)."""
        return self.row_versions and not self.splits

    def without(self, names: Collection[str]) -> TableShape:
        """The table as if it had none of these columns."""
        unread = tuple(name for name in self.names if name in names)
        columns = tuple(column for column in self.columns if column.name not in names)
        return replace(self, columns=columns, left_out=(*self.left_out, *unread)) if unread else self

    def replacing(self, columns: Mapping[str, Column]) -> TableShape:
        """The table with other columns in the place of those of these names."""
        return replace(self, columns=tuple(columns.get(each.name, each) for each in self.columns))

    def compared(self, key: Collection[str]) -> tuple[Column, ...]:
        """The columns of a key, each as whatever enforces the key compares it."""
        own = {
            column.name: column
            for columns in self.indexed_keys
            if {each.name for each in columns} == set(key)
            for column in columns
        }
        return tuple(own.get(column.name, column) for column in self.columns if column.name in key)

    def numbered(self) -> TableShape:
        """The table with the number of each row's transaction as its last column, where the source can show it."""
        if self.numbering is None or self.numbering in self.columns:
            return self
        return replace(self, columns=(*self.columns, self.numbering))

    def read_as(self, types: Mapping[str, str]) -> TableShape:
        """The table with some columns read by another Spark type that their values may have; others stay as they are."""
        columns = tuple(
            replace(each, spark_type=types[each.name], fidelity=Fidelity.EXACT, readings=())
            if types.get(each.name) in each.readings
            else each
            for each in self.columns
        )
        return replace(self, columns=columns) if columns != self.columns else self

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in the table's order."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The column whose values grow with every change; `zone` reads zone-less stamps, `fallback` stands in where the cursor is NULL."""

    column: str
    type: CursorType
    nulls: NullPolicy = NullPolicy.FAIL
    fallback: str | None = None
    zone: str | None = None
    by_transaction: bool = False
    """Whether its values are the numbers of the transactions that wrote the rows, which settle as the source says; the column is the table's `numbering`."""
    is_own: bool = False
    """Whether that number is a column of the table's own, which grows with each version of a row and may have an index."""
    within: timedelta | None = None
    """How long before its transaction begins, by the source's clock, an application stamps a row at most, as the configuration declares; None: it declares nothing."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that its values are taken from, the first that is not NULL."""
        return (self.column,) if self.fallback is None else (self.column, self.fallback)

    @property
    def is_hidden(self) -> bool:
        """Whether no column of the table's own holds its values, so that no index can."""
        return self.by_transaction and not self.is_own

    @property
    def is_zoneless(self) -> bool:
        """Whether its values are readings of a clock on some wall, which only a zone makes moments."""
        return self.type in (CursorType.DATE, CursorType.DATETIME)


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table as it is to be synced: the configuration resolved against the catalogue."""

    shape: TableShape
    strategy: Strategy
    cursor: Cursor | None = None
    key: tuple[str, ...] = ()
    """The columns by which rows are told apart."""
    key_enforced: bool = False
    source_key: tuple[str, ...] = ()
    """The key as the source has it, where a collation key stands in `key` for some of its columns; empty where `key` is that itself."""
    lookback: Span = 0
    holdback: Span = 0
    future: FuturePolicy = FuturePolicy.LAND
    start: CursorValue | None = None
    where: RowCondition | None = None
    """Which of its rows are copied, counted and compared; None: all. The others are as if the source did not have them."""
    refresh_every: timedelta = timedelta(days=1)
    """How often a table without a cursor is read whole, or compared."""
    target: str = ""
    """Where its copy lies in the lake, as the configuration says; empty: as usual."""
    schedule: Schedule | None = None
    """When it is due by the calendar; None: with each look, or as often as it is read or compared."""
    compares: bool = False
    """Whether changes are found without a cursor, by a comparison of all rows with the copy."""
    evolve: bool = True
    widens: bool = False
    """Whether the copy's columns follow the source to wider types, in place."""
    discards: bool = False
    """Whether new columns of the source are not read."""
    discarded: tuple[str, ...] = ()
    """Columns that are not read for that reason."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Columns whose new names the configuration tells, as a source may not: the name before, and after."""
    pii: tuple[str, ...] = ()
    """Columns whose values are never shown."""
    masks: tuple[MaskedColumn, ...] = ()
    """Columns that land masked. `columns` has them as they land; see `as_read` and `without_masked`."""
    mask_key: MaskKey | None = None
    """The key of their tokens; None where there are none, and where nobody has looked it up."""
    deletes: Deletes = IGNORED
    contract: Contract | None = None
    history: History = History.NONE
    capture: str = ""
    """The capture by which changes are found, by its name; empty: as cursor and strategy say."""
    readers: Readers = Readers.VECTORS
    column_names: ColumnNames = ColumnNames.KEEP
    """How the copy's columns are named."""
    source_names: tuple[tuple[str, str], ...] = ()
    """Columns of the copy that the source calls otherwise: the copy's name, and the source's. See `as_copied.py`."""

    @property
    def id(self) -> TableId:
        """The table's name."""
        return self.shape.id

    @property
    def columns(self) -> tuple[Column, ...]:
        """The source's columns, in its order."""
        return self.shape.columns

    @property
    def as_read(self) -> TableSpec:
        """The table as its source has it, for whoever reads its rows."""
        if not self.masks:
            return self
        return replace(self, shape=self.shape.replacing({each.name: each.read for each in self.masks}))

    @property
    def without_masked(self) -> TableSpec:
        """The table as far as its source can be asked for what lands: no database knows what becomes of a masked value."""
        return replace(self, shape=self.shape.without([each.name for each in self.masks])) if self.masks else self

    @property
    def read_columns(self) -> tuple[Column, ...]:
        """The columns whose values decide whether a row can land, as the source has them: those that are masked are among them, also where they are left out of a comparison."""
        masked = {each.name: each.read for each in self.masks}
        here = tuple(masked.pop(column.name, column) for column in self.columns)
        return (*here, *masked.values())

    @property
    def landed_types(self) -> tuple[str, ...]:
        """The Spark types of what lands in the place of each column, as the source has it or as it lands."""
        lands = {each.name: each.lands.spark_type for each in self.masks}
        return tuple(lands.get(column.name, column.spark_type) for column in self.columns)

    @property
    def named_key(self) -> tuple[str, ...]:
        """The key as the source and the configuration have it, for people."""
        return self.source_key or self.key

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns of that key."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in self.named_key)

    @property
    def key_parts(self) -> tuple[str, ...]:
        """The columns of which none may be NULL in a key, as far as they are read: those of the source first, which people know."""
        names = dict.fromkeys((*self.named_key, *self.key))
        return tuple(name for name in names if name in self.shape.names)

    @property
    def collation_key(self) -> Column | None:
        """The column that says what the source takes for equal in its key; None where the key itself does."""
        return next((column for column in self.columns if column.of), None)

    @property
    def source_columns(self) -> tuple[Column, ...]:
        """The columns that the source's own table has: without the collation key, which is computed, and what its log tells."""
        return tuple(column for column in self.columns if not (column.of or column.of_log))

    @property
    def uses_vectors(self) -> bool:
        """Whether rows of its copy may be marked as gone in their files; a copy that only grows, or is overwritten, needs that for nothing."""
        return self.readers is Readers.VECTORS and self.traits.one_row_per_key

    @property
    def traits(self) -> Traits:
        """What its strategy makes of the copy."""
        return traits_of(self.strategy)

    @property
    def read_by(self) -> Cursor | None:
        """The cursor in windows of which its rows are read, counted and compared; None where its capture knows no windows."""
        return None if self.traits.overwrites else self.cursor

    @property
    def cursor_columns(self) -> tuple[str, ...]:
        """The columns that the cursor is taken from; none of a table without one."""
        return self.cursor.columns if self.cursor else ()

    @property
    def cursor_type(self) -> CursorType | None:
        """The type of the cursor's values; None of a table without one."""
        return self.cursor.type if self.cursor else None

    @property
    def trusts_key(self) -> bool:
        """Whether rows are identified by a key that only the configuration declares, so that it may repeat."""
        return self.traits.one_row_per_key and not self.key_enforced

    @property
    def fills(self) -> bool:
        """Whether the values of a column that comes later are read for the rows that landed before it: for one row of each key, and not for versions."""
        return self.read_by is not None and self.traits.one_row_per_key and bool(self.key)

    @property
    def repeats(self) -> bool:
        """Whether a value of the cursor may come again in another row: unless the source keeps it unique, by the cursor alone."""
        return self.cursor is not None and (self.cursor.column,) not in (
            self.shape.primary_key,
            *self.shape.unique_keys,
        )

    @property
    def terms(self) -> Terms:
        """What must stay the same for landed rows to stay true."""
        cursor = self.read_by
        return Terms(
            strategy=self.strategy,
            key=self.named_key if self.traits.one_row_per_key else (),
            cursor=f"{cursor.column}:{cursor.type}" if cursor else self.capture,
            fallback=(cursor.fallback or "") if cursor else "",
            collation=self._collation,
            where="" if self.where is None else str(self.where),
            target=self.target,
            masks=", ".join(map(self._masked, self.masks)),
            column_names="" if self.column_names is ColumnNames.KEEP else str(self.column_names),
        )

    def _masked(self, column: MaskedColumn) -> str:
        by = f" by the key {self.mask_key.id}" if column.mask is Mask.HMAC and self.mask_key else ""
        return f"{dict(self.source_names).get(column.name, column.name)}: {column.mask}{by}"

    @property
    def _collation(self) -> str | None:
        key = self.collation_key
        if key is not None:
            return ", ".join(column.collation for column in key.of)
        compared = self.shape.compared(self.named_key)
        return None if any(column.collation for column in compared) and not self.traits.overwrites else ""


def cursor_of(spec: TableSpec) -> Cursor:
    """The cursor of an incremental table."""
    if spec.cursor is None:
        raise ValueError(f"{spec.id} has no cursor")
    return spec.cursor


@dataclass(frozen=True, slots=True)
class Terms:
    """Strategy, key and cursor under which rows landed; `cursor` is `column:type`, the name of another capture, or empty."""

    strategy: Strategy
    key: tuple[str, ...]
    cursor: str
    fallback: str | None = None
    """The column that stands in where the cursor is NULL, or empty; None: not known, as an earlier release did not keep it."""
    collation: str | None = None
    """How the source compared the key, where it took values for equal that a copy holds differently, or empty; None: it counted for nothing, as an earlier release had it."""
    where: str = ""
    """The condition that rows fulfilled, or empty."""
    target: str = ""
    """Where in the lake the copy was put, or empty."""
    masks: str = ""
    """The masks of its columns, with what tells their key from others, or empty."""
    column_names: str = ""
    """How its columns were named, or empty: as in the source. Another way renames them, and takes nothing from what is true of the rows."""

    def same(self, other: Terms) -> bool:
        """Whether rows that landed under the one are true under the other, as far as is known."""
        return (
            (self.strategy, self.key, self.where, self.target, self.masks)
            == (other.strategy, other.key, other.where, other.target, other.masks)
            and self.same_cursor(other)
            and self.same_collation(other)
        )

    def same_collation(self, other: Terms) -> bool:
        """Whether both take the same keys for equal, as far as is known."""
        return None in (self.collation, other.collation) or self.collation == other.collation

    def same_cursor(self, other: Terms) -> bool:
        """Whether both give every row the same cursor, as far as is known."""
        known = None not in (self.fallback, other.fallback)
        return self.cursor == other.cursor and (not known or self.fallback == other.fallback)
