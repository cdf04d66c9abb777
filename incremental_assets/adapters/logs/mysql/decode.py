"""The events of a binlog as changes of tables in Arrow: row by row into texts, and those column by column into values as a snapshot's are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from incremental_assets.adapters.logs.changes import Change
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.mysql.events import Event, Kind, Unreadable
from incremental_assets.adapters.logs.mysql.group import Group, group_of
from incremental_assets.adapters.logs.mysql.gtids import Gtids
from incremental_assets.adapters.logs.mysql.layout import Reading, Shape, emptied, reading_of
from incremental_assets.adapters.logs.mysql.octets import Octets
from incremental_assets.adapters.logs.mysql.place import Place
from incremental_assets.adapters.logs.mysql.query import statement_of
from incremental_assets.adapters.logs.mysql.rows import Mark, Rows, Sent
from incremental_assets.adapters.logs.mysql.statements import Does, Name, Told, first_words, told
from incremental_assets.adapters.logs.mysql.table_map import TableMap, parse
from incremental_assets.adapters.logs.segments.writing import Changes, Committed
from incremental_assets.core.errors import SchemaChanged, SourceExchanged, StageBroken
from incremental_assets.core.model.cures import LOAD_AGAIN

_AT_ONCE = 16_384
"""Rows of all tables that are in memory before they are handed on."""
_BYTES_AT_ONCE = 64 << 20
_NEW = {Kind.WRITE_1, Kind.WRITE}
_CHANGED = {Kind.UPDATE_1, Kind.UPDATE}
_WITH_MORE = {Kind.WRITE, Kind.UPDATE, Kind.DELETE}
_ROWS = _NEW | _CHANGED | {Kind.DELETE_1, Kind.DELETE}
_AGAIN = f"load it again with {LOAD_AGAIN}"
_WHY = {
    Does.ALTERS: f"a statement has altered, renamed, dropped or made it ({{}}), and the log does not tell what that did to its rows; {_AGAIN}",
    Does.WRITES: f"a session has written to the log by statements ({{}}), and not by rows, which tells nobody what became of them; see that no session sets binlog_format, and {_AGAIN}",
    Does.ROLLS_BACK: f"a transaction was taken back in part after tables of another engine had been written ({{}}), and the log has both; {_AGAIN}",
    Does.ENDS_XA: f"a transaction was committed that had been prepared before ({{}}), and the log has its rows at another place; commit by ONE PHASE, and {_AGAIN}",
}
_ILLEGIBLE = f"a statement of a session in another charset may have altered or emptied it, and its text cannot be read here; see that sessions SET NAMES utf8mb4, and {_AGAIN}"
_IMAGE = (
    f"a session has written rows without all of their columns; see that no session sets binlog_row_image, and {_AGAIN}"
)


@dataclass
class Decoder:
    """Goes through a range once. `followed`, and with `names` by their schemas and names; `collations`: the charset of each; `shapes`: what the catalogue says of them.

    The range ends before `until`, and before the first transaction that `shown` does not have.
    """

    followed: Mapping[int, Followed]
    names: Mapping[Name, int]
    collations: Mapping[int, str]
    shapes: Mapping[int, Shape]
    is_mariadb: bool
    gtids: Gtids
    end: Place
    """Behind the last transaction that was read."""
    until: Place
    shown: Gtids | None = None
    passed: Gtids | None = None
    """What was read before on the server whose place this one has taken."""
    is_moved: bool = False
    """Whether the range is the first of this server."""
    last_second: int | None = None
    failed: dict[int, str] = field(default_factory=dict)
    """Of tables by their number, why their changes cannot be read: those of others go on."""
    is_over: bool = False
    is_whole: bool = True
    """Whether the range ends where it was to, and not before a transaction that is not visible."""
    _maps: dict[int, tuple[int, Reading | None]] = field(default_factory=dict)
    _rows: dict[int, Rows] = field(default_factory=dict)
    _held: int = 0
    _held_bytes: int = 0
    _group: Group | None = None
    _written: set[int] = field(default_factory=set)
    """Tables that the transaction has written to."""
    _done: list[Group] = field(default_factory=list)
    _full: list[Changes] = field(default_factory=list)

    def decode(self, events: Iterable[Event]) -> Iterator[tuple[list[Changes], Committed]]:
        """Some rows at a time. Raises Unreadable, StageBroken, SourceRefused."""
        for event in events:
            self._take(event)
            if self.is_over:
                break
            if self._held >= _AT_ONCE or self._held_bytes >= _BYTES_AT_ONCE:
                yield self._handed_on()
        if self._group is not None and not self.is_over:
            raise StageBroken("the binlog ends within a transaction; nothing was written, try again")
        yield self._handed_on()

    def _take(self, event: Event) -> None:
        kind = event.kind
        if kind in (Kind.GTID, Kind.MARIADB_GTID):
            self._begin(event)
        elif kind is Kind.ANONYMOUS:
            raise Unreadable(
                "transactions have no global numbers there; SET GLOBAL gtid_mode = ON, by the steps of the server's manual, and after that load the tables again with "
                f"{LOAD_AGAIN}"
            )
        elif kind is Kind.TABLE_MAP:
            self._map(event)
        elif kind in _ROWS:
            self._change(event)
        elif kind is Kind.QUERY:
            self._query(event)
        elif kind in (Kind.XID, Kind.XA_PREPARE):
            if kind is Kind.XA_PREPARE and event.body[0] == 0 and not self._in_group().is_passed:
                # Its rows count from its commit on, which names none of them.
                self._fail(self._written, _WHY[Does.ENDS_XA].format("XA PREPARE"))
            self._commit(event)

    def _begin(self, event: Event) -> None:
        group = group_of(event)
        is_visible = self.shown is None or self.shown.has(group.origin, group.number)
        if group.position >= self.until.position or not is_visible:
            self.is_over, self.is_whole = True, group.position >= self.until.position
            return
        group.is_passed = self.passed is not None and self.passed.has(group.origin, group.number)
        if self.is_moved and not group.is_passed and self.gtids.skips(group.origin, group.number):
            raise SourceExchanged(
                f"the server that has taken over lacks transactions in its log that came after what was read, or has written some of its own while it was a replica (before "
                f"{group.origin}-{group.number}), so that nothing shows whether one is missing; load the tables again with {LOAD_AGAIN}"
            )
        self._group, self._written = group, set[int]()

    def _commit(self, event: Event) -> None:
        group = self._in_group()
        self.gtids.add(group.origin, group.number)
        if group.changes:
            self._done.append(group)
            self.last_second = group.second
        self._group, self.end = None, event.end

    def _map(self, event: Event) -> None:
        found = parse(event.body, is_mariadb=self.is_mariadb)
        number = self.names.get((found.schema, found.name))
        if number is None or self._in_group().is_passed:
            self._maps[found.number] = (0, None)
            return
        self._maps[found.number] = (number, None if number in self.failed else self._known(number, found))

    def _known(self, number: int, found: TableMap) -> Reading | None:
        try:
            return reading_of(found, self.followed[number], self.collations, self.shapes[number])
        except SchemaChanged as error:
            self.failed[number] = str(error)
            return None

    def _change(self, event: Event) -> None:
        octets = Octets(event.body)
        table = octets.number(6)
        octets.skip(2)
        if event.kind in _WITH_MORE:
            octets.skip(octets.number(2) - 2)
        if table not in self._maps:
            raise StageBroken(
                "the binlog has rows of a table before it says what its columns are; nothing was written, please report it"
            )
        number, reading = self._maps[table]
        group = self._in_group()
        if not number:
            return
        self._written.add(number)
        if reading is None or number in self.failed:
            return
        count, width = octets.length(), (len(reading.readers) + 7) // 8
        present = [int.from_bytes(octets.bytes(width), "little") for _ in range(2 if event.kind in _CHANGED else 1)]
        if count != len(reading.readers) or any(each & ((1 << count) - 1) != (1 << count) - 1 for each in present):
            self.failed[number] = _IMAGE
            return
        self._held_bytes += len(event.body)
        self._read(event.kind, octets, number, reading, group)

    def _read(self, kind: Kind, octets: Octets, number: int, reading: Reading, group: Group) -> None:
        rows, (data, at) = self._rows_of(number, reading), (octets.data, octets.at)
        while at < len(data):
            row, at = _row(data, at, reading)
            group.changes += 1
            mark = Mark(group.position, group.second, group.changes)
            self._held += 1
            if kind in _NEW:
                rows.put(Change.INSERT, row, mark)
            elif kind in _CHANGED:
                after, at = _row(data, at, reading)
                if reading.key and rows.key_of(row) != rows.key_of(after):
                    rows.gone(row, mark, is_left=True)
                rows.put(Change.UPDATE, after, mark)
            else:
                rows.gone(row, mark)

    def _query(self, event: Event) -> None:
        statement, group = statement_of(event.body, self.collations), self._in_group()
        text = statement.text
        if (not group.begun and text.strip().lower() in ("begin", "start transaction")) or text.upper().startswith(
            ("XA START", "XA BEGIN")
        ):
            group.begun = True
            return
        found = told(text, statement.schema, self.names)
        if not group.is_passed:
            self._told(found, text, group)
            if not statement.is_legible:
                # It may name any table whose name has such characters.
                self._fail([number for name, number in self.names.items() if not "".join(name).isascii()], _ILLEGIBLE)
        if (
            not group.begun
            or found.does in (Does.COMMITS, Does.ENDS_XA)
            or text.strip().lower() == "rollback"
            or text.upper().startswith(("XA ROLLBACK",))
        ):
            self._commit(event)

    def _told(self, found: Told, text: str, group: Group) -> None:
        if found.does in _WHY:
            tables = self._written if found.does is Does.ROLLS_BACK else {self.names[name] for name in found.tables}
            self._fail(tables, _WHY[found.does].format(first_words(text)))
        elif found.does is Does.EMPTIES:
            self._empty(found, group)

    def _empty(self, found: Told, group: Group) -> None:
        for name in found.tables:
            number = self.names[name]
            if number in self.failed:
                continue
            group.changes += 1
            mark = Mark(group.position, group.second, group.changes)
            known = self._rows.get(number)
            layout = known.reading.layout if known else emptied(self.followed[number], name, self.shapes[number])
            self._rows_of(number, known.reading if known else Reading(layout, (), (), ())).emptied(mark)
            self._held += 1

    def _fail(self, numbers: Iterable[int], why: str) -> None:
        for number in numbers:
            self.failed.setdefault(number, why)
        group = self._in_group()
        group.changes = max(group.changes, 1)

    def _rows_of(self, number: int, reading: Reading) -> Rows:
        rows = self._rows.get(number)
        if rows is not None and rows.reading.layout != reading.layout:
            self._full.append(Changes(rows.reading.layout, rows.table()))
            rows = None
        if rows is None:
            rows = self._rows[number] = Rows(reading, self.followed[number].old_rows)
        return rows

    def _handed_on(self) -> tuple[list[Changes], Committed]:
        found = [
            *self._full,
            *(Changes(each.reading.layout, each.table()) for each in self._rows.values() if len(each)),
        ]
        # The layout stays known: a table may be emptied before it is written to again.
        self._rows = {number: Rows(each.reading, each.old_rows) for number, each in self._rows.items()}
        done, self._full, self._done, self._held, self._held_bytes = self._done, [], [], 0, 0
        numbers = [
            np.array(each, np.int64)
            for each in (
                [0 for _ in done],
                [each.position for each in done],
                [each.second * 1_000_000 for each in done],
                [each.changes for each in done],
            )
        ]
        return found, Committed(*numbers)

    def _in_group(self) -> Group:
        if self._group is None:
            raise StageBroken(
                "the binlog has a change outside of any transaction; nothing was written, please report it"
            )
        return self._group


def _row(data: bytes, at: int, reading: Reading) -> tuple[Sent, int]:
    readers = reading.readers
    width = (len(readers) + 7) // 8
    missing = int.from_bytes(data[at : at + width], "little")
    at += width
    values: Sent = []
    for place, read in enumerate(readers):
        if missing >> place & 1:
            values.append(None)
        else:
            value, at = read(data, at)
            values.append(value)
    return (values if len(reading.wanted) == len(values) else [values[place] for place in reading.wanted]), at
