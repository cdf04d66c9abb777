"""The findings of `doctor` on one source and its tables: pure, from facts to findings with their cures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.cli.selection import Trouble
from incremental_assets.core.checks.doctor import SourceFacts, TableFacts, Wanted
from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.model.table import Cursor, NullPolicy, TableId, TableSpec
from incremental_assets.core.model.time_zones import time_zone
from incremental_assets.core.planning.doubts import numbered_apart, of_arrival, of_logins, of_numbers, of_roles
from incremental_assets.core.planning.settled_bound import Guarantee
from incremental_assets.core.strategies import traits_of
from incremental_assets.core.words import counted, with_article

_SQL = "`incremental-assets doctor --sql` prints the statement"
_PLAY = "run the tests against a server of yours, `make dialect-check URL=…`, and compare each copy with its source, `incremental-assets check`"


class Health(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; `cure` says what to do unless it is ok."""

    subject: str
    topic: str
    health: Health
    detail: str
    cure: str = ""


def wanted_of(table: TableId, terms: TableConfig) -> Wanted:
    """What to query of a table: the columns by which it will be read, if it is not read whole."""
    indexable = terms.cursor is not None and not (traits_of(terms.strategy).overwrites or terms.cursor.by_transaction)
    return Wanted(table, _columns(terms.cursor) if indexable else ())


def of_source(source: SourceConfig, facts: SourceFacts) -> Iterator[Finding]:
    """Whether the bound may be settled, and whether the account may do more than it needs."""
    name = source.name
    yield Finding(name, "reachable", Health.OK, f"{facts.version}, as {facts.user}, tls {source.tls}")
    if facts.is_replica:
        yield _warn(
            name,
            "guarantee",
            "this is a replica: transactions that are open on the primary cannot be seen",
            "read from the primary, or set a `holdback`",
        )
    elif not facts.sees_transactions:
        yield _warn(
            name,
            "guarantee",
            "other users' transactions cannot be seen, so that runs are best_effort while another session has a transaction open",
            f"{facts.cures.unseen_transactions}; {_SQL}",
        )
    elif not facts.tracks_activities:
        yield _warn(
            name,
            "guarantee",
            "the server does not show what its sessions do, so that runs are best_effort",
            facts.cures.untracked_sessions,
        )
    elif facts.unsettled:
        yield _warn(name, "guarantee", "runs are best_effort", facts.unsettled)
    elif facts.experimental:
        yield _warn(name, "guarantee", f"runs are best_effort: {facts.experimental}", _PLAY)
    else:
        yield Finding(name, "guarantee", Health.OK, "open transactions can be seen: the bound is settled")
    if not facts.says_which:
        yield _warn(
            name,
            "identity",
            "the database does not say which one it is, so that a restored or exchanged one would not be noticed",
            f"{facts.cures.no_identity}; {_SQL}",
        )
    if facts.encoding not in ("UTF8", "SQL_ASCII"):
        yield Finding(name, "encoding", Health.OK, f"{facts.encoding}, converted to UTF-8 by the server")
    writable = [facts_of for facts_of in facts.tables if facts_of.writable]
    if facts.is_superuser:
        yield _warn(
            name,
            "privileges",
            f"{facts.user} is a superuser",
            "use a role that may read only; `incremental-assets doctor --sql` as another user prints it",
        )
    elif writable:
        yield _warn(
            name,
            "privileges",
            f"{facts.user} may change {len(writable)} of {len(facts.tables)} tables, which no sync needs",
            _SQL,
        )
    else:
        yield Finding(name, "privileges", Health.OK, f"{facts.user} may read and not write")


def of_trouble(trouble: Trouble) -> Finding:
    """A table of the configuration that the source cannot serve; its name is the subject, and not said again."""
    told = str(trouble.error).removeprefix(f"{trouble.table}: ")
    return Finding(str(trouble.table), "configured", Health.FAIL, told)


def of_table(spec: TableSpec, facts: TableFacts, source: SourceFacts, *, landed: bool) -> Iterator[Finding]:
    """Whether the table can be read, and followed by its cursor."""
    name = str(spec.id)
    if source.experimental:
        yield _warn(name, "experimental", source.experimental, _PLAY)
    if not facts.usable or not facts.readable:
        yield Finding(name, "readable", Health.FAIL, "this user may not read it", f"grant it; {_SQL}")
        return
    if facts.filtered:
        yield _warn(
            name,
            "row security",
            "row-level security hides rows from this user, which are then never synced",
            source.cures.hidden_rows,
        )
    if not spec.shape.logged:
        yield _warn(
            name,
            "unlogged",
            "it is not logged, or a part of it is not: a crash of the server empties it, and the copy keeps its rows",
            source.cures.emptied_by_crash,
        )
    if not landed:
        yield Finding(name, "first load", Health.OK, _first_load(facts))
    if spec.cursor is not None and spec.is_incremental:
        yield from _of_cursor(spec, spec.cursor, facts, source)
    else:
        yield Finding(name, spec.read_without_cursor, Health.OK, "every time that it is due: it has no cursor")


