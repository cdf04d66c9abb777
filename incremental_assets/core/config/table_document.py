"""A table in sources.yaml as written: one model per mapping, before defaults are merged."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from incremental_assets.core.config.contract_document import ContractDocument
from incremental_assets.core.config.register_document import Register
from incremental_assets.core.config.scalars import (
    Column,
    Day,
    Duration,
    Fraction,
    Kept,
    MarkText,
    MatchText,
    Owner,
    PositiveDuration,
    ScheduleText,
    Share,
    ShareWithin,
    ShorthandText,
    SpanText,
    StartText,
    Strict,
    TableName,
    TagKey,
    TargetText,
    Text,
)
from incremental_assets.core.config.settings import Compact
from incremental_assets.core.config.shorthand import Shorthand
from incremental_assets.core.model.contract import OnBreach
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.deletes import DeleteMode, Then
from incremental_assets.core.model.history import History
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.mask import Mask
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.partition import WEEK_BEGINS_ON, Every, TimeGrid
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.table import FuturePolicy, NullPolicy
from incremental_assets.core.model.verdict import Severity
from incremental_assets.core.strategies import Strategy

LARGEST = 10**18
"""The largest whole number: more than any table has, and less than a column of 64 bits holds."""


class CursorKind(StrEnum):
    """What a cursor is written as: the type of its column, or what the source itself keeps of each row."""

    DATE = "date"
    DATETIME = "datetime"
    TIMESTAMP = "timestamp"
    INTEGER = "integer"
    XMIN = "xmin"
    ROWVERSION = "rowversion"
    ORA_ROWSCN = "ora_rowscn"

    @property
    def by_transaction(self) -> bool:
        """Whether the source itself keeps it, by the transaction that wrote a row."""
        return self in (CursorKind.XMIN, CursorKind.ROWVERSION, CursorKind.ORA_ROWSCN)

    @property
    def values(self) -> CursorType:
        """The type of its values."""
        return CursorType.INTEGER if self.by_transaction else CursorType(self.value)


class StampedDocument(Strict):
    """Who stamps the rows, where neither a default nor a trigger of the source does."""

    by: Annotated[
        Literal["application"], Field(description="By the clock of whoever writes, before the transaction begins.")
    ]
    within: Annotated[
        PositiveDuration,
        Field(
            description="How long before its transaction begins, by the source's clock, a row is stamped at most: the "
            "difference of both clocks, and the time from the stamp to BEGIN.",
            examples=["30s"],
        ),
    ]


class CursorDocument(Strict):
    """The column whose values grow with every change."""

    column: Annotated[
        Column | None,
        Field(description="Of every type but xmin, rowversion and ora_rowscn, which the source has by itself."),
    ] = None
    type: Annotated[
        CursorKind,
        Field(
            description="The column's type; or by the transaction that wrote a row: xmin (PostgreSQL), rowversion (SQL Server), ora_rowscn (Oracle)."
        ),
    ]
    nulls: Annotated[
        NullPolicy, Field(description="Rows without a cursor: stop, read them on every sync, or leave them out.")
    ] = NullPolicy.FAIL
    fallback: Annotated[Column | None, Field(description="The column that is used where the cursor is NULL.")] = None
    zone: Annotated[
        Text | None,
        Field(
            description="The zone that stamps a date or datetime; the database's own when absent.",
            examples=["Europe/Paris"],
        ),
    ] = None
    stamped: Annotated[
        StampedDocument | None,
        Field(description="Who stamps the rows, and how late at most, where the source does not show that it does."),
    ] = None


class TimePartitions(Strict):
    """Partitions of a time cursor, in UTC."""

    every: Annotated[Every, Field(description=f"The length of one. A week begins on {WEEK_BEGINS_ON}.")]
    from_: Annotated[Day, Field(alias="from", description="A day of the first partition.")] = date(2000, 1, 1)

    @property
    def grid(self) -> TimeGrid:
        """The same as a value."""
        return TimeGrid.containing(self.every, self.from_)


class IntegerPartitions(Strict):
    """Partitions of an integer cursor."""

    size: Annotated[int, Field(ge=1, le=LARGEST, description="Values in one partition.", examples=[1_000_000])]


Partitions = Annotated[
    Annotated[TimePartitions, Tag("time grid")] | Annotated[IntegerPartitions, Tag("integer grid")],
    Discriminator(
        lambda value: (
            "integer grid"
            if isinstance(value, IntegerPartitions) or (isinstance(value, dict) and "size" in value)
            else "time grid"
        )
    ),
]


class FreshnessDocument(Strict):
    """The age of the oldest row that has not landed, at which to warn and to fail."""

    warn: Duration | None = None
    fail: Duration | None = None


class ReconciliationDocument(Strict):
    """What it is when source and lake differ, and whether the daily check repairs it."""

    severity: Severity = Severity.ERROR
    repair: Annotated[
        Literal["never", "auto"],
        Field(description="Whether the daily check repairs what it finds (auto), or you do, by `repair` (never)."),
    ] = "never"
    max_rows: Annotated[
        int,
        Field(ge=1, le=LARGEST, description="Of auto: more drifted rows than that are left to you; 10000 when absent."),
    ] = 10_000

    @property
    def repaired_at_most(self) -> int:
        """See `TableConfig.repaired_at_most`."""
        return self.max_rows if self.repair == "auto" else 0


class SloDocument(Strict):
    """What those who rely on a copy may expect, by which alerts are raised."""

    freshness: Annotated[
        ShareWithin | None, Field(description="In how many of all minutes the copy is in step as of how long ago.")
    ] = None
    success: Annotated[Share | None, Field(description="How many of the syncs land that land or fail.")] = None


class MaintenanceDocument(Strict):
    """What is done for a copy's files after its syncs."""

    compact: Annotated[
        Compact, Field(description="Put small files together when that pays (auto), or leave it to you (never).")
    ] = Compact.AUTO


