"""What a range of records leaves of each row: the newest change by the source's log, and by offset where that does not tell. Pure.

A connector that was started again sends changes that it has sent before. They are older than the row in the copy, or equal to it, so that none of them takes a newer one back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from incremental_assets.adapters.topics.changes import Change, Key
from incremental_assets.adapters.topics.events import MESSAGE, TOMBSTONE, TRUNCATED
from incremental_assets.core.captures.topic.position import Log


class OtherLog(ValueError):
    """Places that cannot be of one log; the text says which."""


@dataclass(frozen=True, slots=True)
class Folded:
    """For each key its changes in their order, the last one being what becomes of it; the records that cannot land and name no row; what is known of the log by then."""

    rows: dict[Key, list[Change]]
    lost: list[Change]
    log: Log
    emptied: bool
    """Whether a truncation came that had not come before."""


@dataclass(slots=True)
class _Fold:
    by_place: bool
    log: Log
    rows: dict[Key, list[Change]] = field(default_factory=dict)
    lost: list[Change] = field(default_factory=list)
    written: dict[int, int] = field(default_factory=dict)

    def add(self, change: Change) -> None:
        latest = self.log.latest
        self._learn(change)
        if change.op == MESSAGE:
            return
        if change.op == TRUNCATED and change.reject is None:
            self.log = replace(self.log, emptied=max(self.log.emptied, change.order))
            return
        if change.key is None:
            self.lost.append(change)
            return
        chain = self.rows.setdefault(change.key, [])
        self._order(change, chain)
        if chain:
            check_order(change, max(each.order for each in chain), latest)
        if chain and change.order >= max(each.order for each in chain) and is_whole(change):
            chain.clear()
        chain.append(change)

    def _learn(self, change: Change) -> None:
        place = change.place
        if place is None:
            return
        server = self.log.server
        if place.server and server and place.server != server:
            raise OtherLog(f"it is of the log of server {place.server}, and those before of server {server}")
        self.log = Log(
            place.server or server,
            max(self.log.highest, place.number),
            max(self.log.latest, place.at),
            self.log.emptied,
        )

    def _order(self, change: Change, chain: list[Change]) -> None:
        if change.place is not None:
            return
        here = [each for each in chain if each.record.partition == change.record.partition]
        if self.by_place and here:
            # A tombstone, or a record that cannot be read, comes behind the change before it of the same key.
            change.order = here[-1].order
        elif not self.by_place:
            # Within a partition the offsets order them, and of two partitions the time does.
            number = change.record.partition
            change.order = self.written[number] = max(self.written.get(number, -1), change.record.at)


def folded(changes: Iterable[Change], before: Log, *, by_place: bool) -> Folded:
    """`by_place`: whether records say where in the source's log they are. Raises OtherLog."""
    fold = _Fold(by_place, before)
    for change in changes:
        try:
            fold.add(change)
        except OtherLog as error:
            raise OtherLog(f"offset {change.record.offset} of partition {change.record.partition}: {error}") from None
    emptied = fold.log.emptied
    return Folded(dict(_kept(fold.rows, emptied)), fold.lost, fold.log, emptied > before.emptied)


def check_order(change: Change, other: int, latest: int) -> None:
    """Raises OtherLog where a change lies before another of its row, and is younger than all that had been read: one that comes again is not, and one that is new lies behind."""
    if 0 <= change.order < other and change.place is not None and change.place.at > latest > 0:
        raise OtherLog("the source's log goes back while its time goes on, as that of another server")


def is_whole(change: Change) -> bool:
    """Whether nothing of the row before is needed."""
    return not change.unsent and change.op != TOMBSTONE


def _kept(rows: dict[Key, list[Change]], emptied: int) -> Iterator[tuple[Key, list[Change]]]:
    for key, chain in rows.items():
        # A truncation holds the whole table: what lies before it in the log is gone with it, whichever partition it comes from.
        left = [each for each in chain if each.order == -1 or each.order >= emptied]
        if left:
            yield key, sorted(left, key=lambda each: (each.order, each.record.partition, each.record.offset))
