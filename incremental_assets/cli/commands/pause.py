"""`pause` and `resume`: what a person has told to stand still, kept in the checkpoint database, so that every process knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import Answer, Note, Shown
from incremental_assets.cli.audited import told, user
from incremental_assets.cli.globs import matches
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import remembered
from incremental_assets.core.errors import Busy, SelectionError
from incremental_assets.core.model.alike import alike
from incremental_assets.core.model.cures import resume as cure
from incremental_assets.core.model.identifiers import quote, render_table
from incremental_assets.core.model.pause import Pause, Pauses
from incremental_assets.core.model.table_id import TableId

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

Meant = str | TableId
"""A source by its name, or a table."""


def run(config: Path | None, names: Sequence[str], reason: str) -> Answer:
    """Pause them. SelectionError where a name is of nothing, or no reason is given."""
    why = told(reason)
    if not why:
        raise SelectionError("--reason is empty; say in a few words why, for whoever finds it paused")
    with opened(configured(config)) as runtime:
        sources, tables = _known(runtime)
        wanted = _each(names, lambda name: meant(name, sources, tables))
        done = [runtime.checkpoints.pause(each, user(runtime), why) for each in wanted]
    shown = [note for pause, holders in done for note in _paused(pause, holders)]
    return Answer({"paused": [entry(pause, holders) for pause, holders in done]}, shown)


def resume(config: Path | None, names: Sequence[str]) -> Answer:
    """End pauses. SelectionError where one of them is of nothing, or of what is not paused."""
    with opened(configured(config)) as runtime:
        sources, tables = _known(runtime)
        pauses = runtime.checkpoints.pauses()
        there = {*tables, *(each.table for each in pauses.all if each.table)}
        sources = {*sources, *(each.source for each in pauses.all)}
        wanted = _each(names, lambda name: paused(name, meant(name, sources, there), pauses))
        done = [ended for each in wanted if (ended := runtime.checkpoints.resume(each, user(runtime))) is not None]
        left = runtime.checkpoints.pauses()
    shown = [note for pause in done for note in _resumed(pause, left)]
    return Answer({"resumed": [entry(pause) for pause in done]}, shown)


def meant(name: str, sources: Iterable[str], tables: Iterable[TableId]) -> tuple[Meant, ...]:
    """What a name means: a source, or the tables that it matches. SelectionError where it means nothing."""
    named = [each for each in sources if name in (each, quote(each))]
    found = sorted(each for each in tables if matches(name, each))
    if not named and not found:
        near = [*map(str, alike(name, tables))][:1] or sorted(sources)
        raise SelectionError(f"{name!r} names no source and no table; did you mean {', '.join(near)}?")
    return tuple(named or found)


def paused(name: str, found: Sequence[Meant], pauses: Pauses) -> tuple[Meant, ...]:
    """Those of them that are paused. SelectionError where none is, or only with its source."""
    there = {each.table or each.source for each in pauses.all}
    mine = tuple(each for each in found if each in there)
    if mine:
        return mine
    whole = next((pause for each in found if isinstance(each, TableId) and (pause := pauses.of(each))), None)
    if whole is not None:
        raise SelectionError(f"{name}: {whole.sentence}; {cure(whole)} ends that, for all of its tables")
    listed = ", ".join(each.what for each in pauses.all) or "nothing"
    raise SelectionError(f"{name} is not paused; what is paused: {listed}")


def entry(pause: Pause, holders: Mapping[TableId, Busy] | None = None) -> dict[str, Any]:
    """One pause of the document."""
    return {
        "source": pause.source,
        "table": None if pause.table is None else render_table(pause.table.schema, pause.table.name),
        "since": pause.since.isoformat(),
        "by": pause.by,
        "reason": pause.reason,
        **({} if holders is None else {"still_written": sorted(map(str, holders))}),
    }


def _known(runtime: Runtime) -> tuple[set[str], frozenset[TableId]]:
    """Without asking a source: it may be down, which may be why."""
    sources = {source.name for source in runtime.configuration.sources}
    return sources, frozenset(remembered(runtime, ()).tables)


def _each(names: Sequence[str], of: Callable[[str], tuple[Meant, ...]]) -> tuple[Meant, ...]:
    """All of them before anything is done, each once."""
    return tuple(dict.fromkeys(each for name in names for each in of(name)))


def _paused(pause: Pause, holders: Mapping[TableId, Busy]) -> Iterable[Shown]:
    yield Note(f"{pause.what}: {pause.sentence}; {cure(pause)} lets it go on", "strong")
    yield from (Note(f"a run that began before still ends: {busy}", "warn") for busy in holders.values())


def _resumed(pause: Pause, left: Pauses) -> Iterable[Shown]:
    yield Note(f"{pause.what}: goes on; it was {pause.sentence}", "strong")
    still = [each for each in left.all if each.source == pause.source]
    yield from (Note(f"{each.what}: still {each.sentence}", "warn") for each in still)
