"""What must hold between `capture: log` and the other keys of a table, and its source. Each mistake is a path below the table, and its cure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from incremental_assets.core.config.database_document import DatabaseDocument, LogDocument
from incremental_assets.core.config.dialects import facts_of, logged
from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.history import History
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.strategies import Strategy

Mistake = tuple[Path, str]

_OTHER_WAY = "`capture: log` finds every change, and `{0}` does so in another way; remove one of the two"
_OF_CURSORS = "`{0}` is for tables with a cursor, this one is read from the log; remove it"
_BESIDE = "by the log a contract is kept of a copy with one row per key and without a history so far, and this one has {0}; remove one of the two, or write a cursor in place of `capture`"
_CURES = {
    **dict.fromkeys(("cursor", "compare"), _OTHER_WAY),
    **dict.fromkeys(("lookback", "holdback", "future", "start", "partitions"), _OF_CURSORS),
    "refresh_every": "this table is read from the log with each sync; remove `{0}`",
    "deletes": "the log tells each row that is gone, which leaves the copy; remove `{0}`",
    "schema_changes": "by the log a table whose columns change is loaded again, by a person; remove `{0}`",
    "where": "the log has the changes of every row, whichever rows are meant; remove `{0}`, or write a cursor in place of `capture`",
    "rename": "by the log a table whose columns change is loaded again, by a person; remove `{0}`",
}


def slot_of(log: LogDocument, source: str) -> str:
    """The replication slot, by the source's name where none is written."""
    return log.slot or f"incremental_assets_{source.lower()}"


def slot_mistakes(sources: Mapping[str, DatabaseDocument]) -> Iterator[Mistake]:
    """Of the sources that are read from a log: what one takes from a slot, another one does not find there."""
    held: dict[tuple[str, str, str], str] = {}
    for name, source in sources.items():
        if not facts_of(source.dialect).keeps_log:
            continue
        slot = slot_of(source.log, name)
        if (other := held.setdefault((str(source.host), str(source.port), slot), name)) != name:
            yield (
                (name,),
                f"the replication slot {slot} is that of {other} already, and each would take changes from the other; write another one: `log: {{slot: …}}`",
            )


def connection_mistakes(source: SourceDocument) -> Iterator[Mistake]:
    """Of a source that is read from a log: a load asks two sessions at once."""
    if source.parallel.connections < 2:
        yield (
            ("parallel", "connections"),
            "a load beside the log has its snapshot and the log open at once; write `parallel: {connections: 2}` or more",
        )


def place_mistakes(source: SourceDocument, lake: str) -> Iterator[Mistake]:
    """Of a source that is read from a log: what was read is kept on a disk, under a lock of this machine."""
    folder = source.log.folder if isinstance(source, DatabaseDocument) else None
    if folder is None and not is_local(lake):
        yield (
            ("log", "folder"),
            "the lake is in a store, and what was read of the log is kept on a disk until all tables have landed it; write `log: {folder: /a/path/that/stays}`",
        )
    if folder is not None and not is_local(folder):
        yield ("log", "folder"), "write the path of a folder on a disk of this machine that stays from run to run"


def name_mistakes(table: TableDocument, around: ColumnNames) -> Iterator[Mistake]:
    """The log tells of the columns by the source's names."""
    if (table.column_names or around) is not ColumnNames.KEEP:
        at, cure = (
            ("capture", "write `column_names: keep` here")
            if table.column_names is None
            else ("column_names", "remove it")
        )
        yield (
            (at,),
            f"by the log a copy's columns have the names of the source; {cure}, or write a cursor in place of `capture`",
        )


def mistakes(table: TableDocument, strategy: Strategy, dialect: str) -> Iterator[Mistake]:
    """The mistakes of a table that is read from the log; if its database has none that is read, that alone."""
    if dialect and not facts_of(dialect).has_log:
        yield (
            ("capture",),
            f"the log is read of {', '.join(logged())}, and this source is {dialect}; remove `capture`, and write a cursor or `compare: {{every: 1h}}`",
        )
        return
    if strategy not in (Strategy.UPSERT, Strategy.APPEND):
        yield (
            ("strategy",),
            f"by the log a copy has one row per key or one per change, and this is `{strategy}`; write upsert or append, or remove `capture`",
        )
    for key, cure in _CURES.items():
        if key in table.model_fields_set:
            yield (key,), cure.format(key)
    other = f"`strategy: {strategy}`" if strategy is Strategy.APPEND else f"`history: {table.history}`"
    if table.contract is not None and (strategy is Strategy.APPEND or table.history is not History.NONE):
        yield ("contract",), _BESIDE.format(other)