class RetentionDocument(Strict):
    """How long a table keeps what nothing needs any more."""

    history: Annotated[Kept, Field(description="Of `history: scd2`: versions, since they ended.")] = None
    quarantine: Annotated[Kept, Field(description="Rows in quarantine that wait for nothing more, since then.")] = None
    files: Annotated[
        Kept,
        Field(
            description="Files of old versions, by which readers go back in time; never shorter than Delta promises its readers, 7d."
        ),
    ] = None


class CopiesDocument(Strict):
    """Which readers a copy is made for."""

    readers: Annotated[
        Readers,
        Field(
            description="Those that know deletion vectors (vectors), or any: files with rows that change are written anew, and no column has a name that needs a mapping."
        ),
    ] = Readers.VECTORS


class CompareDocument(Strict):
    """When the rows of an upsert without a cursor are compared with the copy; those that differ are read."""

    every: Annotated[Duration, Field(description="How often; 0s is with each sync.", examples=["1h"])]


class DeletesDocument(Strict):
    """How it is known that rows are gone from the source, and what becomes of them."""

    mode: Annotated[
        DeleteMode,
        Field(
            description="Leave them, compare keys with the source, or follow a column in which the source marks them."
        ),
    ] = DeleteMode.IGNORE
    every: Annotated[
        Duration | None,
        Field(description="Of diff: how often keys are compared; 0s is with each sync, 1d when absent."),
    ] = None
    max_fraction: Annotated[
        Fraction | None,
        Field(description="Of diff: if more of the copy's rows are gone, a person decides; 0.2 when absent."),
    ] = None
    then: Annotated[
        Then | None,
        Field(description="remove | mark of diff, remove when absent; keep | remove of soft, keep when absent."),
    ] = None
    column: Annotated[Column | None, Field(description="Of soft: the column in which the source marks rows.")] = None
    is_: Annotated[
        MarkText | None, Field(alias="is", description="Of soft: what it holds in a marked row; anything when absent.")
    ] = None


class DefaultColumnsDocument(Strict):
    """Columns that are not read in any table of the source."""

    # Any name: a column whose name the lake keeps for its own is left out so.
    exclude: Annotated[
        tuple[Text, ...],
        Field(description="Columns that are never read; under `defaults`, in each table that has them."),
    ] = ()


class ColumnsDocument(DefaultColumnsDocument):
    """Which columns are read."""

    include: Annotated[
        tuple[Column, ...] | None,
        Field(min_length=1, description="The columns that are read, and no others; without it all but `exclude`."),
    ] = None
    mask: Annotated[
        dict[Column, Mask],
        Field(
            description="Columns whose values land masked: a token by the source's `mask_key`, the last four characters, nothing of it, the first day of its year.",
            examples=[{"email": "hmac", "phone": "last4", "name": "redact", "birthday": "year"}],
        ),
    ] = Field(default_factory=dict)


