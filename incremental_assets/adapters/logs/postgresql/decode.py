"""The messages of the log as changes of tables in Arrow: block by block, and in each block table by table and column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from incremental_assets.adapters.logs.changes import Offsets
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.postgresql import changed_rows
from incremental_assets.adapters.logs.postgresql.fitness import keyless, unfit
from incremental_assets.adapters.logs.postgresql.kinds import TypeId, layout_of
from incremental_assets.adapters.logs.postgresql.letters import RELATION, TRUNCATE
from incremental_assets.adapters.logs.postgresql.named_parts import NamedParts
from incremental_assets.adapters.logs.postgresql.octets import numbers
from incremental_assets.adapters.logs.postgresql.relation import Kind, Layout, Relation
from incremental_assets.adapters.logs.postgresql.spool import Block, Spool
from incremental_assets.adapters.logs.postgresql.transactions import KNOWN, ROWS, Stamps, Transactions
from incremental_assets.adapters.logs.postgresql.wire import UTF8, Wire
from incremental_assets.adapters.logs.segments.writing import Changes, Committed
from incremental_assets.adapters.spark.own_names import REJECT_COLUMN
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.errors import SchemaChanged, SourceRefused, StageBroken


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one block has: changes by table, and which transactions are committed in it."""

    changes: tuple[Changes, ...]
    committed: Committed


@dataclass
class Decoder:
    """Goes through a range once. `kinds`: the types that its relations name, see `types_in`."""

    transactions: Transactions
    followed: Mapping[int, Followed]
    kinds: Mapping[TypeId, Kind]
    wire: Wire = UTF8
    left_out: int = 0
    """Changes of published tables that are not followed."""
    rejected: int = 0
    """Changes that no copy can hold."""
    failed: dict[int, str] = field(default_factory=dict)
    """Of tables by their number, why their changes cannot be read: those of others go on."""
    parts: NamedParts = field(init=False)
    _layouts: dict[int, Layout | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Goes through the same range."""
        self.parts = NamedParts(self.followed)

    def decode(self, block: Block) -> Decoded:
        """The changes behind the position. Raises SourceRefused for a message that is not known, StageBroken, NotBinary."""
        kinds = block.data[block.starts]
        self._check(block, kinds)
        self.parts.follow(block, kinds)
        stamps, committed = self.transactions.follow(block, kinds)
        return Decoded(tuple(self._changes(block, kinds, stamps)), committed)

    def _changes(self, block: Block, kinds: npt.NDArray[np.uint8], stamps: Stamps) -> Iterator[Changes]:
        wanted = np.isin(kinds, ROWS) & stamps.is_new
        begin = 0
        for at in (*np.flatnonzero((kinds == RELATION) | (kinds == TRUNCATE)), len(kinds)):
            yield from self._rows(block, begin + np.flatnonzero(wanted[begin:at]), kinds, stamps)
            begin = int(at) + 1
            if at < len(kinds):
                yield from self._event(block, int(at), kinds, stamps)

    def _event(self, block: Block, at: int, kinds: npt.NDArray[np.uint8], stamps: Stamps) -> Iterator[Changes]:
        message = _bytes(block, at)
        if kinds[at] == RELATION:
            relation = Relation.parse(message, self.wire)
            self._layouts[relation.oid] = self._known(relation)
        elif stamps.is_new[at]:
            for place in range(6, len(message), 4):
                layout = self._layout(int.from_bytes(message[place : place + 4]))
                if layout is not None:
                    yield Changes(layout, changed_rows.truncated(layout, stamps, at))

    def _rows(self, block: Block, places: Offsets, kinds: npt.NDArray[np.uint8], stamps: Stamps) -> Iterator[Changes]:
        if not len(places):
            return
        oids = numbers(block.data, block.starts[places] + 1, ">u4")
        for oid in np.unique(oids):
            found, layout = places[oids == oid], self._layout(int(oid))
            if layout is None:
                self.left_out += len(found)
                continue
            followed = self.followed[int(oid)]
            terms = changed_rows.Terms(layout, followed.key, followed.old_rows)
            rows = changed_rows.changed(block, found, terms, kinds, stamps)
            why = keyless(layout, rows, followed.key)
            if why:
                self.failed[int(oid)], self._layouts[int(oid)] = why, None
                continue
            self.rejected += len(rows) - rows.column(REJECT_COLUMN).null_count
            yield Changes(layout, rows)

    def _known(self, relation: Relation) -> Layout | None:
        followed = self.followed.get(relation.oid)
        if followed is None or relation.oid in self.failed:
            # Of a table that is not followed no type need be known.
            return None
        try:
            layout = layout_of(relation, followed.left_out, self.kinds)
        except SchemaChanged as error:
            self.failed[relation.oid] = str(error)
            return None
        why = unfit(layout, followed.key)
        if why:
            self.failed[relation.oid] = why
        return None if why else layout

    def _layout(self, oid: int) -> Layout | None:
        if oid not in self._layouts:
            raise StageBroken(
                f"the log has a row of the table number {oid} before it says what its columns are; nothing was written, please report it"
            )
        return self._layouts[oid]

    def _check(self, block: Block, kinds: npt.NDArray[np.uint8]) -> None:
        unknown = np.flatnonzero(~np.isin(kinds, KNOWN))
        if len(unknown):
            at = int(unknown[0])
            raise SourceRefused(
                f"the log has a message {chr(kinds[at])!r} that is not known here (number {block.first + at} after {lsn_text(self.transactions.position)}), so "
                "nothing of this range was written and the slot stays where it is; a newer release of incremental-assets may know it"
            )


def types_in(spool: Spool, followed: Mapping[int, Followed], wire: Wire = UTF8) -> set[TypeId]:
    """The types of all columns that the relations of a range name."""
    return {
        (each.type, each.modifier)
        for block in spool.blocks()
        for at in np.flatnonzero(block.data[block.starts] == RELATION)
        for relation in [Relation.parse(_bytes(block, int(at)), wire)]
        if relation.oid in followed
        for each in relation.attributes
        if each.name not in followed[relation.oid].left_out
    }


def _bytes(block: Block, at: int) -> bytes:
    start = int(block.starts[at])
    return block.data[start : start + int(block.lengths[at])].tobytes()
