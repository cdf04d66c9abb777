"""The findings on one table: pure, from its facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from incremental_assets.cli.findings.finding import SQL, TRY_IT, Finding, Health, warn
from incremental_assets.cli.findings.of_cursor import of_cursor
from incremental_assets.cli.selection import Trouble
from incremental_assets.core.captures.database.doubts import of_shown
from incremental_assets.core.captures.database.stamps import of_past_stamps
from incremental_assets.core.captures.database.updates import UPSERT_INSTEAD, updates_not_copied
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.checks.doctor import SourceFacts, TableFacts, Wanted
from incremental_assets.core.config.edits import Edit
from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.errors import CursorMistyped
from incremental_assets.core.model.cures import check
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.strategies import traits_of
from incremental_assets.core.words import agreeing, counted

SEE_WHAT_IS_SHOWN = "leave the column out (`columns: {exclude: […]}`), or have the table compared (`compare: {every: …}`) or read whole (`full_refresh`), which sees what it shows"


def wanted_of(table: TableId, terms: TableConfig) -> Wanted:
    """What to query of a table: the columns by which it will be read, if it is not read whole."""
    columns = () if traits_of(terms.strategy).overwrites else terms.cursor_columns
    # The column of one by transactions is empty until the catalogue names it.
    return Wanted(table, tuple(name for name in columns if name))


def of_trouble(trouble: Trouble) -> Finding:
    """A table that cannot be synced as it is configured, and why, without its name, which is the subject."""
    reason = str(trouble.error).removeprefix(f"{trouble.table}: ")
    instead = trouble.error.instead if isinstance(trouble.error, CursorMistyped) else ""
    edit = Edit(trouble.table, ("cursor", "type"), instead) if instead else None
    return Finding(str(trouble.table), "configured", Health.FAIL, reason, edit=edit)


def of_other_kind(source: SourceConfig, specs: Sequence[TableSpec]) -> Iterator[Finding]:
    """Of a source that is no database: it has answered, and how its tables are read."""
    yield Finding(source.name, "reachable", Health.OK, f"it has answered; its dialect is {source.dialect}")
    yield from (Finding(str(spec.id), "capture", Health.OK, capture_of(spec).words) for spec in specs)


def of_table(spec: TableSpec, facts: TableFacts, source: SourceFacts, *, landed: bool) -> Iterator[Finding]:
    """Whether the table can be read, and followed by its cursor."""
    name = str(spec.id)
    if source.experimental:
        yield warn(name, "experimental", source.experimental, TRY_IT)
    if not facts.usable or not facts.readable:
        yield Finding(name, "readable", Health.FAIL, "this user may not read it", f"grant it; {SQL}")
        return
    if facts.filtered:
        yield warn(
            name,
            "row security",
            "row-level security hides rows from this user, which are then never synced",
            source.cures.hidden_rows,
        )
    if not spec.shape.logged:
        yield warn(
            name,
            "unlogged",
            "it is not logged, or a part of it is not: a crash of the server empties it, and the copy keeps its rows",
            source.cures.emptied_by_crash,
        )
    if not landed:
        yield Finding(name, "first load", Health.OK, _first_load(facts))
    if spec.masks:
        masked = ", ".join(f"{each.name}: {each.mask.words}" for each in spec.masks)
        yield Finding(
            name, "masked", Health.OK, f"{masked}; checks leave {agreeing(len(spec.masks), 'it', 'them')} out"
        )
    if shown := of_shown(spec):
        guarantee = Guarantee.HOLDBACK if spec.holdback else Guarantee.BEST_EFFORT
        yield warn(name, "shown", f"{shown}; its runs are {guarantee}", SEE_WHAT_IS_SHOWN)
    if spec.read_by is not None:
        yield from of_cursor(spec, spec.read_by, facts, source)
    elif capture_of(spec).is_whole:
        yield Finding(name, capture_of(spec).words, Health.OK, "every time that it is due: it has no cursor")


def of_past(spec: TableSpec, state: State | None) -> Iterator[Finding]:
    """What has happened in the source since the last sync, or before it, that its rows do not show."""
    if doubt := of_past_stamps(spec, state):
        yield warn(
            str(spec.id),
            "stamps",
            f"{doubt}; the next run is best_effort",
            f"{check(spec.id)} finds rows that were missed",
        )
    if uncopied := updates_not_copied(spec):
        yield warn(str(spec.id), "updates", uncopied, UPSERT_INSTEAD)


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
