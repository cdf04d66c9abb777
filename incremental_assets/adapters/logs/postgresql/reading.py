"""One range of the log, from the slot to a durable segment: looked at, spooled, decoded, written, and only then given up in the source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.joining import whole_numbers
from incremental_assets.adapters.logs.postgresql.decode import Decoder, types_in
from incremental_assets.adapters.logs.postgresql.fitness import check_log, check_standing, hidden
from incremental_assets.adapters.logs.postgresql.kinds import kinds_of
from incremental_assets.adapters.logs.postgresql.look import Look, Publication, SlotState, look
from incremental_assets.adapters.logs.postgresql.membership import gaps, membership_of
from incremental_assets.adapters.logs.postgresql.resident.client import Resident
from incremental_assets.adapters.logs.postgresql.session import without_limit
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Spool
from incremental_assets.adapters.logs.postgresql.transactions import Transactions
from incremental_assets.adapters.logs.postgresql.transport import Transport
from incremental_assets.adapters.logs.postgresql.values import NotBinary
from incremental_assets.adapters.logs.postgresql.wire import Wire
from incremental_assets.adapters.logs.segments.manifest import Manifest, Membership, Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.adapters.logs.segments.writing import Segment
from incremental_assets.core.captures.log.lsn import lsn_text

Moment = Callable[[str], None]
"""Called before each step with its name: a test ends the process there."""


@dataclass(frozen=True, slots=True)
class Log:
    """A source's log: its slot, the transport, where its segments are, where a range is spooled, and who may read it between ranges."""

    slot: Slot
    transport: Transport
    shelf: Shelf
    scratch: Path
    resident: Resident | None = None

    def look(self, asked: Asked) -> Look:
        """What the source says of it now. That we read it between ranges is left out."""
        found = look(asked, self.slot)
        return self.resident.unread(found) if self.resident else found

    def fill(self, asked: Asked, found: Look, upto: int, spool: Spool, *, binary: bool) -> None:
        """Spool what there is up to a position, in the way that costs the source the least."""
        if self.resident is None or not self.resident.fill(asked, found, upto, spool, binary=binary):
            self.transport(asked, self.slot, upto, spool, binary=binary)


@dataclass(frozen=True, slots=True)
class Range:
    """What was read. `manifest` is None where no published table was changed; `left_out` counts changes of published tables that are not followed."""

    look: Look
    standing: Standing
    manifest: Manifest | None
    left_out: int = 0


def start(asked: Asked, log: Log) -> Standing:
    """Where the log was left, or where the slot is, which is recorded before anything is read. Raises as `check_log` does."""
    standing = log.shelf.standing()
    if standing is not None:
        return standing
    found = log.look(asked)
    check_log(found, log.slot, None, None)
    slot, publication = _both(found)
    standing = Standing(1, slot.confirmed, found.server, membership_of(publication), started=found.started)
    log.shelf.stand(standing)
    return standing


