"""What a range of records leaves of each row: the newest change by the source's log, and by offset where that does not tell. Pure.

A connector that was started again sends changes that it has sent before. They are older than the row in the copy, or equal to it, so that none of them takes a newer one back.

A row that a snapshot has read says where the log was, and not where the row was written: a transaction that was open then commits behind it, with changes that lie before it in the log.
So it counts as what it is by its offset, and its row keeps the place of the change before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from incremental_assets.adapters.topics.changes import Change, Key
from incremental_assets.adapters.topics.events import DELETED, MESSAGE, READ, TOMBSTONE, TRUNCATED
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
    highest: int = field(init=False)
    latest: int = field(init=False)
    """Of the log: nearly every change moves them."""
    written: dict[int, int] = field(default_factory=dict)
    deletes: dict[int, tuple[int, int]] = field(init=False)
    """Offset and place of a delete that is the last record so far of its partition."""
    goes_on: bool = field(init=False)
    """Whether changes were read before this range."""
    changed: set[int] = field(default_factory=set)
    """Partitions of which it has a change so far."""

    def __post_init__(self) -> None:
        self.goes_on = self.log.has_changes
        self.highest, self.latest = self.log.highest, self.log.latest
        self.deletes = {number: (offset, place) for number, offset, place in self.log.deletes}

    def add(self, change: Change) -> None:
        self._add(change)
        number, offset = change.record.partition, change.record.offset
        self.deletes.pop(number, None)
        if change.op == DELETED and change.place is not None:
            self.deletes[number] = (offset, change.order)

    def known(self) -> Log:
        """What is known of the source's log by now."""
        deletes = tuple((number, *each) for number, each in sorted(self.deletes.items()))
        return replace(self.log, highest=self.highest, latest=self.latest, deletes=deletes)

    def _add(self, change: Change) -> None:
        latest = self.latest
        if is_read(change):
            # Wherever it lies, a snapshot finds the log beyond all that was read of it.
            check_order(change, self.highest, latest)
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
        if chain and any(_is_before(change, each) for each in chain):
            return
        self._order(change, chain)
        if chain:
            check_order(change, max(each.order for each in chain), latest)
        if is_read(change):
            self._show(change, chain)
            return
        if chain and change.order >= max(each.order for each in chain) and is_whole(change):
            chain.clear()
        chain.append(change)

    @staticmethod
    def _show(change: Change, chain: list[Change]) -> None:
        """A row as a snapshot has read it."""
        before = max((each.order for each in chain), default=-1)
        if reached(change) >= before:
            change.order = before
            chain[:] = [change]

    def _learn(self, change: Change) -> None:
        place = change.place
        if place is None:
            return
        server = self.log.server
        if place.server and server and place.server != server:
            raise OtherLog(f"it is of the log of server {place.server}, and those before of server {server}")
        self.highest, self.latest = max(self.highest, place.number), max(self.latest, place.at)
        partition, is_change = change.record.partition, not is_read(change)
        if (place.server and not server) or (is_change and not self.log.has_changes):
            self.log = replace(self.log, server=place.server or server, has_changes=self.log.has_changes or is_change)
        if is_change:
            self.changed.add(partition)
        elif place.is_snapshot:
            # A connector reads its first one before all changes. What came before another one need not be there any more.
            known = self.log.snapshot
            again = known != place.number if known else self.goes_on or partition in self.changed
            self.log = replace(
                self.log, snapshot=known or place.number, is_taken_again=self.log.is_taken_again or again
            )

    def _order(self, change: Change, chain: list[Change]) -> None:
        if change.place is not None:
            return
        here = [each for each in chain if each.record.partition == change.record.partition]
        offset, place = self.deletes.get(change.record.partition, (-1, -1))
        if self.by_place and here:
            # A tombstone, or a record that cannot be read, comes behind the change before it of the same key.
            change.order = here[-1].order
        elif self.by_place and change.op == TOMBSTONE and offset == change.record.offset - 1:
            # The delete that it belongs to was in the range before.
            change.order = place
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
    return Folded(dict(_kept(fold.rows, emptied)), fold.lost, fold.known(), emptied > before.emptied)


def check_order(change: Change, other: int, latest: int) -> None:
    """Raises OtherLog where a change lies before another of its row, and is younger than all that had been read: one that comes again is not, and one that is new lies behind."""
    if 0 <= reached(change) < other and change.place is not None and change.place.at > latest > 0:
        raise OtherLog("the source's log goes back while its time goes on, as that of another server")


def is_read(change: Change) -> bool:
    """Whether it is a row as a snapshot has read it, and its place says where the log was."""
    return change.op == READ and change.place is not None


def reached(change: Change) -> int:
    """How far the log had come with it; -1 where that is not known."""
    return change.order if change.place is None else change.place.number


def _is_before(change: Change, read: Change) -> bool:
    """Whether it is older than what a snapshot has read, of a row that has been in two partitions, as one was added."""
    if (
        not is_read(read)
        or change.place is None
        or read.place is None
        or change.record.partition == read.record.partition
    ):
        return False
    return change.place.number < read.place.number and change.place.at < read.place.at


def is_whole(change: Change) -> bool:
    """Whether nothing of the row before is needed."""
    return not change.unsent and change.op != TOMBSTONE


def _kept(rows: dict[Key, list[Change]], emptied: int) -> Iterator[tuple[Key, list[Change]]]:
    for key, chain in rows.items():
        # A truncation holds the whole table: what lies before it in the log is gone with it, whichever partition it comes from.
        left = [each for each in chain if reached(each) == -1 or reached(each) >= emptied]
        if left:
            yield key, sorted(left, key=lambda each: (each.order, each.record.partition, each.record.offset))
