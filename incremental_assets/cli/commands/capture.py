"""`capture`: the logs that tables are read from: where each stands, what it asks of the source, and a table that is read no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import DONE, FAILED, Answer, Cell, Grid, Note, Shown
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import selected
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.captures.log.standing import LogStanding, Reader
from incremental_assets.core.config.settings import LOG, SourceConfig
from incremental_assets.core.errors import IncrementalAssetsError, SelectionError
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.words import age, agreeing, counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_MIB = 20
_COLUMNS = ("table", "copy is at", "behind", "what of it")


@dataclass(frozen=True, slots=True)
class _Table:
    """A table that is read from the log, or was: its place, and what is to be said of it."""

    name: str
    landed: int
    behind: int | None
    """Bytes of the log, of all tables; None where nothing of it was loaded."""
    says: str = ""
    is_left: bool = False
    """Whether no configured table reads it any more."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The log of one source, or why it could not be looked at."""

    name: str
    log: LogStanding | None
    tables: tuple[_Table, ...] = ()
    error: str = ""


def run(config: Path | None, action: str, names: Sequence[str]) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        if action == "status":
            return _status([_seen(runtime, each) for each in runtime.configuration.sources if each.reads_log])
        if not names:
            raise SelectionError(f"name the tables: incremental-assets capture {action} source.schema.table")
        return _add(runtime, names) if action == "add" else _remove(runtime, names)


def _seen(runtime: Runtime, source: SourceConfig) -> _Source:
    try:
        database = runtime.database(source.name)
        log = database.log_standing() if database else None
    except IncrementalAssetsError as error:
        return _Source(source.name, None, error=str(error))
    return _Source(source.name, log, tuple(_tables(runtime, source, log)) if log else ())


def _tables(runtime: Runtime, source: SourceConfig, log: LogStanding) -> Iterator[_Table]:
    left = list(log.readers)
    positions = runtime.checkpoints.positions()
    for terms in source.tables:
        if terms.capture != LOG:
            continue
        table = terms.id(source.name)
        reader = next((each for each in left if each.name == (table.schema, table.name)), None)
        left = [each for each in left if each is not reader]
        known = positions.get(table)
        at = known.state.position if known and known.state else None
        landed = at.lsn if isinstance(at, LogPosition) else None
        behind = None if landed is None else log.bytes_behind(landed)
        yield _Table(str(table), landed or 0, behind, _of_reader(reader, landed))
    for reader in left:
        says = f"no configured table reads it, and what it has not landed is kept; `incremental-assets capture remove {_named(source, reader)}` lets it go"
        yield _Table(_named(source, reader), reader.landed, None, says, is_left=True)


def _of_reader(reader: Reader | None, landed: int | None) -> str:
    if landed is None:
        return "nothing was loaded yet"
    if reader is None:
        return "its changes are not kept: the next sync says why"
    return "" if reader.is_published else "the publication does not have it: the next sync says why"


def _named(source: SourceConfig, reader: Reader) -> str:
    return str(TableId(source.name, *reader.name)) if reader.name else f"{source.name}.{reader.number}"


def _add(runtime: Runtime, names: Sequence[str]) -> Answer:
    """What is missing in the source so that these configured tables can be read from its log."""
    specs = [spec for spec in selected(runtime, names).specs if spec.capture == LOG]
    if not specs:
        raise SelectionError(
            f"of {', '.join(names)} no table is read from a log; write `capture: log` at its entry in {runtime.configuration.path}, and ask again"
        )
    shown: list[Shown] = []
    statements: dict[str, str] = {}
    for source in dict.fromkeys(spec.id.source for spec in specs):
        database = runtime.database(source)
        wanted = [spec for spec in specs if spec.id.source == source]
        statements[source] = database.log_sql(wanted) if database else ""
        shown.append(Note(f"-- {source}\n{statements[source] or '-- nothing is missing'}", wrap=False))
    shown.append(
        Note("The next sync of each loads it, and reads its changes from then on; other tables go on meanwhile", "dim")
    )
    return Answer({"sql": statements}, shown)


def _remove(runtime: Runtime, names: Sequence[str]) -> Answer:
    """Keep nothing more for tables that are configured no longer, and say what is to be done in the source."""
    shown: list[Shown] = []
    document: dict[str, Any] = {"removed": [], "sql": {}}
    for source in runtime.configuration.sources:
        database = runtime.database(source.name) if source.reads_log else None
        log = database.log_standing() if database else None
        for reader in log.readers if log else ():
            name = _named(source, reader)
            if database is None or log is None or not any(_asked(pattern, source, name) for pattern in names):
                continue
            _check_left(runtime, source, reader)
            database.leave_log(reader.number)
            document["removed"].append(name)
            if reader.is_published and reader.name:
                schema, table = reader.name
                sql = f"ALTER PUBLICATION {_quoted(log.publication)} DROP TABLE {_quoted(schema)}.{_quoted(table)};"
                document["sql"].setdefault(source.name, []).append(sql)
            shown.append(Note(f"{name}: nothing is kept for it any more; its copy stays as it is", "good"))
    if not document["removed"]:
        raise SelectionError(
            f"for none of {', '.join(names)} is anything kept of a log; `incremental-assets capture status` names what is"
        )
    shown += [Note("\n".join(("-- " + name, *lines)), wrap=False) for name, lines in document["sql"].items()]
    return Answer(document, shown)


