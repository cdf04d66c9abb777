"""Rules between the keys of one table, and for grids. Each mistake is a path below the table and its cure."""

from __future__ import annotations

import difflib
import zoneinfo
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from incremental_assets.core.config import (
    compare_rules,
    delete_rules,
    kind_rules,
    log_rules,
    mask_rules,
    numbering_rules,
    schedule_rules,
    target_rules,
    where_rules,
)
from incremental_assets.core.config.addresses import bucket_of
from incremental_assets.core.config.column_rules import column_mistakes, default_column_mistakes
from incremental_assets.core.config.contract_rules import contract_mistakes
from incremental_assets.core.config.database_document import DatabaseDocument
from incremental_assets.core.config.document import SettingsDocument, SourceDocument
from incremental_assets.core.config.table_document import (
    CursorDocument,
    CursorKind,
    DefaultsDocument,
    FreshnessDocument,
    IntegerPartitions,
    ReconciliationDocument,
    TableDocument,
    TimePartitions,
)
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model import partition
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.duration import format_span
from incremental_assets.core.model.history import History
from incremental_assets.core.model.incident import About
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.number_keys import MOST_KEYS
from incremental_assets.core.model.partition import Every
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.time_zones import time_zone
from incremental_assets.core.strategies import Strategy, traits_of
from incremental_assets.core.words import with_article

Mistake = tuple[Path, str]


@dataclass(frozen=True, slots=True)
class Around:
    """The context of a table: its source's dialect, defaults and grid."""

    dialect: str
    """Empty where it is not known."""
    defaults: DefaultsDocument
    partitions: TimePartitions
    capture: str
    """The capture of all of the source's tables; empty where each of them says how it is read."""
    has_mask_key: bool = False
    """Whether the source names a key for tokens."""
    scheduled: bool = False
    """Whether the source says when its tables are due."""
    column_names: ColumnNames = ColumnNames.KEEP
    """How the source has the columns of copies named."""

    @classmethod
    def of(cls, source: SourceDocument | None, capture: str = "") -> Around:
        """What the source gives its tables; a source that could not be read gives nothing that a table could clash with."""
        grid = source.partitions if isinstance(source, DatabaseDocument) else TimePartitions(every=Every.MONTH)
        if source is None:
            return cls("", DefaultsDocument(), grid, capture)
        has_mask_key = isinstance(source, DatabaseDocument) and source.mask_key is not None
        names = source.column_names if isinstance(source, DatabaseDocument) else ColumnNames.KEEP
        return cls(source.dialect, source.defaults, grid, capture, has_mask_key, source.schedule is not None, names)


def strategy_of(table: TableDocument) -> Strategy:
    """The strategy as written, else `append` with a cursor (as in LakeXpress), `upsert` by a log, and `full_refresh` without either."""
    if table.capture is not None:
        return table.strategy or Strategy.UPSERT
    return table.strategy or (Strategy.FULL_REFRESH if table.cursor is None else Strategy.APPEND)


def cursor_mistakes(table: TableDocument, around: Around, now: datetime) -> Iterator[Mistake]:
    """What does not fit between strategy, cursor and the keys that depend on them."""
    strategy, own = strategy_of(table), "deletes" in table.model_fields_set
    yield from _reader_mistakes(table, around.defaults)
    yield from mask_rules.mistakes(table, around.dialect, has_key=around.has_mask_key)
    if around.capture:
        yield from kind_rules.mistakes(table, around.dialect)
        return
    if table.capture is not None:
        yield from log_rules.mistakes(table, strategy, around.dialect)
        yield from schedule_rules.log_mistakes(table, scheduled=around.scheduled)
        yield from log_rules.name_mistakes(table, around.column_names)
        return
    yield from where_rules.mistakes(table, around.dialect)
    yield from delete_rules.table_mistakes(table.deletes if own else around.defaults.deletes, strategy, own=own)
    yield from _history_mistakes(table, strategy)
    yield from _retention_mistakes(table)
    yield from compare_rules.mistakes(table, strategy)
    if traits_of(strategy).overwrites:
        yield from _full_refresh_mistakes(table)
    elif table.cursor is not None:
        kind = table.cursor.type.values
        if table.cursor.type.by_transaction:
            yield from numbering_rules.mistakes(table, table.cursor, strategy, around.dialect, around.defaults)
        else:
            yield from _column_mistakes(table.cursor)
            yield from _span_mistakes(table, kind, around.defaults)
            yield from _partition_mistakes(table, kind, around, now)
            yield from _start_mistakes(table, kind)
        if table.refresh_every is not None:
            yield ("refresh_every",), f"`refresh_every` is for full_refresh tables, this one is `{strategy}`; remove it"
    elif table.compare is None:
        instead = ", or `compare: {every: 1h}`" if traits_of(strategy).one_row_per_key else ""
        yield (
            ("strategy",),
            f"`{strategy}` needs a cursor; add `cursor: {{column: …, type: …}}`{instead}, or choose full_refresh",
        )