def read_on(
    asked: Asked,
    log: Log,
    followed: Mapping[int, Followed],
    moment: Moment = lambda _: None,
    most: int | None = None,
) -> Range:
    """Read up to where the log is flushed, or `most` bytes of it and the rest of the transaction there. Raises as `check_log` does, LakeRefused, StageBroken, SourceRefused for a message that is not known."""
    before = start(asked, log)
    found = log.look(asked)
    check_standing(found, log.slot, before)
    slot, publication = _both(found)
    membership = membership_of(publication)
    missing = gaps(before.membership, membership)
    if not found.has_moved(before.position) and not missing:
        if slot.confirmed < before.position:
            # A run has died before it could, or the source has crashed and forgotten.
            _give_up(asked, log, before.position, moment)
        return Range(found, before, None)
    upto = found.flushed or 0
    if most is not None:
        upto = min(upto, before.position + most)
    ahead = _Ahead(before, found, upto, membership, {**_hidden(publication, followed), **missing}, followed)
    try:
        read = _range(asked, log, ahead, moment, binary=before.binary)
    except NotBinary:
        # What was begun is gone, and the slot has it still.
        read = _range(asked, log, ahead, moment, binary=False)
    _give_up(asked, log, read.standing.position, moment)
    return read


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What is to be read: from where on, and what was seen before."""

    before: Standing
    look: Look
    upto: int
    membership: Membership
    gaps: Mapping[int, str]
    followed: Mapping[int, Followed]


def _range(asked: Asked, log: Log, ahead: _Ahead, moment: Moment, *, binary: bool) -> Range:
    """Up to a durable segment, or a durable position where there is nothing for one. Raises NotBinary where the range has to come as texts."""
    before, upto = ahead.before, ahead.upto
    moment("spool")
    with Spool(log.scratch) as spool, log.shelf.segment() as segment:
        log.fill(asked, ahead.look, upto, spool, binary=binary)
        # Between the look and the read another one may have taken from the slot what was not read here.
        check_standing(log.look(asked), log.slot, before)
        wire = Wire.of(asked.encoding)
        kinds = kinds_of(asked, types_in(spool, ahead.followed, wire))
        fits = all(kind.binary for kind in kinds.values())
        if binary and not fits:
            raise NotBinary
        decoder = Decoder(Transactions(before.position), ahead.followed, kinds, wire)
        _decode(spool, decoder, segment, moment)
        moment("write")
        transactions, pieces = segment.files()
        end, last = decoder.transactions.end, decoder.transactions.last_commit_at
        position = max(before.position, upto if end is None else end)
        is_binary = fits and not decoder.rejected
        after = Standing(
            before.number + 1,
            position,
            ahead.look.server,
            ahead.membership,
            is_binary,
            started=ahead.look.started,
            last_xid=_last_xid(before, decoder.transactions, ahead.look),
        )
        missing = {**ahead.gaps, **decoder.failed}
        # Of published tables that are not followed the transactions count as well: a snapshot by which one of them begins must show them.
        if not pieces and not missing and not transactions.rows:
            moment("stand")
            log.shelf.stand(after)
            return Range(ahead.look, after, None, decoder.left_out)
        names, now = log.shelf.names(), datetime.now(UTC)
        follows = names[-1] if names else ""
        parts = decoder.parts.without(ahead.membership.tables)
        manifest = Manifest(before.position, follows, after, now, _time(last), transactions, pieces, missing, parts)
        moment("finish")
        segment.finish(manifest)
    return Range(ahead.look, after, manifest, decoder.left_out)


def _decode(spool: Spool, decoder: Decoder, segment: Segment, moment: Moment) -> None:
    for block in spool.blocks():
        moment("decode")
        decoded = decoder.decode(block)
        segment.add(decoded.changes, decoded.committed)


def _give_up(asked: Asked, log: Log, position: int, moment: Moment) -> None:
    """The source need keep nothing before the position. When it crashes it may forget that: a range begins before the position then, which is passed over."""
    moment("advance")
    if log.resident is None or not log.resident.advance(asked, position):
        # It decodes the range once more.
        with without_limit(asked):
            asked.execute(
                "SELECT pg_catalog.pg_replication_slot_advance(CAST($1 AS name), CAST($2 AS pg_lsn))",
                (log.slot.name, lsn_text(position)),
            )
    moment("end")


def _both(found: Look) -> tuple[SlotState, Publication]:
    if found.slot is None or found.publication is None:
        raise ValueError("a log was looked at that has not been checked")
    return found.slot, found.publication


def _hidden(publication: Publication, followed: Mapping[int, Followed]) -> dict[int, str]:
    """Of tables by their number, why a change of a key may not be seen in what is read now."""
    found = {each.oid: hidden(each, followed[each.oid].key) for each in publication.members if each.oid in followed}
    return {oid: why for oid, why in found.items() if why}


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else datetime.fromtimestamp(micros / 1_000_000, UTC)


def _last_xid(before: Standing, read: Transactions, found: Look) -> int:
    if read.last_xid is None:
        return before.last_xid
    return int(whole_numbers(np.array([read.last_xid]), found.next_xid)[0])
