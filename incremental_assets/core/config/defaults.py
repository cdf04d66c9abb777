"""Builds the configuration from the checked documents: defaults are merged, paths made absolute, every value gets its final type."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from incremental_assets.core.config import document as written
from incremental_assets.core.config import log_rules, table_document
from incremental_assets.core.config.addresses import absolute, resolved_checkpoints, resolved_lake
from incremental_assets.core.config.contracts import contract_of
from incremental_assets.core.config.dialects import facts_of
from incremental_assets.core.config.rules import strategy_of
from incremental_assets.core.config.scalars import EnvReference, FileReference
from incremental_assets.core.config.settings import (
    BackfillTerms,
    Configuration,
    ConnectionOptions,
    Defaults,
    Freshness,
    LogTerms,
    Parallel,
    Reference,
    SourceConfig,
    SparkConfig,
    TableConfig,
    Tls,
    is_loopback,
)
from incremental_assets.core.config.table_document import CursorKind
from incremental_assets.core.config.validate import Checked, CheckedSource, CheckedTable
from incremental_assets.core.model.column_choice import ColumnChoice
from incremental_assets.core.model.cursor import CursorType, CursorValue, Span
from incremental_assets.core.model.deletes import IGNORED, DeleteMode, Deletes, Then
from incremental_assets.core.model.identifiers import parse_table
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import Grid, TimeGrid
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.strategies import traits_of

_INTEGER_GRID = IntegerGrid(1_000_000)  # for integer cursors that name no size, as in the shorthand
_TRANSACTION_GRID = IntegerGrid(100_000_000)  # every transaction of the server has a number, whatever it writes


def configuration(checked: Checked, path: Path) -> Configuration:
    """The file as a value; its paths are relative to its own folder."""
    settings = checked.settings
    return Configuration(
        path=path,
        lake=resolved_lake(settings.lake, path.parent),
        checkpoints=resolved_checkpoints(settings.checkpoints, path.parent),
        sources=tuple(_source(source, path) for source in checked.sources),
        spark=SparkConfig(settings.spark.remote or "auto", settings.spark.master, settings.spark.keep),
    )


def _source(checked: CheckedSource, file: Path) -> SourceConfig:
    document, defaults, folder = checked.document, checked.document.defaults, file.parent
    is_file = facts_of(document.dialect).is_file
    host = "" if document.host is None else _located(document.host, folder)
    return SourceConfig(
        name=checked.name,
        dialect=document.dialect,
        host=host,
        port=_located(document.port, folder)
        if "port" in document.model_fields_set
        else facts_of(document.dialect).port,
        database=_file(document.database, folder) if is_file else _located(document.database, folder),
        user="" if document.user is None else _located(document.user, folder),
        password=None if document.password is None else _located(document.password, folder),
        tls=document.tls
        or (Tls.DISABLE if is_file or (isinstance(host, str) and is_loopback(host)) else Tls.VERIFY_FULL),
        options=ConnectionOptions(**dict(document.options)),
        fetch_size=document.fetch_size,
        schemas=document.searched,
        unlisted=document.unlisted,
        exclude=document.exclude,
        parallel=Parallel(**dict(document.parallel)),
        every=document.every,
        refresh_every=document.refresh_every,
        check_at=document.check_at,
        backfill=BackfillTerms(**dict(document.backfill)),
        partitions=_time_grid(document.partitions),
        log=_log(document.log, checked.name),
        defaults=Defaults(
            schema_changes=defaults.schema_changes,
            owners=defaults.owners,
            tags=dict(defaults.tags),
            reconciliation=defaults.reconciliation.severity,
            mended_at_most=defaults.reconciliation.mended_at_most,
            compact=defaults.maintenance.compact,
            columns=ColumnChoice(excluded_by_default=defaults.columns.exclude),
        ),
        tables=tuple(_table(table, document, file) for table in checked.tables),
        line=checked.line,
        lines=checked.lines,
    )


def _log(document: written.LogDocument, source: str) -> LogTerms:
    slot = log_rules.slot_of(document, source)
    return LogTerms(slot, document.publication or slot, document.max_slot_lag or LogTerms().max_slot_lag)


def _table(table: CheckedTable, around: written.SourceDocument, file: Path) -> TableConfig:
    document = table.document
    schema, name = parse_table(document.table)
    strategy, cursor, defaults = strategy_of(document), document.cursor, around.defaults
    written_here = document.model_fields_set

    def chosen(key: str) -> Any:
        return getattr(document if key in written_here else defaults, key)

    return TableConfig(
        schema=schema,
        name=name,
        strategy=strategy,
        cursor=None if cursor is None else _cursor(cursor),
        primary_key=document.primary_key,
        lookback=_span(chosen("lookback"), cursor),
        holdback=0 if _by_transaction(cursor) else _span(chosen("holdback"), cursor),
        future=chosen("future"),
        partitions=None if cursor is None else _grid(document.partitions, cursor.type, around.partitions),
        start=None
        if cursor is None or document.start is None
        else CursorValue.parse(cursor.type.values, document.start),
        schema_changes=chosen("schema_changes"),
        freshness=_freshness(document, around),
        refresh_every=_read_every(document, around),
        compares=document.compare is not None,
        capture=document.capture or "",
        owners=chosen("owners"),
        tags={**defaults.tags, **document.tags},
        renamed=tuple(document.rename.items()),
        pii=document.pii,
        reconciliation=chosen("reconciliation").severity,
        mended_at_most=chosen("reconciliation").mended_at_most,
        compact=chosen("maintenance").compact,
        history=document.history,
        columns=ColumnChoice(document.columns.exclude, document.columns.include, defaults.columns.exclude),
        deletes=_deletes_of(document, chosen("deletes")),
        contract=contract_of(document, file, table.contract_line),
        file=str(file),
        line=table.line,
    )


def _by_transaction(cursor: table_document.CursorDocument | None) -> bool:
    """Whether the source says what has settled, whatever `holdback` the other tables have."""
    return cursor is not None and cursor.type.by_transaction


def _cursor(document: table_document.CursorDocument) -> Cursor:
    """The cursor of a document. The column of one by transactions is empty until the catalogue names it."""
    return Cursor(
        column=document.column or "",
        type=document.type.values,
        nulls=document.nulls,
        fallback=document.fallback,
        zone=document.zone,
        within=document.stamped.within if document.stamped else None,
        by_transaction=_by_transaction(document),
    )


def _read_every(document: table_document.TableDocument, around: written.SourceDocument) -> timedelta:
    if document.compare is not None:
        return document.compare.every
    return around.refresh_every if document.refresh_every is None else document.refresh_every


def _deletes_of(document: table_document.TableDocument, chosen: table_document.DeletesDocument) -> Deletes:
    """A comparison sees by itself what is gone: of the rest it takes the limit, and what becomes of such rows."""
    if traits_of(strategy_of(document)).overwrites or document.capture is not None:
        return IGNORED
    if document.compare is None:
        return _deletes(chosen)
    terms = chosen if chosen.mode is DeleteMode.DIFF else table_document.DeletesDocument()
    return replace(_deletes(terms), mode=DeleteMode.DIFF, every=timedelta(0))


def _deletes(document: table_document.DeletesDocument) -> Deletes:
    """How deletes are followed; keys that are not written take the default of their mode."""
    then = document.then or (Then.KEEP if document.mode is DeleteMode.SOFT else Then.REMOVE)
    given = {"every": document.every, "max_fraction": document.max_fraction, "column": document.column}
    return Deletes(
        mode=document.mode,
        then=then,
        value=document.is_,
        **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
    )


def _located(value: Any, folder: Path) -> Any:
    if isinstance(value, EnvReference):
        return Reference("env", value.env)
    if isinstance(value, FileReference):
        return Reference("file", str(absolute(value.file, folder)))
    return value


def _file(value: Any, folder: Path) -> Any:
    return str(absolute(value, folder)) if isinstance(value, str) else _located(value, folder)


def _span(span: Span, cursor: table_document.CursorDocument | None) -> Span:
    # A default of nothing fits every cursor, in the unit that the cursor has.
    if cursor is None or cursor.type.values is CursorType.INTEGER:
        return span or 0
    return span or timedelta()


def _grid(
    own: table_document.TimePartitions | table_document.IntegerPartitions | None,
    kind: CursorKind,
    default: table_document.TimePartitions,
) -> Grid:
    if isinstance(own, table_document.IntegerPartitions):
        return IntegerGrid(own.size)
    if kind.values.is_time:
        return _time_grid(own or default)
    return _TRANSACTION_GRID if kind.by_transaction else _INTEGER_GRID


def _time_grid(partitions: table_document.TimePartitions) -> TimeGrid:
    return TimeGrid.containing(partitions.every, partitions.from_)


def _freshness(document: table_document.TableDocument, around: written.SourceDocument) -> Freshness:
    # The source's freshness is for tables with a cursor: one that is read once a day by choice is not stale after an hour.
    inherits = "freshness" not in document.model_fields_set and not traits_of(strategy_of(document)).overwrites
    return Freshness(**dict(around.defaults.freshness if inherits else document.freshness))