def plain_mistakes(table: TableDocument) -> Iterator[Mistake]:
    """What is wrong in a table whatever its cursor and strategy are."""
    if table.primary_key is not None and len(set(table.primary_key)) < len(table.primary_key):
        yield ("primary_key",), "a column may appear once in the key; remove the repetition"
    yield from freshness_mistakes(table.freshness)
    yield from delete_rules.plain_mistakes(table.deletes)
    yield from repair_mistakes(table.reconciliation)
    yield from contract_mistakes(table)
    yield from column_mistakes(table)
    yield from where_rules.plain_mistakes(table)
    yield from schedule_rules.table_mistakes(table)


def _reader_mistakes(table: TableDocument, defaults: DefaultsDocument) -> Iterator[Mistake]:
    copies, changes = (
        getattr(table if key in table.model_fields_set else defaults, key) for key in ("copies", "schema_changes")
    )
    if copies.readers is Readers.ANY and changes == "widen":
        key = "schema_changes" if "schema_changes" in table.model_fields_set else "copies"
        yield (
            (key,),
            "a type that is widened in place asks readers for Delta's type widening, which `copies: {readers: any}` rules out; write `schema_changes: evolve`, or `copies: {readers: vectors}`",
        )


def _retention_mistakes(table: TableDocument) -> Iterator[Mistake]:
    kept = "retention" in table.model_fields_set and table.retention.history is not None
    if kept and table.history is not History.SCD2:
        yield (
            ("retention", "history"),
            "only versions of `history: scd2` say when they ended; leave it out, or write that",
        )


def _history_mistakes(table: TableDocument, strategy: Strategy) -> Iterator[Mistake]:
    traits = traits_of(strategy)
    if table.history is History.NONE or traits.one_row_per_key:
        return
    why = (
        "keeps every version already; remove it"
        if traits.keeps_versions
        else "has no key by which rows are told apart; choose upsert"
    )
    yield ("history",), f"`history` is kept beside an upsert, and `{strategy}` {why}"


def spark_mistakes(settings: SettingsDocument) -> Iterator[Mistake]:
    """Mistakes in where sessions come from."""
    spark = settings.spark
    if spark.remote is not None and spark.master is not None:
        yield ("spark", "master"), "a session comes from `remote` or from `master`; remove one of them"
    if spark.keep is None:
        return
    if spark.master is not None or spark.remote not in (None, "auto"):
        yield (
            ("spark", "keep"),
            "only a Spark that runs start on this machine is kept; remove `keep`, or where Spark runs",
        )
    elif not is_local(settings.lake):
        yield ("spark", "keep"), "only for a lake on a disk of this machine is Spark kept; remove `keep`"


def spark_is_elsewhere(settings: SettingsDocument) -> bool:
    """Whether rows may be read on other machines."""
    return settings.spark.master is not None or settings.spark.remote not in (None, "auto")


def store_mistakes(settings: SettingsDocument, folders: Iterable[str]) -> Iterator[Mistake]:
    """Mistakes in how buckets are reached. `folders`: those of sources, as they are written."""
    buckets = {bucket_of(address) for address in (settings.lake, *folders)}
    for bucket, store in settings.stores.items():
        if bucket not in buckets:
            yield (
                ("stores", bucket),
                "no address of this file is in this bucket; write the bucket of the lake (s3://bucket/…) or of the `folder` of a source, or remove it",
            )
        if (store.access_key_id is None) != (store.secret_access_key is None):
            yield ("stores", bucket), "write both `access_key_id` and `secret_access_key`, or neither"
        if store.session_token is not None and store.access_key_id is None:
            yield (
                ("stores", bucket),
                "a session token belongs to a key; write `access_key_id` and `secret_access_key`, too",
            )


def channel_mistakes(settings: SettingsDocument) -> Iterator[Mistake]:
    """Mistakes in who is notified."""
    for name, channel in settings.notify.items():
        if About.STALLED in channel.about and channel.stalled is None:
            yield (
                ("notify", name, "about"),
                "write `stalled: 6h` beside it: for how long nothing may land, or remove `stalled`",
            )


def source_mistakes(source: SourceDocument) -> Iterator[Mistake]:
    """Mistakes of a source outside its tables, whatever its kind."""
    for path, cure in (
        *freshness_mistakes(source.defaults.freshness),
        *delete_rules.plain_mistakes(source.defaults.deletes),
        *repair_mistakes(source.defaults.reconciliation),
        *default_column_mistakes(source.defaults.columns),
    ):
        yield ("defaults", *path), cure
    yield from schedule_rules.source_mistakes(source)
    yield from target_rules.source_mistakes(source)


def freshness_mistakes(freshness: FreshnessDocument) -> Iterator[Mistake]:
    """A limit that could hold; and a warning comes before a failure."""
    cure = "no row lands in no time, so that this limit would never hold; write a longer duration, or remove the key to have none"
    nothing = [(("freshness", key), cure) for key in ("warn", "fail") if getattr(freshness, key) == timedelta(0)]
    yield from nothing
    if nothing:
        return
    if freshness.warn is not None and freshness.fail is not None and freshness.fail < freshness.warn:
        yield ("freshness",), "`warn` comes before `fail`; write the shorter duration at `warn`"