class DefaultsDocument(Strict):
    """What tables get for the keys that they leave out."""

    lookback: Annotated[SpanText, Field(description="How far below the watermark to read again.")] = 0
    holdback: Annotated[SpanText, Field(description="How far below the source's clock to stay.")] = 0
    future: Annotated[FuturePolicy, Field(description="Rows stamped past the source's clock.")] = FuturePolicy.LAND
    columns: DefaultColumnsDocument = DefaultColumnsDocument()
    schema_changes: Annotated[
        Literal["evolve", "widen", "freeze", "discard"],
        Field(description="What a new column in the source does, and a type that has become wider."),
    ] = "evolve"
    freshness: FreshnessDocument = FreshnessDocument()
    slo: SloDocument = SloDocument()
    owners: tuple[Owner, ...] = ()
    tags: dict[TagKey, str] = Field(default_factory=dict)
    reconciliation: ReconciliationDocument = ReconciliationDocument()
    maintenance: MaintenanceDocument = MaintenanceDocument()
    retention: RetentionDocument = RetentionDocument()
    copies: CopiesDocument = CopiesDocument()
    deletes: DeletesDocument = DeletesDocument()


class TermsDocument(DefaultsDocument):
    """What is said of a table, or of each that a glob stands for."""

    columns: ColumnsDocument = ColumnsDocument()
    cursor: CursorDocument | None = None
    strategy: Annotated[Strategy | None, Field(description="append when there is a cursor, else full_refresh.")] = None
    primary_key: Annotated[
        tuple[Column, ...] | None, Field(min_length=1, description="Found in the source when absent.")
    ] = None
    where: Annotated[
        Text | None,
        Field(
            description="Only rows that fulfil it are copied: comparisons of the row's columns with constants, joined by AND, OR and NOT.",
            examples=["tenant_id = 7"],
        ),
    ] = None
    target: Annotated[
        TargetText | None, Field(description="Where the copy lies below the lake, in place of what its source says.")
    ] = None
    register_: Annotated[
        Register | None,
        Field(
            alias="register",
            description="Data catalogues to which the copy is made known, in place of what its source says.",
        ),
    ] = None
    column_names: Annotated[
        ColumnNames | None, Field(description="How the copy's columns are named, in place of what its source says.")
    ] = None
    partitions: Partitions | None = None
    start: Annotated[StartText | None, Field(description="Rows below it are not read.")] = None
    refresh_every: Annotated[Duration | None, Field(description="How often a full_refresh table is read again.")] = None
    schedule: Annotated[
        ScheduleText | None,
        Field(
            description="When the table is due, by cron: minute, hour, day, month, weekday, and a zone unless in UTC."
        ),
    ] = None
    compare: Annotated[
        CompareDocument | None,
        Field(description="Of an upsert without a cursor: hash its rows on both sides, and read those that differ."),
    ] = None
    capture: Annotated[
        Literal["log"] | None,
        Field(
            description="How changes are found, where neither a cursor nor `compare` does: from the source's log (PostgreSQL, upsert)."
        ),
    ] = None
    pii: Annotated[tuple[Column, ...], Field(description="Columns whose values never appear in samples.")] = ()
    rename: Annotated[
        dict[Column, Column],
        Field(description="Columns that the source has renamed, old to new, where it cannot tell so itself."),
    ] = Field(default_factory=dict)
    history: Annotated[
        History, Field(description="Of an upsert: keep each version of each row in a table beside the copy.")
    ] = History.NONE
    contract: Annotated[
        ContractDocument | None,
        Field(description="What a row must hold to land: a pandera model as `module:Class`, or rules per column."),
    ] = None
    on_breach: Annotated[
        OnBreach, Field(description="Rows that break the contract: kept apart, or nothing lands, or they land too.")
    ] = OnBreach.QUARANTINE
    max_fraction: Annotated[
        Fraction | None,
        Field(description="If more of the rows that a sync reads break the contract, a person decides."),
    ] = None


class TableDocument(TermsDocument):
    """One table in full."""

    table: Annotated[TableName, Field(description="schema.table, quoted as in SQL where needed.")]


class MatchDocument(TermsDocument):
    """Each table that a glob stands for."""

    match: Annotated[
        MatchText,
        Field(description="A glob over schema.table: every such table that is not listed is copied on these terms."),
    ]

    @property
    def as_table(self) -> TableDocument:
        """The terms as those of one table, whose name is the glob."""
        fields = type(self).model_fields
        written = {fields[name].alias or name: getattr(self, name) for name in self.model_fields_set - {"match"}}
        return TableDocument(table=render_table(self.match.schema, self.match.name), **written)


TableEntry = Annotated[
    Annotated[ShorthandText, Tag("one line")]
    | Annotated[TableDocument, Tag("in full")]
    | Annotated[MatchDocument, Tag("of a glob")],
    Discriminator(
        lambda value: (
            "one line"
            if isinstance(value, str | Shorthand)
            else "of a glob"
            if isinstance(value, MatchDocument) or (isinstance(value, dict) and "match" in value)
            else "in full"
        )
    ),
]
