"""Builds the configuration from the checked documents: defaults are merged, paths made absolute, every value gets its final type."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from incremental_assets.core.config import table_document
from incremental_assets.core.config.addresses import resolved_checkpoints, resolved_place
from incremental_assets.core.config.contracts import contract_of
from incremental_assets.core.config.references import located
from incremental_assets.core.config.register_document import registrations_of
from incremental_assets.core.config.rules import strategy_of
from incremental_assets.core.config.settings import (
    ChannelConfig,
    Configuration,
    Defaults,
    ErasureConfig,
    Freshness,
    MatchConfig,
    Parallel,
    SourceConfig,
    SparkConfig,
    StoreConfig,
    TableConfig,
    TranslationConfig,
)
from incremental_assets.core.config.source_kinds import kind_named
from incremental_assets.core.config.table_document import CursorKind
from incremental_assets.core.config.translation_document import TranslationDocument
from incremental_assets.core.config.validate import Checked, CheckedSource, CheckedTable
from incremental_assets.core.config.where import parse_where
from incremental_assets.core.model.column_choice import ColumnChoice
from incremental_assets.core.model.cursor import CursorType, CursorValue, Span
from incremental_assets.core.model.deletes import IGNORED, DeleteMode, Deletes, Then
from incremental_assets.core.model.identifiers import parse_table
from incremental_assets.core.model.layout import LaidOut
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.objective import Objectives
from incremental_assets.core.model.partition import Grid, TimeGrid
from incremental_assets.core.model.retention import Retention
from incremental_assets.core.model.schedule import Schedule
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.strategies import traits_of

_INTEGER_GRID = IntegerGrid(1_000_000)  # for integer cursors that name no size, as in the shorthand
_TRANSACTION_GRID = IntegerGrid(100_000_000)  # every transaction of the server has a number, whatever it writes


def configuration(checked: Checked, path: Path) -> Configuration:
    """The file as a value; its paths are relative to its own folder."""
    settings = checked.settings
    return Configuration(
        path=path,
        lake=LaidOut(resolved_place(settings.lake, path.parent), checked.layout),
        checkpoints=resolved_checkpoints(settings.checkpoints, path.parent),
        sources=tuple(_source(source, path) for source in checked.sources),
        spark=SparkConfig(settings.spark.remote or "auto", settings.spark.master, settings.spark.keep),
        stores=tuple(_store(checked, bucket, path) for bucket in checked.settings.stores),
        observers=settings.observers,
        ledger=settings.retention.ledger,
        logs=settings.retention.logs,
        notify=tuple(
            ChannelConfig(
                name,
                located(channel.url, path.parent),
                frozenset(channel.about),
                channel.stalled,
                checked.channel_lines.get(name, 0),
            )
            for name, channel in settings.notify.items()
        ),
        erasure=ErasureConfig(
            None if settings.erasure_key is None else located(settings.erasure_key, path.parent), checked.erasure_line
        ),
        translation=_translation(settings.translation, checked.translation_line),
    )


def _translation(written: TranslationDocument | str | None, line: int) -> TranslationConfig | None:
    if written is None:
        return None
    return TranslationConfig(written if isinstance(written, str) else written.model_dump(exclude_unset=True), line)


def _store(checked: Checked, bucket: str, file: Path) -> StoreConfig:
    found = checked.settings.stores[bucket]
    return StoreConfig(
        bucket,
        located(found.endpoint, file.parent),
        found.region,
        located(found.access_key_id, file.parent),
        located(found.secret_access_key, file.parent),
        located(found.session_token, file.parent),
        checked.store_lines.get(bucket, 0),
    )


def _source(checked: CheckedSource, file: Path) -> SourceConfig:
    document, defaults, kind = checked.document, checked.document.defaults, kind_named(checked.document.dialect)
    common = SourceConfig(
        name=checked.name,
        dialect=document.dialect,
        parallel=Parallel(**dict(document.parallel)),
        every=document.every,
        schedule=document.schedule,
        quiet=document.quiet,
        target=document.target,
        register=registrations_of(document.register_),
        check_at=document.check_at,
        defaults=Defaults(
            schema_changes=defaults.schema_changes,
            slo=Objectives(**dict(defaults.slo)),
            owners=defaults.owners,
            tags=dict(defaults.tags),
            reconciliation=defaults.reconciliation.severity,
            repaired_at_most=defaults.reconciliation.repaired_at_most,
            compact=defaults.maintenance.compact,
            retention=Retention(**dict(defaults.retention)),
            readers=defaults.copies.readers,
            columns=ColumnChoice(excluded_by_default=defaults.columns.exclude),
        ),
        line=checked.line,
        lines=checked.lines,
    )
    source = kind.configured(document, common, file.parent)
    return replace(
        source,
        tables=tuple(_table(table, defaults, source, file) for table in checked.tables),
        matches=tuple(MatchConfig(match, _table(terms, defaults, source, file)) for match, terms in checked.matches),
    )


def _table(
    table: CheckedTable, defaults: table_document.DefaultsDocument, source: SourceConfig, file: Path
) -> TableConfig:
    document = table.document
    schema, name = parse_table(document.table)
    strategy, cursor = strategy_of(document), document.cursor
    written_here, schedule = document.model_fields_set, _schedule(document, source)

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
        partitions=None if cursor is None else _grid(document.partitions, cursor.type, source.partitions),
        start=None
        if cursor is None or document.start is None
        else CursorValue.parse(cursor.type.values, document.start),
        target=document.target or source.target,
        register=source.register if document.register_ is None else registrations_of(document.register_),
        column_names=document.column_names or source.column_names,
        where=None if document.where is None else parse_where(document.where),
        schema_changes=chosen("schema_changes"),
        freshness=_freshness(document, defaults),
        slo=_slo(document, defaults, is_followed=_is_followed(document) and schedule is None),
        refresh_every=timedelta() if schedule else _read_every(document, source.refresh_every),
        schedule=schedule,
        compares=document.compare is not None,
        capture=document.capture or "",
        owners=chosen("owners"),
        tags={**defaults.tags, **document.tags},
        renamed=tuple(document.rename.items()),
        pii=document.pii,
        reconciliation=chosen("reconciliation").severity,
        repaired_at_most=chosen("reconciliation").repaired_at_most,
        compact=chosen("maintenance").compact,
        retention=Retention(**dict(chosen("retention"))),
        readers=chosen("copies").readers,
        history=document.history,
        columns=ColumnChoice(
            document.columns.exclude,
            document.columns.include,
            tuple(document.columns.mask.items()),
            defaults.columns.exclude,
        ),
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


def _read_every(document: table_document.TableDocument, default: timedelta) -> timedelta:
    if document.compare is not None:
        return document.compare.every
    return default if document.refresh_every is None else document.refresh_every


def _schedule(document: table_document.TableDocument, source: SourceConfig) -> Schedule | None:
    """The table's own, else the source's, unless the table says how often it is read or compared."""
    says = document.refresh_every is not None or (document.compare is not None and document.compare.every)
    return document.schedule or (None if says else source.schedule)


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


def _span(span: Span, cursor: table_document.CursorDocument | None) -> Span:
    # A default of nothing fits every cursor, in the unit that the cursor has.
    if cursor is None or cursor.type.values is CursorType.INTEGER:
        return span or 0
    return span or timedelta()


def _grid(
    own: table_document.TimePartitions | table_document.IntegerPartitions | None,
    kind: CursorKind,
    default: TimeGrid,
) -> Grid:
    if isinstance(own, table_document.IntegerPartitions):
        return IntegerGrid(own.size)
    if kind.values.is_time:
        return default if own is None else own.grid
    return _TRANSACTION_GRID if kind.by_transaction else _INTEGER_GRID


def _freshness(document: table_document.TableDocument, defaults: table_document.DefaultsDocument) -> Freshness:
    inherits = "freshness" not in document.model_fields_set and _is_followed(document)
    return Freshness(**dict(defaults.freshness if inherits else document.freshness))


def _slo(
    document: table_document.TableDocument, defaults: table_document.DefaultsDocument, *, is_followed: bool
) -> Objectives:
    if "slo" in document.model_fields_set:
        return Objectives(**dict(document.slo))
    found = Objectives(**dict(defaults.slo))
    return found if is_followed else replace(found, freshness=None)


def _is_followed(document: table_document.TableDocument) -> bool:
    """Whether the source's freshness is meant for it: one that is read once a day by choice is not stale after an hour."""
    return not traits_of(strategy_of(document)).overwrites