def repair_mistakes(reconciliation: ReconciliationDocument) -> Iterator[Mistake]:
    """A limit of repairs goes with repairs."""
    if "max_rows" in reconciliation.model_fields_set and reconciliation.repair != "auto":
        yield (
            ("reconciliation", "max_rows"),
            f"`max_rows` belongs to `repair: auto`, and this is `repair: {reconciliation.repair}`; remove one of the two",
        )


def grid_mistakes(partitions: TimePartitions, now: datetime) -> Iterator[Mistake]:
    """A grid has a first partition, and not so many that Dagster drowns in them."""
    keys = partition.count(partitions.grid, now)
    if keys < 1:
        yield ("partitions", "from"), "the grid begins in the future; write a day up to today"
    elif keys > MOST_KEYS:
        earliest = _earliest(partitions.every, now)
        cure = f"begin with `from: {earliest}` or later, or take longer partitions with `every`"
        yield ("partitions",), f"{keys:,} partitions are more than {MOST_KEYS:,}; {cure}"


def _full_refresh_mistakes(table: TableDocument) -> Iterator[Mistake]:
    if table.cursor is not None:
        yield (
            ("cursor",),
            "`full_refresh` reads the whole table and follows no cursor; remove it, or choose append or upsert",
        )
    yield from compare_rules.without_cursor(table, "read")


def _column_mistakes(cursor: CursorDocument) -> Iterator[Mistake]:
    if cursor.column is None:
        yield ("cursor",), "the key `column` is missing; add it"
        return
    if cursor.fallback == cursor.column:
        yield ("cursor", "fallback"), "the fallback is another column than the cursor; name it, or remove the key"
    if cursor.stamped is not None and cursor.type is CursorKind.INTEGER:
        yield ("cursor", "stamped"), "a cursor of type integer has no stamps; remove `stamped`"
    if cursor.zone is None:
        return
    if cursor.type is CursorKind.INTEGER:
        yield ("cursor", "zone"), "a cursor of type integer has no time; remove `zone`"
    elif cursor.type is CursorKind.TIMESTAMP and cursor.fallback is None:
        # A fallback may be a column without a zone, and is then read in this one.
        yield (
            ("cursor", "zone"),
            "a cursor of type timestamp carries its zone; `zone` is for date and datetime, remove it",
        )
    elif time_zone(cursor.zone) is None:
        near = difflib.get_close_matches(cursor.zone, zoneinfo.available_timezones(), n=1)
        hint = f"did you mean `{near[0]}`?" if near else "write one like Europe/Paris or UTC"
        yield ("cursor", "zone"), f"there is no such zone; {hint}"


def _span_mistakes(table: TableDocument, kind: CursorType, defaults: DefaultsDocument) -> Iterator[Mistake]:
    for key in ("lookback", "holdback"):
        own = key in table.model_fields_set
        span = getattr(table if own else defaults, key)
        if span and isinstance(span, timedelta) is not kind.is_time:
            fits = "a duration with its unit, like 15m" if kind.is_time else "a whole number, like 1000"
            named = (
                f"`{key}`" if own else f"the source's default `{key}: {format_span(span)}` does not fit here; `{key}`"
            )
            cure = f"{named} of a cursor of type {kind} is {fits}"
            yield (key,), cure if own else f"{cure}: write one at this table"


def _partition_mistakes(table: TableDocument, kind: CursorType, around: Around, now: datetime) -> Iterator[Mistake]:
    own = table.partitions
    if isinstance(own, IntegerPartitions):
        if kind.is_time:
            yield (
                ("partitions",),
                f"`size` is for integer cursors; {with_article(kind)} cursor takes `{{every: hour | day | week | month, from: …}}`",
            )
        return
    if not kind.is_time:
        if own is not None:
            yield ("partitions",), "`every` is for time cursors; an integer cursor takes `{size: 1000000}`"
        return
    if (own or around.partitions).every is Every.HOUR and kind is CursorType.DATE:
        yield (
            ("partitions",),
            "a date cursor has no hours; write `partitions: {every: day, from: …}` (or week, month) at this table",
        )
    elif own is not None:
        yield from grid_mistakes(own, now)


def _start_mistakes(table: TableDocument, kind: CursorType) -> Iterator[Mistake]:
    if table.start is None:
        return
    try:
        value = CursorValue.parse(kind, table.start)
    except ValueError as error:
        yield ("start",), str(error)
        return
    if not value.is_finite:
        yield ("start",), "write a finite value, or remove the key to begin with the first row"


def _earliest(every: Every, now: datetime) -> str:
    days = {Every.HOUR: 1 / 24, Every.DAY: 1, Every.WEEK: 7, Every.MONTH: 31}
    back = now.astimezone(UTC) - timedelta(days[every]) * (MOST_KEYS - 48)
    return back.date().isoformat()
