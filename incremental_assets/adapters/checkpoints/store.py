"""The checkpoint table: what has landed, who is writing, and the last seen catalogues. SQLite, or PostgreSQL by URL.

Progress is appended and never edited. One thing is thinned out: an `idle` event says that the watermark moved while nothing was read,
and the state after it says more. Idle events older than `keep_idle` that a later state has followed are removed when the next one is
recorded; syncs, failures and resets stay, as long as `retention: {ledger: …}` says, and their counts forever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Executable, select

from incremental_assets.adapters.checkpoints.catalogue import dump_shapes, load_shapes
from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.deeds import chain, configured, record, take_turn
from incremental_assets.adapters.checkpoints.deeds import latest as latest_deeds
from incremental_assets.adapters.checkpoints.events import (
    Recorded,
    append,
    events_after,
    latest,
    recorded,
    standing_backfills,
    thin_out,
)
from incremental_assets.adapters.checkpoints.group_commit import GroupCommit
from incremental_assets.adapters.checkpoints.incidents import claim, said, situation_of
from incremental_assets.adapters.checkpoints.installation import installation_of
from incremental_assets.adapters.checkpoints.leases import Leases, Pace
from incremental_assets.adapters.checkpoints.ledger import Ledger
from incremental_assets.adapters.checkpoints.looks import all_looks, record_look
from incremental_assets.adapters.checkpoints.objectives import kept_of, record_late
from incremental_assets.adapters.checkpoints.pauses import all_pauses, pause, resume
from incremental_assets.adapters.checkpoints.positions import (
    all_positions,
    ended_at,
    position_after,
    position_of,
    positions_of,
)
from incremental_assets.adapters.checkpoints.prunings import all_prunings, record_pruning
from incremental_assets.adapters.checkpoints.registrations import all_registrations, record_registration
from incremental_assets.adapters.checkpoints.retention import prune_events
from incremental_assets.adapters.checkpoints.rows import event_of
from incremental_assets.adapters.checkpoints.standings import all_standings, holder_of
from incremental_assets.adapters.checkpoints.tables import (
    catalogue,
    checkpoints,
    configurations,
    heartbeats,
    is_table,
    table_of,
    verifications,
)
from incremental_assets.adapters.checkpoints.verifications import after_landing, known_of, remember, verified_of
from incremental_assets.adapters.lake_store.patience import at_work
from incremental_assets.core.config.effective import Effective, difference
from incremental_assets.core.errors import Busy
from incremental_assets.core.model.deed import Act, Deed, DeedChain
from incremental_assets.core.model.incident import Incident, News
from incremental_assets.core.model.installation import Installation
from incremental_assets.core.model.kept import Kept
from incremental_assets.core.model.look import Look, Looked
from incremental_assets.core.model.objective import Objectives
from incremental_assets.core.model.pause import Pause, Pauses
from incremental_assets.core.model.registration import Catalogue, Registered
from incremental_assets.core.model.retention import Pruned
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.operations.incidents import Situation
from incremental_assets.core.operations.standing import Standing
from incremental_assets.core.planning.events import Checkpoint, Event, EventKind, Unmoved
from incremental_assets.core.ports.checkpoints import Judge

__all__ = ["Heartbeat", "Pace", "Recorded", "SqlCheckpoints", "SqlLease"]

PACE = Pace()
KEEP_IDLE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The process and the run that write a table now; both None if nobody does."""

    owner: str | None
    run_id: str | None