def _asked(pattern: str, source: SourceConfig, name: str) -> bool:
    return pattern in (name, name.removeprefix(f"{source.name}."))


def _check_left(runtime: Runtime, source: SourceConfig, reader: Reader) -> None:
    """Raises SelectionError for a table that is still to be read."""
    for terms in source.tables:
        table = terms.id(source.name)
        if terms.capture == LOG and (table.schema, table.name) == reader.name:
            raise SelectionError(
                f"{table} is still read from the log; remove `capture: log`, or its entry, from {runtime.configuration.path} first"
            )


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _status(sources: Sequence[_Source]) -> Answer:
    shown: list[Shown] = []
    for source in sources:
        if source.log is None:
            shown.append(Note(f"{source.name}: {source.error}", "bad"))
            continue
        shown += _of_source(source.name, source.log)
        if source.tables:
            shown.append(
                Grid(_COLUMNS, tuple(map(_row, source.tables)), right=frozenset({"behind"}), title=source.name)
            )
    if not sources:
        shown.append(Note("no table is read from a log"))
    failed = any(each.log is None or each.log.refused for each in sources)
    return Answer({"sources": [_entry(each) for each in sources]}, shown, FAILED if failed else DONE)


def _of_source(name: str, log: LogStanding) -> Iterator[Shown]:
    if log.refused:
        yield Note(f"{name}: {log.refused}", "bad")
    late = f", the last one read was committed {age(log.late_seconds)} ago" if log.late_seconds else ""
    if not log.slot:
        yield Note(
            f"{name}: the log has {_size(log.unread_bytes)} to read{late}; the source has {_size(log.kept_bytes)} of its log, and removes it when it likes"
        )
    else:
        yield from _of_slot(name, log, late)
    read = "nothing was read yet" if log.read_to is None else f"read up to {lsn_text(log.read_to)}"
    yield Note(
        f"{name}: {read}; {counted(log.files, 'segment')} {agreeing(log.files, 'takes', 'take')} {_size(log.file_bytes)} beside the lake",
        "dim",
    )


def _of_slot(name: str, log: LogStanding, late: str) -> Iterator[Shown]:
    tone = "warn" if log.kept_bytes > log.most_bytes else ""
    left = "" if log.left_bytes is None else f"; {_size(log.left_bytes)} more, and the server gives the slot up"
    yield Note(
        f"{name}: the slot {log.slot} has {_size(log.unread_bytes)} to read{late}; the source keeps {_size(log.kept_bytes)} of its log for it, of {_size(log.most_bytes)} "
        f"that `max_slot_lag` allows{left}",
        tone,
    )
    if log.kept_bytes > log.unread_bytes and log.holders:
        yield Note(
            f"{name}: the source keeps more than is to be read, since the oldest of {'; '.join(log.holders)}",
            tone or "dim",
        )
    if log.session is not None:
        yield Note(
            f"{name}: a process of ours reads the log between syncs, by the session {log.session} of the source, so that it is not decoded again and again; it ends by itself",
            "dim",
        )
    if log.unkept:
        yield Note(
            f"{name}: a transaction stays open, and each sync has the source decode the log from there on again, as no session of replication could be kept ({log.unkept})",
            "warn",
        )


def _row(table: _Table) -> tuple[Cell | str, ...]:
    place = lsn_text(table.landed) if table.landed else ""
    return (
        table.name,
        place,
        "" if table.behind is None else _size(table.behind),
        Cell(table.says, "warn" if table.says else ""),
    )


def _size(found: int) -> str:
    return f"{found >> _MIB:,} MiB" if found >= 1 << _MIB else f"{found >> 10:,} KiB"


def _entry(source: _Source) -> dict[str, Any]:
    log = source.log
    if log is None:
        return {"source": source.name, "error": source.error, "tables": []}
    return {
        "source": source.name,
        "error": log.refused or None,
        "slot": log.slot,
        "publication": log.publication,
        "unread_bytes": log.unread_bytes,
        "late_seconds": log.late_seconds,
        "source_keeps_bytes": log.kept_bytes,
        "max_slot_lag_bytes": log.most_bytes,
        "left_bytes": log.left_bytes,
        "holders": list(log.holders),
        "session": log.session,
        "unkept": log.unkept or None,
        "read_to": None if log.read_to is None else lsn_text(log.read_to),
        "segments": log.files,
        "segment_bytes": log.file_bytes,
        "tables": [
            {
                "table": each.name,
                "position": lsn_text(each.landed) if each.landed else None,
                "behind_bytes": each.behind,
                "left": each.is_left,
                "says": each.says or None,
            }
            for each in source.tables
        ],
    }
