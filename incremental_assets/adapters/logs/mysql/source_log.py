"""The binlog of one source as its tables are read from it: what a look tells of them, where a load begins, and the changes behind a position."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.errors import explained
from incremental_assets.adapters.logs import kept
from incremental_assets.adapters.logs.alone import TURN_SECONDS, alone
from incremental_assets.adapters.logs.disk import written_to
from incremental_assets.adapters.logs.following import Following, Record, record, record_in
from incremental_assets.adapters.logs.joining import Snapshot
from incremental_assets.adapters.logs.log_of_source import KEEP, Copy, Joined
from incremental_assets.adapters.logs.mysql.events import Unreadable
from incremental_assets.adapters.logs.mysql.fitness import check_settings, check_standing, check_table, has_taken_over
from incremental_assets.adapters.logs.mysql.look import Described, Look, described, look
from incremental_assets.adapters.logs.mysql.missing import missing_sql
from incremental_assets.adapters.logs.mysql.place import Place, place_of
from incremental_assets.adapters.logs.mysql.reading import Moment, Tables, read_on, standing_at
from incremental_assets.adapters.logs.mysql.standing import left_at, standing_of
from incremental_assets.adapters.logs.segments.manifest import Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.adapters.logs.start_anew import start_anew
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.captures.log.observation import LogSeen
from incremental_assets.core.captures.log.standing import LogStanding
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.config.database_settings import LogTerms
from incremental_assets.core.errors import (
    IncrementalAssetsError,
    LakeRefused,
    SourceExchanged,
    SourceRefused,
    SourceUnreachable,
)
from incremental_assets.core.model.change_columns import as_in_source
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId

_POLL_SECONDS = 0.2
_ALL_SHOWN = Snapshot(1, 1, frozenset(), 0)
"""What is read of the log is visible in the source by then, so that each later snapshot shows it."""


@dataclass(frozen=True)
class SourceLog:
    """Implements `logs.log_of_source.SourceLog`. `folder` has the segments. `moment` is called before each step of a read with its name."""

    address: Address
    terms: LogTerms
    folder: Path
    patience: float = 60.0
    moment: Moment = lambda _: None

    @property
    def shelf(self) -> Shelf:
        """The segments."""
        return Shelf(self.folder)

    def seen(self, specs: Sequence[TableSpec]) -> tuple[LogSeen, ...]:
        """What the log says of each table now. Raises SourceUnreachable."""
        try:
            with self._asked() as connection:
                found, tables = look(connection), described(connection, [_name(spec.id) for spec in specs])
        except SourceRefused as error:
            # Of the tables that are read from the log, and of no other.
            return tuple(self._seen(spec, None, None, error, error) for spec in specs)
        refused = kept.refusal(lambda: check_settings(found))
        try:
            standing = self.shelf.standing()
            behind = refused or _unlike(found, standing)
        except LakeRefused as error:
            standing, behind = None, error
        return tuple(self._seen(spec, (found, standing), tables.get(_name(spec.id)), refused, behind) for spec in specs)

    def missing_sql(self, specs: Sequence[TableSpec]) -> str:
        """Statements for an administrator; empty when nothing is missing. Raises SourceUnreachable, SourceRefused."""
        if not specs:
            return ""
        with self._asked() as connection:
            return missing_sql(connection)

    def begin(self, spec: TableSpec) -> int:
        """Follow the table from now on; from this position on its changes are in segments. Raises what `read_on` does."""
        with alone(self.folder, TURN_SECONDS):
            with self._asked() as connection:
                found = look(connection)
                check_settings(found)
                why = check_table(
                    described(connection, [_name(spec.id)]).get(_name(spec.id)), as_in_source(spec).shape.names
                )
                if why:
                    raise SourceRefused(f"{spec.id}: {why}")
                known = self._gone_on(connection, found)
            schema, name = _name(spec.id)
            wanted = Following(
                number_of(spec.id),
                spec.key,
                spec.shape.left_out,
                f"{schema}\0{name}",
                0,
                old_rows=spec.traits.keeps_versions,
            )
            followers = known.follow(wanted)
            try:
                return self._read_on(followers, moves=True).position
            except (Unreadable, SourceExchanged):
                with self._asked() as connection:
                    return self._anew(connection, look(connection), followers).position

    def join(self, begun: int, visible: str) -> Joined | None:
        """A snapshot shows what the log has before a place of it, and nothing behind that; None where the table was not followed by then."""
        name, _, offset = visible.rpartition(":")
        standing = self.shelf.standing()
        turn = Place.of(standing.position).turn if standing else 0
        position = place_of(turn, name, int(offset)).position
        return Joined(position, None) if position >= begun else None

    def held_up(self) -> str:
        """Why no snapshot can be joined."""
        return "the snapshots that the server opens lie before the place up to which its log was read; try again, and name the server itself as `host` where a proxy answers"

    def shown(self) -> Snapshot:
        """Whatever is read of the log was visible before."""
        return _ALL_SHOWN

    def read_to_now(self, copy: Copy) -> None:
        """As `read_on`, and up to all that any snapshot before has shown."""
        with self._asked() as connection:
            file, offset = look(connection).visible
        until = time.monotonic() + self.patience
        while True:
            standing = self._read_alone(copy)
            if Place(Place.of(standing.position).turn, file, offset).position <= standing.position:
                return
            this_process.refuse(copy.spec.id)
            if time.monotonic() > until:
                raise SourceUnreachable(
                    f"{copy.spec.id}: transactions that the binlog has are not visible in the source, as one that waits for a replica; try again"
                )
            time.sleep(_POLL_SECONDS)

    def read_ahead(self) -> str:
        """Nothing: the server keeps its binlog for nobody, for as long as its own settings say."""
        return ""

    def empty(self, parts: Sequence[int]) -> frozenset[int]:
        """None: the log has the changes of a table, whichever of its partitions they are in."""
        return frozenset(parts[:0])

    def standing(self) -> LogStanding:
        """Where the log stands."""
        with self._asked() as connection:
            return standing_of(look(connection), self.folder)

    def read_on(self, copies: Sequence[Copy]) -> Mapping[int, LakeRefused]:
        """Decode what the log has into segments, for all tables that are followed. Raises as `reading.read_on` does."""
        with alone(self.folder, TURN_SECONDS):
            known, unknown = kept.landed(self.folder, copies)
            if len(unknown) < len(copies):
                self._read_for(known)
            return unknown

    def read_elsewhere(self, copy: Copy) -> None:
        """As `read_on`, on the server that has taken the place of the one before."""
        self._read_alone(copy, moves=True)

    def check_whole(self) -> None:
        """Raises LakeRefused where the last segment that was there is no more."""
        kept.recorded(self.folder)

    def _read_alone(self, copy: Copy, *, moves: bool = False) -> Standing:
        with alone(self.folder, TURN_SECONDS):
            return self._read_for(kept.landed_alone(self.folder, copy), moves=moves)

    def _read_for(self, known: Record, *, moves: bool = False) -> Standing:
        found = self._read_on(known, moves=moves)
        self.shelf.prune(known.passed, KEEP, datetime.now(UTC))
        return found

    def _gone_on(self, connection: Connection, found: Look) -> Record:
        """Which tables are followed, from where the log was left, or anew where that cannot be gone on from."""
        known, standing = kept.left(self.folder)
        if standing is None and not known.tables and not self.shelf.names():
            return known
        # One that has taken over is gone on with for the other tables too, once they accept it.
        goes_on = standing is not None and (_unlike(found, standing) is None or has_taken_over(found, standing))
        if goes_on and known.tables and kept.is_whole(self.shelf, known):
            return known
        self._anew(connection, found, known)
        return record_in(self.folder)

    def _anew(self, connection: Connection, found: Look, known: Record) -> Standing:
        """From where the log is now. Its places are later than all of before, whatever the server calls them."""
        before = kept.standing_if_any(self.shelf)
        turn = Place.of(before.position).turn + 1 if before else 0
        number = before.number if before else self.shelf.last_number()
        after = standing_at(connection, found, number + 1, turn)
        with written_to(self.folder):
            own_folder(self.folder)
        record(
            self.folder, record_in(self.folder), start_anew(self.shelf, known, after, before.position if before else 0)
        )
        return after

    def _read_on(self, known: Record, *, moves: bool) -> Standing:
        names = {
            (schema, name): number
            for number, each in known.tables.items()
            for schema, _, name in [each.joined.partition("\0")]
        }
        tables = Tables({number: each.followed for number, each in known.tables.items()}, names)
        with kept.following(self.folder, known), self._asked() as connection:
            return read_on(connection, self.shelf, tables, moves=moves, moment=self.moment)

    def _seen(
        self,
        spec: TableSpec,
        told: tuple[Look, Standing | None] | None,
        table: Described | None,
        refused: IncrementalAssetsError | None,
        behind: IncrementalAssetsError | None,
    ) -> LogSeen:
        why = "" if refused else check_table(table, as_in_source(spec).shape.names)
        own = SourceRefused(f"{spec.id}: {why}") if why else refused and kept.of_table(spec, refused)
        found, standing = told or (None, None)
        place = left_at(found, standing)
        return LogSeen(
            flushed=Place(place.turn, *found.visible).position if found else 0,
            number=number_of(spec.id),
            server=f"{found.server}/binlog" if found else "",
            kept_bytes=found.bytes_from(place.file, place.offset) if found and standing else 0,
            refused=own,
            behind=own or (behind and kept.of_table(spec, behind)),
            numbered=True,
            moves=own is None and bool(found and standing and has_taken_over(found, standing)),
        )

    @contextmanager
    def _asked(self) -> Iterator[Connection]:
        with self.address.budget.look(), explained(self.address):
            connection = Connection(self.address)
            try:
                with this_process.cancelling(connection.abort):
                    yield connection
            finally:
                connection.close()


def number_of(table: TableId) -> int:
    """What a table is numbered by: its name alone, as the log tells when another one gets that."""
    return int.from_bytes(hashlib.sha256("\0".join(_name(table)).encode()).digest()[:6], "big")


def _name(table: TableId) -> tuple[str, str]:
    return table.schema, table.name


def _unlike(found: Look, standing: Standing | None) -> IncrementalAssetsError | None:
    """Why the log cannot be gone on with from where it was read to."""
    return None if standing is None else kept.refusal(lambda: check_standing(found, standing))