class SqlCheckpoints:
    """Implements `core.ports.Checkpoints`. Its database is opened at the first use and brought to this program's version.

    Every method raises CheckpointsUnreachable, CheckpointsUnreadable and CheckpointsTooNew. Reading a SQLite file that is not there finds nothing and
    makes nothing. One object serves all threads of a process.
    """

    def __init__(self, url: str, *, pace: Pace = PACE, keep_idle: timedelta = KEEP_IDLE, writes: bool = True) -> None:
        self._database = Database(url, writes=writes)
        self._writes = GroupCommit(self._database)
        self._leases = Leases(self._database, self._writes, pace)
        self._keep_idle = keep_idle

    def installation(self) -> Installation:
        """Which database this is, as the lake knows who writes it."""
        return installation_of(self._database)

    # --- the port ---------------------------------------------------------------------------------

    @contextmanager
    def lease(self, table: TableId, run_id: str, *, even_paused: bool = False) -> Iterator[SqlLease]:
        """One writer per table, of all threads, processes and machines. Raises Busy, naming the owner, and Paused unless `even_paused`."""
        with at_work(), self._leases.hold(table, run_id, even_paused=even_paused) as token:
            yield SqlLease(self, table, token)

    def position(self, table: TableId) -> Checkpoint:
        """The position of the table."""
        if not self._database.exists:
            return Checkpoint()
        with self._database.transaction() as connection:
            return position_of(connection, table)

    def positions(self) -> dict[TableId, Checkpoint]:
        """The position of every table with an event, at one moment."""
        if not self._database.exists:
            return {}
        with self._database.transaction() as connection:
            return all_positions(connection)

    def other_of(self, app_id: str, table: TableId) -> TableId | None:
        """Whose copy it is that lies where that of the table is to lie."""
        c = checkpoints.c
        asked = select(c.source, c.schema_name, c.table_name).where(c.app_id == app_id, ~is_table(c, table)).limit(1)
        found = self._read(asked)
        return table_of(found[0]) if found else None

    def position_after(self, table: TableId, run_id: str) -> Checkpoint | None:
        """State and target after the last sync of a run that landed or found nothing to do; None if there is none."""
        if not self._database.exists:
            return None
        with self._database.transaction() as connection:
            return position_after(connection, table, run_id)

    def events_since(self, table: TableId, run_id: str) -> tuple[Event, ...]:
        """What was recorded after that, oldest first; nothing if there is no such sync."""
        if not self._database.exists:
            return ()
        with self._database.transaction() as connection:
            ended = ended_at(connection, table, run_id)
            rows = () if ended is None else connection.execute(events_after(table, ended)).all()
        return tuple(event_of(row) for row in rows)

    def record_idle(self, unmoved: Sequence[Unmoved]) -> dict[TableId, Busy | None]:
        """Append the events of tables that stand still, in one transaction that nobody can begin to write them in; gives the others."""
        tables = [each.table for each in unmoved]
        with self._database.transaction(writes=True) as connection:
            held, positions = self._leases.held(connection, tables), positions_of(connection, tables)
            others = {
                each.table: held.get(each.table)
                for each in unmoved
                if held.get(each.table) is not None or positions.get(each.table) != each.position
            }
            events = [each.event for each in unmoved if each.event is not None and each.table not in others]
            if events:
                append(connection, self._database, *events)
                thin_out(connection, self._database, self._keep_idle, [event.table for event in events])
        return others

    def record_look(self, source: str, look: Look | None) -> None:
        """Keep what a look at a source came to, in place of the one before; None: the source did not answer."""
        with self._database.transaction(writes=True) as connection:
            before = all_looks(connection).get(source, Looked())
            record_look(connection, self._database, source, look)
            if look is not None:
                record_late(connection, source, before, look)

    def kept(self, slos: Mapping[TableId, Objectives]) -> dict[TableId, Kept]:
        """How each of these tables was kept in the last month."""
        if not slos or not self._database.exists:
            return {}
        with self._database.transaction() as connection:
            return kept_of(connection, self._database, slos)

    def last_event(self, table: TableId) -> int:
        """The number of its last event; 0 if there is none."""
        newest = self._read(latest(table, 1))
        return newest[0].event_id if newest else 0

    def remember_verified(self, table: TableId, after: int, judge: Judge) -> None:
        """Record what `judge` makes of the record so far and of the events behind that number, in one transaction in which nobody records any; nothing where that is None."""
        with self._database.transaction(writes=True) as connection:
            # Under its lock, no holder of the lease can record anything before this ends.
            self._leases.held(connection, [table])
            since = [event_of(row) for row in connection.execute(events_after(table, after))]
            verified = judge(known_of(connection, table), since)
            if verified is not None:
                remember(connection, self._database, table, verified)

    def verified(self) -> dict[TableId, Verified]:
        """The last record of every table."""
        return {table_of(row): verified_of(row) for row in self._read(select(verifications))}

    def record_pruning(self, done: Pruned) -> None:
        """Keep what a table was pruned of, in place of the one before."""
        with self._database.transaction(writes=True) as connection:
            record_pruning(connection, self._database, done)

    def record_registration(self, done: Registered) -> None:
        """Keep how a table was made known to a catalogue, in place of what was before."""
        with self._database.transaction(writes=True) as connection:
            record_registration(connection, self._database, done)

    def registrations(self) -> dict[tuple[TableId, Catalogue], Registered]:
        """What is kept of all tables, in each catalogue."""
        if not self._database.exists:
            return {}
        with self._database.transaction() as connection:
            return all_registrations(connection)

    def pauses(self) -> Pauses:
        """Everything that a person has paused."""
        if not self._database.exists:
            return Pauses()
        with self._database.transaction() as connection:
            return all_pauses(connection)

    # --- for people -------------------------------------------------------------------------------

    def pause(self, what: str | TableId, by: str, reason: str) -> tuple[Pause, dict[TableId, Busy]]:
        """Pause a table, or a source with all of its tables: no lease is taken from then on. And who holds one that was taken before."""
        with self._turn() as connection:
            holders = self._leases.holders(connection, what)
            record(connection, self._database, Act.PAUSE, [what], (by, reason, ""))
            return pause(connection, self._database, what, by, reason), holders

    def resume(self, what: str | TableId, by: str) -> Pause | None:
        """End a pause; None where there was none."""
        with self._turn() as connection:
            ended = resume(connection, what)
            if ended is not None:
                record(connection, self._database, Act.RESUME, [what], (by, "", ""))
            return ended

    def record_deeds(self, act: Act, tables: Iterable[TableId], by: str, reason: str, run_id: str) -> None:
        """Write down what somebody is about to do to some tables."""
        with self._turn() as connection:
            record(connection, self._database, act, tables, (by, reason, run_id))

    def deeds(self, most: int) -> tuple[Deed, ...]:
        """The last of them, oldest first."""
        if not self._database.exists:
            return ()
        with self._database.transaction() as connection:
            return latest_deeds(connection, most)

    def deed_chain(self) -> DeedChain:
        """Whether they are as they were written."""
        if not self._database.exists:
            return DeedChain()
        with self._database.transaction() as connection:
            return chain(connection)

    def made(self) -> dict[TableId, frozenset[str]]:
        """Of each table all names under which its syncs have committed, and the ids of the tables of the lake that they have left."""
        c = checkpoints.c
        names = (c.source, c.schema_name, c.table_name)
        found: dict[TableId, set[str]] = {}
        for id_ in (c.app_id, c.target_table_id):
            for row in self._read(select(*names, id_.label("id")).where(id_.is_not(None), id_ != "").distinct()):
                found.setdefault(table_of(row), set()).add(row.id)
        return {table: frozenset(ids) for table, ids in found.items()}

    def history(self, table: TableId, limit: int = 100) -> tuple[Recorded, ...]:
        """The last events of a table, oldest first."""
        return recorded(reversed(self._read(latest(table, limit))))

    def standing_backfills(self, table: TableId) -> frozenset[str]:
        """The runs of backfills whose rows nothing has taken back since."""
        return frozenset(row.run_id for row in self._read(standing_backfills(table)))

    def heartbeats(self) -> dict[TableId, Heartbeat]:
        """The process and the run that write each table now, of all tables that were ever written."""
        alive = (heartbeats.c.expires_at > self._database.now()).label("alive")
        return {table_of(row): _heartbeat(row) for row in self._read(select(heartbeats, alive))}

    def standings(self) -> dict[TableId, Standing]:
        """Where every table stands that was ever written, at one moment."""
        if not self._database.exists:
            return {}
        with self._database.transaction() as connection:
            return all_standings(connection, self._database)

    def prune_events(self, keep: timedelta) -> tuple[int, int]:
        """How many events were removed that are older, and how many are only counted from now on; a transaction for each table."""
        done = []
        for table in self.heartbeats():
            with self._database.transaction(writes=True) as connection:
                done.append(prune_events(connection, self._database, table, keep))
        return sum(removed for removed, _ in done), sum(counted for _, counted in done)

    def prunings(self) -> dict[TableId, tuple[datetime, Pruned]]:
        """When each table was last pruned, and of what."""
        if not self._database.exists:
            return {}
        with self._database.transaction() as connection:
            return all_prunings(connection)

    def looks(self) -> dict[str, Looked]:
        """What is kept of the looks at every source."""
        if not self._database.exists:
            return {}
        with self._database.transaction() as connection:
            return all_looks(connection)

    def situation(self) -> Situation | None:
        """All that incidents are judged by, at one moment; None where there is no database."""
        if not self._database.exists:
            return None
        with self._database.transaction() as connection:
            return situation_of(connection, self._database)

    def claim(self, channel: str, found: Iterable[Incident], is_paused: Callable[[str, TableId | None], bool]) -> News:
        """What is to be said to a channel that nobody says already: `said` confirms it, or somebody tries again in two minutes."""
        with self._database.transaction(writes=True) as connection:
            return claim(connection, self._database, channel, found, is_paused)

    def said(self, channel: str, news: News) -> None:
        """It has reached the channel."""
        with self._database.transaction(writes=True) as connection:
            said(connection, self._database, channel, news)

    def ledger(self) -> Ledger:
        """For those who watch it."""
        return Ledger(self._database)

    # --- the catalogue last seen ------------------------------------------------------------------

    def remember_catalogue(self, source: str, shapes: Sequence[TableShape]) -> None:
        """Record the catalogue of a source."""
        row = {"source": source, "shapes": dump_shapes(shapes), "seen_at": self._database.now()}
        with self._database.transaction(writes=True) as connection:
            connection.execute(self._database.upsert(catalogue, row))

    def remember_configuration(self, source: str, now: Effective) -> None:
        """Record what the configuration of a source comes to; where it was another one, as a deed of whoever uses it first."""
        with self._database.transaction() as connection:
            if configured(connection, source) == now:
                return
        by = self.installation().person
        with self._turn() as connection:
            before = configured(connection, source)
            row = {"source": source, "effective": json.dumps(now)}
            connection.execute(self._database.upsert(configurations, row))
            if before is not None and before != now:
                record(connection, self._database, Act.CONFIGURE, [source], (by, difference(before, now), ""))

    def catalogue(self, source: str) -> tuple[TableShape, ...] | None:
        """The source's tables as they were last seen; None if they never were."""
        found = self._read(select(catalogue.c.shapes).where(catalogue.c.source == source))
        return load_shapes(found[0].shapes) if found else None

    def close(self) -> None:
        """Give back the connections; the next use opens again."""
        self._database.close()

    # --- helpers ----------------------------------------------------------------------------------

    @contextmanager
    def _turn(self) -> Iterator[Connection]:
        """A transaction in which deeds are recorded."""
        with self._database.transaction(writes=True) as connection:
            take_turn(connection, self._database)
            yield connection

    def record(self, table: TableId, token: str, event: Event) -> None:
        """Append an event in one transaction with the proof that `token` still holds the lease."""

        def proven(connection: Connection) -> None:
            self._leases.prove(connection, table, token)
            append(connection, self._database, event)
            if event.kind is EventKind.LANDED and event.report is not None:
                after_landing(connection, event.report)
            if event.kind is EventKind.IDLE:
                thin_out(connection, self._database, self._keep_idle, [table])

        self._writes.write(table, proven)

    def _read(self, statement: Executable) -> Sequence[Any]:
        if not self._database.exists:
            return ()
        with self._database.transaction() as connection:
            return connection.execute(statement).all()

    def __repr__(self) -> str:
        return f"SqlCheckpoints({self._database.name!r})"


class SqlLease:
    """Implements `core.ports.Lease`."""

    def __init__(self, checkpoints: SqlCheckpoints, table: TableId, token: str) -> None:
        self._checkpoints, self._table, self._token = checkpoints, table, token

    def record(self, event: Event) -> None:
        """Append one event, only while the lease is ours. Raises LeaseLost."""
        if event.table != self._table:
            raise ValueError(f"a lease on {self._table} records no event of {event.table}")
        self._checkpoints.record(self._table, self._token, event)


def _heartbeat(row: Any) -> Heartbeat:
    holder = holder_of(row)
    return Heartbeat(holder.owner, holder.run_id) if holder else Heartbeat(None, None)
