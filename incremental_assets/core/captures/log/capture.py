"""Capture by the source's log: every change, in the order of the commits, joined with the snapshot that the copy was loaded from. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from incremental_assets.core.captures.capture import Read
from incremental_assets.core.captures.database.capture import DatabaseCapture
from incremental_assets.core.captures.database.doubts import of_shown
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.preflight import identity_hidden
from incremental_assets.core.captures.database.settled_bound import Settled
from incremental_assets.core.captures.landed import landed
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.captures.log.observation import LogObservation, LogSeen
from incremental_assets.core.captures.log.parts import in_words, moved_parts
from incremental_assets.core.captures.log.position import NOWHERE, LogPosition
from incremental_assets.core.captures.log.reading import LogReading, of_log, shown_by_log
from incremental_assets.core.errors import SchemaChanged, SelectionError, SourceExchanged
from incremental_assets.core.model.cures import accept_source, full_refresh, reset
from incremental_assets.core.model.definition import COLUMN, alterations, told
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.report import SyncReport

_COMPARED = "all rows are compared once with the copy, by hashes, and those that differ are read again"
_FILE = "file "
"""How the name of a fact begins that tells in which file the source keeps the rows."""


class LogCapture(DatabaseCapture):
    """Implements `Capture`."""

    words = "read from the log"
    gone = "the log says which rows are gone"
    tells_changes = True

    def read(
        self, spec: TableSpec, request: Request, state: State | None, commit_ids: CommitIds, seen: DatabaseObservation
    ) -> SyncPlan | NothingToDo:
        """The changes behind the position; the whole table where nothing was loaded, or all is to be read again."""
        found, at = _log_of(spec, seen), _position(state)
        if found.refused is not None:
            raise found.refused
        is_repair = request.mode in (Mode.REPAIR, Mode.REPLAY) and spec.traits.one_row_per_key
        if request.mode.reads_again and not is_repair:
            raise SelectionError(
                f"{spec.id}: a table that is read from the log is not read again in parts, as the log goes on from where it is; "
                f"read everything again with {full_refresh(spec)}"
            )
        begin = None if request.mode is Mode.FULL_REFRESH else at.lsn
        layout, moved, owed, moves = layout_of(spec), "", "", False
        if begin is not None:
            if found.behind is not None and not (moves := found.moves and not at.server and not is_repair):
                raise found.behind
            _check_same(spec, at, found, layout)
            _check_shown(spec, state)
            # An `append` is not compared: what it was said of the last run is over.
            moved, owed = _moved(spec, state, seen), at.untold if spec.traits.one_row_per_key else ""
            # A copy that lies beyond the log is not up to date: whoever reads finds out why.
            if found.flushed == begin and not is_repair and not moved and not owed:
                reason = f"the log has nothing behind {lsn_text(begin)}"
                return NothingToDo(reason, *_promise(begin, of_shown(spec)), None, None, warnings=found.warnings)
        elif state is not None:
            # What landed before is replaced: rows that are gone since would stay.
            request = replace(request, mode=Mode.FULL_REFRESH)
        unseen = ("" if begin is None else _unseen(spec, state, at, found)) or of_shown(spec)
        # First all of the log that there was: what it has of a partition that has left would come back behind a comparison.
        compares = is_repair or (bool(owed) and not moved and not at.goes_on)
        upto, told = found.flushed, found.warnings
        if moved and not is_repair:
            owed = " and ".join(filter(None, (owed, moved))) if spec.traits.one_row_per_key else ""
            unseen = unseen or _not_told(spec, moved)
        elif owed and not compares:
            unseen = unseen or _not_told(spec, owed)
        elif owed and not is_repair:
            # The log itself is not read by this sync.
            upto, told = (
                at.lsn or 0,
                (*told, f"{owed} before the last sync, and the log does not tell of their rows: {_COMPARED}"),
            )
        reading = LogReading(
            bound=seen.bound,
            settled=Settled(None, *_promise(upto, unseen)),
            members=seen.parts.members if seen.parts else None,
            begin=begin,
            number=found.number,
            server=found.server,
            layout=layout,
            columns_written=found.columns_written,
            join=None if begin is None else at.join,
            numbered=found.numbered,
            moves=moves,
            untold="" if compares else owed,
            finds_differing=compares,
            finds_gone=compares,
        )
        return SyncPlan(spec, request, commit_ids, reading, state, (*identity_hidden(seen.bound), *told))

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        """Whoever has read it has seen to it that every segment of the range is there."""
        return plan

    def landed(self, plan: SyncPlan, read: Read) -> State:
        """How far it was read; rows that were repaired are there as they were at the position, which stays."""
        reading, found = of_log(plan), shown_by_log(read.snapshot)
        if reading.finds_differing:
            # A history follows them by the copy: no change of the log has brought them.
            stays = replace(_position(plan.previous), behind=None, lacked=None)
            if plan.request.mode is Mode.SYNC:
                stays = replace(stays, members=reading.members, untold="")
            return landed(plan, stays, replace(read, compared=None))
        position = LogPosition(
            lsn=found.end,
            number=reading.number,
            server=reading.server,
            numbered=reading.numbered,
            layout=reading.layout,
            columns_written=reading.columns_written,
            join=found.join,
            behind=reading.begin,
            lacked=reading.join,
            members=reading.members,
            goes_on=found.goes_on,
            untold=reading.untold or in_words(found.strays),
        )
        return landed(plan, position, read)

    def judged(self, plan: SyncPlan, report: SyncReport, state: State) -> tuple[SyncReport, State]:
        """The log may have gone on between the look and the read, and tell of partitions that no look has seen; a repair goes nowhere."""
        at = _position(state)
        if at.lsn is None or plan.reading.promise.guarantee is not Guarantee.SETTLED:
            return report, state
        stray = at.untold if not of_log(plan).finds_differing else ""
        guarantee, reason = _promise(at.lsn, _not_told(plan.spec, stray) if stray else "")
        return replace(report, guarantee=guarantee, guarantee_reason=reason), state

    def position(self, document: Mapping[str, Any]) -> LogPosition:
        """Its own."""
        return LogPosition.from_json(document)

    def moved(self, spec: TableSpec, state: State) -> State:
        """Another server's log is gone on with by the numbers of its transactions. Raises SelectionError where they have none: the places of one log are none of another's."""
        if not _position(state).numbered:
            raise SelectionError(
                f"{spec.id}: {state.position} is a place in the log of one server, and none of another's; load the table again with {reset(spec)}"
            )
        return super().moved(spec, state)


def layout_of(spec: TableSpec) -> str:
    """A digest of the columns that are read."""
    columns = [(each.name, each.source_type, each.spark_type, each.identity) for each in spec.columns]
    return hashlib.sha256(repr(columns).encode()).hexdigest()[:16]


def _promise(position: int, unseen: str = "") -> tuple[Guarantee, str]:
    if unseen:
        return Guarantee.BEST_EFFORT, unseen
    return Guarantee.SETTLED, f"every transaction that the source's log has up to {lsn_text(position)}"


def _not_told(spec: TableSpec, moved: str) -> str:
    later = ", which the next sync compares" if spec.traits.one_row_per_key else ""
    return f"{moved} since the last sync, and the log does not tell of their rows{later}"


def _position(state: State | None) -> LogPosition:
    # Under other terms it is only asked for where everything is read again.
    return state.position if state is not None and isinstance(state.position, LogPosition) else NOWHERE


def _log_of(spec: TableSpec, seen: DatabaseObservation) -> LogSeen:
    if not isinstance(seen, LogObservation) or seen.log is None:
        raise TypeError(f"{spec.id}: nobody has looked at the log")
    return seen.log


def _check_same(spec: TableSpec, at: LogPosition, found: LogSeen, layout: str) -> None:
    """Raises SourceExchanged for another log or another table, SchemaChanged for other columns."""
    if at.server and at.server != found.server:
        accepting = f"go on with {accept_source(spec.id)} where a replica has taken over, else " if at.numbered else ""
        raise SourceExchanged(
            f"{spec.id}: the log is another one than that which was read ({found.server}, before {at.server}), as after a failover, a restored backup or an upgrade, and "
            f"what landed last may be missing in it; {accepting}load the table again with {full_refresh(spec)}"
        )
    if at.number != found.number:
        raise SourceExchanged(
            f"{spec.id}: another table has its name than the one that was loaded (number {found.number}, before {at.number}), as after DROP and CREATE, or a swap by "
            f"names: its changes do not belong to the copy; load it again with {full_refresh(spec)}"
        )
    if at.layout != layout:
        raise SchemaChanged(
            f"{spec.id}: the source's columns are not those with which the copy was loaded, and no log tells what ALTER TABLE did to rows that it did not change; "
            f"load the table again with {full_refresh(spec)}"
        )


def _check_shown(spec: TableSpec, state: State | None) -> None:
    """Raises SchemaChanged where values that are stored show as others, such as a label of an enum that has another name."""
    means = _altered(spec, state, COLUMN)
    if means:
        raise SchemaChanged(
            f"{spec.id}: {told(means)}, and no log tells that of rows that did not change; load the table again with {full_refresh(spec)}"
        )


def _altered(spec: TableSpec, state: State | None, kind: str) -> tuple[str, ...]:
    if state is None or state.definition is None or spec.shape.facts is None:
        return ()
    return alterations(state.definition, [fact for fact in spec.shape.facts if fact.name.startswith(kind)])


def _moved(spec: TableSpec, state: State | None, seen: DatabaseObservation) -> str:
    """What was done since the last sync to partitions as a whole, as part of a sentence; empty where nothing was."""
    moved = moved_parts(state, seen.parts, _log_of(spec, seen).empty)
    means = _altered(spec, state, _FILE) if spec.shape.is_partitioned else ()
    return moved or told(means)


def _unseen(spec: TableSpec, state: State | None, at: LogPosition, found: LogSeen) -> str:
    """Why changes may be missing in the log, where the rows have another file, of which it tells TRUNCATE alone; empty where none can be.

    Raises SchemaChanged where a column was altered beside it, as ALTER TABLE may have computed its values anew under the same type. VACUUM FULL, CLUSTER and the like leave every row as it is.
    """
    means = _altered(spec, state, _FILE)
    if not means:
        return ""
    if at.columns_written not in ("", found.columns_written):
        raise SchemaChanged(
            f"{spec.id}: {told(means)} and a column was altered since the last sync, and no log tells whether ALTER TABLE has computed its values anew; "
            f"load the table again with {full_refresh(spec)}"
        )
    if found.always_logged or spec.shape.is_partitioned:
        return ""
    return (
        f"{told(means)} since the last sync, and the publication does not name the table, so that it may have been UNLOGGED for a while, whose changes are in no log: "
        f"load it again with {full_refresh(spec)} if it was, and publish it by its name"
    )