def _of_cursor(spec: TableSpec, cursor: Cursor, facts: TableFacts, source: SourceFacts) -> Iterator[Finding]:
    name = str(spec.id)
    doubts = tuple(_doubts(spec, cursor, source))
    yield from doubts
    fits = not doubts
    if apart := numbered_apart(spec):
        fits = False
        yield _warn(
            name,
            "numbers",
            f"{apart}: such a row may be missed",
            source.cures.numbers_apart,
        )
    if cursor.by_transaction and not cursor.is_own:
        fits = False
        yield _warn(
            name,
            "index",
            f"no index serves {cursor.column}: every look reads the whole table, unless nothing was written in the whole server since the last sync",
            "leave it where the table is small or has no better cursor; else take a column that an index begins with",
        )
    if facts.unindexed:
        fits = False
        yield _warn(
            name, "index", f"no index begins with {', '.join(facts.unindexed)}: every look reads the whole table", _SQL
        )
    if _may_be_null(spec, cursor) and cursor.nulls is NullPolicy.FAIL:
        fits = False
        cure = "add NOT NULL in the source, or choose `nulls: always`, `nulls: skip` or a `fallback`"
        yield _warn(name, "nulls", f"{cursor.column} may be NULL, and the first row without it stops the sync", cure)
    if facts.unstamped and cursor.type.is_time and not spec.lookback:
        fits = False
        yield _warn(
            name,
            "stamps",
            f"neither a default nor a trigger of the database sets {cursor.column}: an application's clock does, which may lag",
            "let the database stamp it, or set a `lookback` as wide as those clocks and their transactions may lag",
        )
    zone = cursor.zone or source.zone
    if cursor.is_zoneless and time_zone(zone) is None:
        fits = False
        cure = "name the zone in which it is stamped at this table: `cursor: {zone: Europe/Paris}`"
        yield Finding(
            name, "zone", Health.FAIL, f"{cursor.column} is read in {zone}, which is not in the IANA database", cure
        )
    elif cursor.is_zoneless:
        yield Finding(
            name,
            "zone",
            Health.OK,
            f"{cursor.column} is read in {zone}: no session that writes may set another time zone",
        )
    if spec.key and not spec.key_enforced:
        fits = False
        yield _warn(
            name,
            "key",
            f"the source does not enforce the key ({', '.join(spec.key)})",
            "add a unique constraint; until then repeated keys are reported",
        )
    if fits:
        yield Finding(
            name,
            "cursor",
            Health.OK,
            f"{cursor.column} is {with_article(cursor.type)}, indexed and never NULL"
            if not _may_be_null(spec, cursor)
            else f"{cursor.column} is {with_article(cursor.type)}, indexed",
        )


def _doubts(spec: TableSpec, cursor: Cursor, source: SourceFacts) -> Iterator[Finding]:
    """The reasons why no run of this table can be `settled`."""
    zone = cursor.zone or source.zone
    found = (
        (
            "arrival",
            of_arrival(spec),
            "read it where its rows are written, or by `full_refresh`, or set a `lookback` as wide as they may lag",
        ),
        (
            "login",
            of_logins(spec, source.login_trigger),
            source.cures.login_trigger,
        ),
        (
            "numbers",
            of_numbers(spec),
            source.cures.numbers,
        ),
        (
            "zone",
            of_roles(spec, zone, source.clock),
            source.cures.role_zones,
        ),
    )
    guarantee = Guarantee.HOLDBACK if spec.holdback else Guarantee.BEST_EFFORT
    return (
        _warn(str(spec.id), topic, f"{finding}; its runs are {guarantee}", cure)
        for topic, finding, cure in found
        if finding
    )


def _may_be_null(spec: TableSpec, cursor: Cursor) -> bool:
    nullable = {column.name: column.nullable for column in spec.columns}
    return all(nullable.get(name, True) for name in _columns(cursor))


def _columns(cursor: Cursor | None) -> tuple[str, ...]:
    return () if cursor is None else (cursor.column, *([cursor.fallback] if cursor.fallback else []))


def _warn(subject: str, topic: str, detail: str, cure: str) -> Finding:
    return Finding(subject, topic, Health.WARN, detail, cure)


def _first_load(facts: TableFacts) -> str:
    """How much a first load reads, by rows and bytes. The catalogue knows neither of a view."""
    known = [f"about {counted(facts.rows, 'row')}"] if facts.rows else []
    known += [_size(facts.bytes)] if facts.bytes else []
    return (
        f"reads {', '.join(known)}"
        if known
        else "how much it reads is not known before: the source keeps no numbers of it"
    )


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1024:
            return f"{size:,.0f} {unit}"
        size /= 1024
    return f"{size:,.1f} TB"
