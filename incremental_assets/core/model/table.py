"""A table as it is to be synced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from incremental_assets.core.model.column import Column, MaskedColumn
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.cursor import CursorType, CursorValue, Span
from incremental_assets.core.model.deletes import IGNORED, Deletes
from incremental_assets.core.model.history import History
from incremental_assets.core.model.mask import Mask, MaskKey
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.registration import Registration
from incremental_assets.core.model.row_condition import RowCondition, columns_of
from incremental_assets.core.model.schedule import Schedule
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.terms import Terms
from incremental_assets.core.strategies import Strategy, Traits, traits_of


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
    where_columns: tuple[Column, ...] = ()
    """The columns that it names, as the source has them: whoever reads fewer columns of the table, or masks one, asks for the same rows. Taken from the shape with which the condition comes."""
    refresh_every: timedelta = timedelta(days=1)
    """How often a table without a cursor is read whole, or compared."""
    target: str = ""
    """Where its copy lies in the lake, as the configuration says; empty: as usual."""
    register: tuple[Registration, ...] = ()
    """How it is named in data catalogues to which its copy is made known."""
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
    """Columns whose values are never shown, as the configuration names them."""
    once_pii: tuple[str, ...] = ()
    """Columns that had such a name when something landed last, and have another one now."""
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

    def __post_init__(self) -> None:
        named = {column.name: column for column in (*self.shape.columns, *self.where_columns)}
        object.__setattr__(
            self, "where_columns", tuple(named[name] for name in columns_of(self.where) if name in named)
        )

    @property
    def id(self) -> TableId:
        """The table's name."""
        return self.shape.id

    @property
    def columns(self) -> tuple[Column, ...]:
        """The source's columns, in its order."""
        return self.shape.columns

    @property
    def personal(self) -> tuple[str, ...]:
        """Columns whose values are never shown."""
        return (*self.pii, *self.once_pii)

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
