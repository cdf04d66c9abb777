"""What a contract holds, in memory: each row with how it came to be held no more."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.quarantine import NOTHING_HELD, HeldRows, Resolution
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from tests.fakes.keys import text_of
from tests.fakes.rows import Row, breaks, cursor_of, is_fit, is_gone, key_of, own_columns


@dataclass(frozen=True)
class Held:
    """One row, and the sequence that brought it; `resolved`: why it is held no more."""

    row: Row
    seq: int
    resolved: Resolution | None = None


@dataclass(kw_only=True)
class FakeQuarantine:
    """Implements `core.ports.LakeQuarantine`."""

    kept: dict[TableId, list[Held]] = field(default_factory=dict)
    quarantine: dict[TableId, list[Row]] = field(default_factory=dict)
    """Rows that cannot land, with why."""
    resolved: list[tuple[Row, int]] = field(default_factory=list)
    """Those of them that wait for nothing more, and after which sequence of the copy that was found."""
    past: dict[TableId, list[tuple[int, list[Held]]]] = field(default_factory=dict)
    """What was kept after each sequence that changed it."""

    def held(self, spec: TableSpec) -> HeldRows | None:
        """How many."""
        rows = self.open_rows(spec)
        return HeldRows(len(rows), (("broken", len(rows)),)) if rows else NOTHING_HELD

    def held_cursors(self, spec: TableSpec) -> tuple[CursorValue, ...] | None:
        """Each once."""
        rows = self.open_rows(spec)
        return tuple({found for row in rows if (found := cursor_of(spec, row)) is not None}) if rows else None

    def waiting_keys(self, spec: TableSpec) -> frozenset[str]:
        """Of the open ones, and of those that cannot land."""
        rows = [*self.open_rows(spec), *self.unfit_rows(spec)]
        return frozenset(text_of(key) for key in (key_of(spec, row) for row in rows) if None not in key)

    def settle_gone(self, spec: TableSpec, keys: AbstractSet[str]) -> None:
        """By their keys."""
        self._resolve(
            spec, [row for row in self.open_rows(spec) if text_of(key_of(spec, row)) in keys], Resolution.GONE
        )
        self.resolve_unfit(spec, [row for row in self.unfit_rows(spec) if text_of(key_of(spec, row)) in keys])

    def unfit_rows(self, spec: TableSpec) -> list[Row]:
        """Those that cannot land and that nothing has resolved, as the quarantine has them."""
        return [row for row in self.quarantine.get(spec.id, []) if not any(row is done for done, _ in self.resolved)]

    def resolve_unfit(self, spec: TableSpec, rows: Sequence[Row]) -> None:
        """Of rows that the quarantine has, under the last sequence of the copy."""
        self.resolved += [(row, self.last_sequence(spec.id)) for row in rows]

    def last_sequence(self, table: TableId) -> int:
        """Of the copy; of a quarantine alone there is none."""
        return 0

    def open_rows(self, spec: TableSpec) -> list[Row]:
        """Those that are held now."""
        return [each.row for each in self.kept.get(spec.id, ()) if each.resolved is None]

    def hold(self, spec: TableSpec, rows: Sequence[Row], seq: int) -> None:
        """Rows of a batch that break the contract; one that is held just so already is no other."""
        there = self.open_rows(spec)
        new = [Held(row, seq) for row in rows if row not in there]
        self.kept.setdefault(spec.id, []).extend(new)
        self.remember(spec, seq)

    def settle(self, spec: TableSpec, staged: Sequence[Row], seq: int, how: Resolution, *, overwrites: bool) -> None:
        """What a batch has brought something after, unless it brought the very same."""
        again = [own_columns(row) for row in staged if is_fit(row) and not is_gone(spec, row) and breaks(spec, row)]
        came = {key_of(spec, row): is_gone(spec, row) and is_fit(row) for row in staged}
        left = [row for row in self.open_rows(spec) if row not in again]
        over = [row for row in left if overwrites or (spec.key and key_of(spec, row) in came)]
        self._resolve(spec, [row for row in over if came.get(key_of(spec, row))], Resolution.GONE)
        self._resolve(spec, [row for row in over if not came.get(key_of(spec, row))], how)
        self.remember(spec, seq)

    def remember(self, spec: TableSpec, seq: int) -> None:
        """For a rollback."""
        self.past.setdefault(spec.id, []).append((seq, list(self.kept.get(spec.id, []))))

    def take_back_held(self, spec: TableSpec, to_seq: int) -> None:
        """As it was after a sequence."""
        of_then = [kept for seq, kept in self.past.get(spec.id, []) if seq <= to_seq]
        self.kept[spec.id] = list(of_then[-1]) if of_then else []

    def _resolve(self, spec: TableSpec, rows: Sequence[Row], how: Resolution) -> None:
        kept = self.kept.get(spec.id, [])
        kept[:] = [replace(each, resolved=how) if not each.resolved and each.row in rows else each for each in kept]
