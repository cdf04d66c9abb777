"""The log of one source as its tables are read from it: what a look tells of them, where a load begins, and the changes behind a position."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.logs import kept
from incremental_assets.adapters.logs.alone import TURN_SECONDS, alone
from incremental_assets.adapters.logs.changes import Offsets
from incremental_assets.adapters.logs.following import Following, Record
from incremental_assets.adapters.logs.joining import Snapshot
from incremental_assets.adapters.logs.log_of_source import KEEP, Copy, Joined
from incremental_assets.adapters.logs.postgresql.fitness import (
    check_left,
    check_log,
    check_partitioned,
    check_table,
    hidden,
)
from incremental_assets.adapters.logs.postgresql.look import Look, Member, holders, look
from incremental_assets.adapters.logs.postgresql.membership import membership_of
from incremental_assets.adapters.logs.postgresql.missing import missing_sql
from incremental_assets.adapters.logs.postgresql.reading import Log, Moment, Range, read_on
from incremental_assets.adapters.logs.postgresql.resident.client import Resident
from incremental_assets.adapters.logs.postgresql.session import opened
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.standing import standing_of
from incremental_assets.adapters.logs.postgresql.switching import Switching
from incremental_assets.adapters.logs.postgresql.walsender import Walsender
from incremental_assets.adapters.logs.segments.manifest import Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.adapters.logs.start_anew import start_anew
from incremental_assets.core.captures.log.lsn import lsn_of, lsn_text
from incremental_assets.core.captures.log.observation import LogSeen
from incremental_assets.core.captures.log.position import Join
from incremental_assets.core.captures.log.standing import LogStanding
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.config.database_settings import LogTerms
from incremental_assets.core.errors import (
    IncrementalAssetsError,
    LakeRefused,
    SourceRefused,
    SourceUnreachable,
)
from incremental_assets.core.model.change_columns import as_in_source
from incremental_assets.core.model.table import TableSpec

_POLL_SECONDS = 0.2
_AHEAD_BYTES = 512 << 20
"""Of the log, in one look: some seconds' work."""
TAKEN = "SELECT pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text"
"""What tells a snapshot, and up to where the log is written by then."""
_WRITTEN = "SELECT pg_current_wal_insert_lsn()::text"
_EMPTY = "SELECT o::bigint FROM unnest($1::oid[]) AS o WHERE pg_relation_size(o) = 0"
_FLUSHED = "SELECT pg_current_wal_flush_lsn()::text"


@dataclass(frozen=True, slots=True)
class Begun:
    """Where a load begins: from `position` on its table's changes are in segments. `passed`: the transactions before that which segments still have."""

    position: int
    following: Following
    passed: Offsets


