"""Which incidents there are now, by what the checkpoint database knows: a run that goes on past a table that fails is no reason to be silent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from incremental_assets.core.config.settings import ChannelConfig
from incremental_assets.core.model.cures import check, status
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.incident import About, Incident, News
from incremental_assets.core.model.look import Looked
from incremental_assets.core.model.pause import Pauses
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.standing import Standing
from incremental_assets.core.planning.report import FAILING, Status
from incremental_assets.core.words import counted

_DOWN = timedelta(minutes=5)
_NAMED = 20
"""Incidents in one message: of a source that fails as a whole there may be a thousand."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known at one moment, on the clock of the checkpoint database."""

    now: datetime
    standings: Mapping[TableId, Standing] = field(default_factory=dict)
    looks: Mapping[str, Looked] = field(default_factory=dict)
    pauses: Pauses = field(default_factory=Pauses)
    quarantined: Mapping[TableId, int] = field(default_factory=dict)
    """Rows that went to quarantine within an hour."""
    changed: Mapping[TableId, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Of columns within a day: the run that last changed some, and what it did."""

    def is_paused(self, source: str, table: TableId | None) -> bool:
        """What a person has paused neither begins an incident nor ends one."""
        return (self.pauses.of_source(source) if table is None else self.pauses.of(table)) is not None


def incidents(situation: Situation, tables: Collection[TableId], channel: ChannelConfig) -> Iterator[Incident]:
    """Those of the configured tables, and of their sources, that a channel wants to know of."""
    for source in sorted({table.source for table in tables}):
        if not situation.is_paused(source, None):
            yield from _of_source(situation, source, channel)
    for table in sorted(tables):
        standing = situation.standings.get(table)
        if standing is not None and not situation.is_paused(table.source, table):
            yield from (each for each in _of_table(situation, standing, channel) if _is_wanted(each, channel))


def message(news: News) -> tuple[str, str]:
    """One message for all that there is to say: its title and its text."""
    parts = [
        counted(len(news.begun), "incident") if news.begun else "",
        f"{len(news.over)} over" if news.over else "",
    ]
    lines = [*(each.sentence for each in news.begun), *(f"over: {each.sentence}" for each in news.over)]
    more = [f"and {len(lines) - _NAMED} more"] if len(lines) > _NAMED else []
    return f"incremental-assets: {', '.join(filter(None, parts))}", "\n".join([*lines[:_NAMED], *more])


def _is_wanted(incident: Incident, channel: ChannelConfig) -> bool:
    return incident.about is About.STALLED or incident.about in channel.about


def _of_source(situation: Situation, source: str, channel: ChannelConfig) -> Iterator[Incident]:
    looked = situation.looks.get(source, Looked())
    since = looked.looked_at
    if looked.failed_at is None or looked.answers or About.SOURCE_DOWN not in channel.about:
        return
    if since is None or looked.failed_at - since >= _DOWN:
        when = "" if since is None else f" since {since:%Y-%m-%d %H:%M}Z"
        yield Incident(About.SOURCE_DOWN, source, None, f"{source} has not answered{when}")


def _of_table(situation: Situation, standing: Standing, channel: ChannelConfig) -> Iterator[Incident]:
    table, report = standing.table, standing.position.last_report
    if report is not None and report.status in FAILING:
        what = "failed" if report.status is Status.FAILED else "was refused"
        yield Incident(
            About.FAILURE,
            table.source,
            table,
            f"{table}: its last sync {what}; {status(table)} says why",
        )
    if standing.verified is not None and standing.verified.drift:
        yield Incident(
            About.DRIFT, table.source, table, f"{table} differs from its source; {check(table)} names the rows"
        )
    if situation.quarantined.get(table):
        yield Incident(About.QUARANTINE, table.source, table, f"{table}: rows went to quarantine in place of the copy")
    if table in situation.changed:
        run, changes = situation.changed[table]
        yield Incident(About.SCHEMA_CHANGE, table.source, table, f"{table}: {'; '.join(changes)}", run)
    still = channel.stalled
    if still is not None and standing.landed_at is not None and situation.now - standing.landed_at > still:
        yield Incident(
            About.STALLED,
            table.source,
            table,
            f"{table}: nothing has landed for {format_duration(still)}, the last at {standing.landed_at:%Y-%m-%d %H:%M}Z",
        )