@dataclass(frozen=True)
class SourceLog:
    """`folder` has the segments. `moment` is called before each step of a read with its name."""

    address: Address
    terms: LogTerms
    folder: Path
    patience: float = 60.0
    moment: Moment = lambda _: None

    @property
    def slot(self) -> Slot:
        """The slot and the publication."""
        return Slot(self.terms.slot, self.terms.publication)

    @property
    def shelf(self) -> Shelf:
        """The segments."""
        return Shelf(self.folder)

    @property
    def _resident(self) -> Resident:
        return Resident(self.address, self.slot, self.folder)

    def _look(self, asked: Asked) -> Look:
        return self._resident.unread(look(asked, self.slot))

    def seen(self, specs: Sequence[TableSpec]) -> tuple[LogSeen, ...]:
        """What the log says of each table now; two statements. Raises SourceUnreachable, SourceRefused."""
        with self._asked() as asked:
            found = look(asked, self.slot)
        refused = _refusal(found, self.slot, None)
        try:
            standing = self.shelf.standing()
            behind = refused or (_refusal(found, self.slot, standing) if standing else None)
        except LakeRefused as error:
            # Of the tables that are read from the log, and of no other.
            behind = error
        return tuple(self._seen(spec, found, refused, behind) for spec in specs)

    def missing_sql(self, specs: Sequence[TableSpec]) -> str:
        """Statements for an administrator; empty when nothing is missing. Raises SourceUnreachable, SourceRefused."""
        with self._asked() as asked:
            return missing_sql(asked, look(asked, self.slot), self.slot, specs)

    def begin(self, spec: TableSpec) -> Begun:
        """Follow the table from now on. Raises what `read_on` does."""
        with alone(self.folder, TURN_SECONDS), self._asked() as asked:
            found = self._look(asked)
            check_log(found, self.slot, None, None)
            member, why = self._member(spec, found)
            why = why or (hidden(member, spec.key) if member else "")
            if member is None or why:
                raise SourceRefused(f"{spec.id}: {why}")
            known = self._gone_on(found)
            joined = _joined(found, member)
            wanted = Following(
                member.oid,
                spec.key,
                spec.shape.left_out,
                joined,
                found.next_xid,
                old_rows=spec.traits.keeps_versions,
            )
            followers = known.follow(wanted)
            read = self._read_on(asked, followers)
            if _joined(read.look, self._member(spec, read.look)[0]) != joined:
                raise SourceUnreachable(
                    f"{spec.id}: the publication {self.slot.publication} was altered just now; try again"
                )
            position = read.standing.position
            following = followers.tables[member.oid]
            try:
                return Begun(position, following, self._passed(position, found.started))
            except LakeRefused:
                # Which they were is lost: all that have begun by now have to be over.
                later = replace(following, next_xid=look(asked, self.slot).next_xid)
                return Begun(position, later, np.zeros(0, np.int64))

    def join(self, begun: Begun, visible: str) -> Joined | None:
        """How a snapshot that is held joins the log at that position; None where it does not, and has to be taken again. Waits until it is durable."""
        with self._asked() as asked:
            # Asked behind the snapshot: whatever it shows was written before that.
            written = _one(asked, _WRITTEN)
            shown = Snapshot.of(visible, written)
            if not shown.is_after(begun.following.next_xid) or shown.hides(begun.passed):
                return None
            self._wait_until_durable(asked, shown)
            return Joined(begun.position, None if shown.is_passed(begun.position) else Join(visible, shown.looked_at))

    def shown(self) -> Snapshot:
        """Which transactions the source shows now: every later snapshot shows them too."""
        with self._asked() as asked:
            return self._shown(asked)

    def read_to_now(self, copy: Copy) -> None:
        """As `read_on`, and up to all that any snapshot before has shown."""
        with self._asked() as asked:
            self._wait_until_durable(asked, self._shown(asked))
        self.read_elsewhere(copy)

    def empty(self, parts: Sequence[int]) -> frozenset[int]:
        """Those of these partitions, by their numbers, that have no row, nor had one since they were last emptied."""
        with self._asked() as asked:
            return frozenset(oid for (oid,) in asked.execute(_EMPTY, (list(parts),)))

    def held_up(self) -> str:
        """Why no snapshot can be joined, as part of a sentence, with what is open in the source for the longest time."""
        with self._asked() as asked:
            named = "; ".join(f"{each.kind} of {each.what} since {each.since:%H:%M:%S}Z" for each in holders(asked))
        return (
            "a transaction that was open when the table was published still is, or a commit waits for a standby "
            f"({named or 'none is open now'}); try again when it has ended"
        )

    def standing(self) -> LogStanding:
        """Where the log stands."""
        return standing_of(self.address, self.terms, self.folder)

    def read_on(self, copies: Sequence[Copy]) -> Mapping[int, LakeRefused]:
        """Decode what the slot holds into segments, for all tables that are followed. Raises as `reading.read_on` does."""
        with alone(self.folder, TURN_SECONDS), self._asked() as asked:
            known, unknown = kept.landed(self.folder, copies)
            if len(unknown) < len(copies):
                self._read_for(asked, known)
            return unknown

    def read_ahead(self) -> str:
        """A part at a time, as whoever looks has no long time."""
        try:
            with alone(self.folder, 0.0), self._asked() as asked:
                known = kept.recorded(self.folder)
                if known.tables:
                    self._read_on(asked, known, _AHEAD_BYTES)
        except SourceUnreachable:
            # Another run reads it, or the next look finds the source again.
            return ""
        except IncrementalAssetsError as error:
            return (
                f"of what the source keeps for the replication slot {self.terms.slot} nothing more can be read: {error}"
            )
        return ""

    def read_elsewhere(self, copy: Copy) -> None:
        """As `read_on`, which refuses another server: transactions have no numbers by which its log would know them."""
        with alone(self.folder, TURN_SECONDS), self._asked() as asked:
            self._read_for(asked, kept.landed_alone(self.folder, copy))

    def _shown(self, asked: Asked) -> Snapshot:
        ((visible, written),) = asked.execute(TAKEN)
        return Snapshot.of(visible, written)

    def _wait_until_durable(self, asked: Asked, shown: Snapshot) -> None:
        until = time.monotonic() + self.patience
        while not shown.is_durable(lsn_of(_one(asked, _FLUSHED))):
            this_process.refuse(self.terms.slot)
            if time.monotonic() > until:
                raise SourceUnreachable(
                    f"the source does not write its log to disk up to {lsn_text(shown.looked_at)}; try again"
                )
            time.sleep(_POLL_SECONDS)

    def _gone_on(self, found: Look) -> Record:
        """Which tables are followed, from where the log was left, or anew where that cannot be gone on from."""
        known, standing = kept.left(self.folder)
        if standing is None:
            return start_anew(self.shelf, known, _standing(self.shelf.last_number() + 1, found), 0)
        # Without a record what was read had no changes of the tables that it named.
        refused = _refusal(found, self.slot, standing)
        if known.tables and kept.is_whole(self.shelf, known) and refused is None:
            return known
        if refused is not None:
            # A server that was put back, or another one, numbers its transactions in its own way.
            known = known.from_now(found.next_xid)
        return start_anew(self.shelf, known, _standing(standing.number + 1, found), standing.position)

    def check_whole(self) -> None:
        """Raises LakeRefused where the last segment that was there is no more."""
        kept.recorded(self.folder)

    def _read_for(self, asked: Asked, known: Record) -> None:
        self._read_on(asked, known)
        self.shelf.prune(known.passed, KEEP, datetime.now(UTC))

    def _read_on(self, asked: Asked, known: Record, most: int | None = None) -> Range:
        with kept.following(self.folder, known) as scratch:
            log = Log(self.slot, Switching(Walsender(self.address)), self.shelf, scratch, self._resident)
            followed = {oid: each.followed for oid, each in known.tables.items()}
            return read_on(asked, log, followed, self.moment, most)

    def _passed(self, position: int, started: str) -> Offsets:
        """What the log had before a position and no snapshot may show yet: nothing of before the source was started."""
        segments = [self.shelf.manifest(name) for name in self.shelf.names()]
        # Another server numbers others so.
        server = segments[-1].standing.server if segments else None
        found = [
            np.array(self.shelf.transactions(each).column("xid"))
            for each in segments
            if each.end <= position and each.standing.server == server and each.standing.started in ("", started)
        ]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _seen(
        self,
        spec: TableSpec,
        found: Look,
        refused: IncrementalAssetsError | None,
        behind: IncrementalAssetsError | None,
    ) -> LogSeen:
        member, why = (None, "") if refused else self._member(spec, found)
        own = SourceRefused(f"{spec.id}: {why}") if why else refused and kept.of_table(spec, refused)
        return LogSeen(
            flushed=found.flushed or 0,
            number=member.oid if member else 0,
            server=f"{found.server.system}/{found.server.timeline}",
            always_logged=member is None or member.by_name,
            columns_written=member.columns_written if member else "",
            kept_bytes=found.kept_bytes,
            is_overdue=found.lag_bytes > self.terms.max_slot_lag,
            refused=own,
            behind=own or (behind and kept.of_table(spec, behind)),
            warnings=self._warnings(found),
        )

    def _member(self, spec: TableSpec, found: Look) -> tuple[Member | None, str]:
        member = found.publication.member(spec.id) if found.publication else None
        table = f"{spec.id.schema}.{spec.id.name}"
        why = (
            check_partitioned(found.publication, table, self.slot)
            if found.publication and spec.shape.is_partitioned
            else ""
        )
        return member, why or check_table(member, table, self.slot, spec.key, as_in_source(spec).shape.names)

    def _warnings(self, found: Look) -> tuple[str, ...]:
        if found.kept_bytes <= self.terms.max_slot_lag:
            return ()
        sentence = (
            f"the source keeps {found.kept_bytes >> 20:,} MiB of its log for the replication slot {self.terms.slot}, more than `max_slot_lag` allows: what no "
            "table has read of it is read into the lake, a part in each look; what its oldest open transaction needs is kept until that has ended"
        )
        return (sentence,)

    @contextmanager
    def _asked(self) -> Iterator[Asked]:
        with self.address.budget.look(), opened(self.address) as asked:
            yield asked


def _refusal(found: Look, slot: Slot, standing: Standing | None) -> IncrementalAssetsError | None:
    return kept.refusal(lambda: check_left(found, slot, standing))


def _standing(number: int, found: Look) -> Standing:
    """From where the slot is."""
    if found.slot is None or found.publication is None:
        raise ValueError("a log was looked at that has not been checked")
    return Standing(number, found.slot.confirmed, found.server, membership_of(found.publication), started=found.started)


def _joined(found: Look, member: Member | None) -> str:
    """How a table belongs to the publication; it does so without a break for as long as that is the same."""
    if found.publication is None or member is None:
        return ""
    return f"{found.publication.joined}/{member.joined}"


def _one(asked: Asked, sql: str) -> str:
    ((value,),) = asked.execute(sql)
    return str(value)
