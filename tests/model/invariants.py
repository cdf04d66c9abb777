"""What must hold at any moment, whatever has happened."""

from __future__ import annotations

from hypothesis.stateful import invariant

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.planning.events import EventKind
from incremental_assets.core.planning.plan import Mode
from tests.model.source_moves import SourceMoves
from tests.scenario import ORDERS


class Invariants(SourceMoves):
    """Of a table's watermark, its rows and its sequences."""

    @invariant()
    def the_watermark_is_below_all_that_can_still_commit(self) -> None:
        state = self.state
        if state is None or state.position.watermark is None or self.spec.cursor is None:
            return
        if self.by_stamp:
            if not self.put_back_is_known:
                return  # decided before the clock was put back: the next sync has to notice
            stamps = [row["updated_at"] for each in self.world.database.open for row in each.pending.values() if row]
            pending = [CursorValue(CursorType.TIMESTAMP, str(stamp)) for stamp in stamps]
            pending += [self.stored(each.since) for each in self.world.database.statements]
            pending.append(self.stored(self.world.database.clock))
        else:
            numbers = [number for each in self.world.database.open for number in self.drawn[each]]
            numbers += [number for each in self.world.database.statements for number in each.drawn]
            numbers += [row["id"] for each in self.world.database.open for row in each.pending.values() if row]  # type: ignore[misc]
            pending = [CursorValue(CursorType.INTEGER, str(number)) for number in numbers]
        assert all(state.position.watermark <= value for value in pending), (
            f"the watermark is at {state.position.watermark}"
        )

    @invariant()
    def the_watermark_only_grows(self) -> None:
        """But for a reset, a full refresh, a clock that was put back, and what is told of a run or a checkpoint table that was lost."""
        before = None
        for event in self.world.memory.events[-12:]:
            if event.state is None:
                continue
            after = event.state.position.watermark
            if (
                event.kind in (EventKind.LANDED, EventKind.IDLE)
                and event.report
                and event.report.mode is not Mode.FULL_REFRESH
            ):
                told_later = (
                    bool(event.kind is EventKind.LANDED and event.report.reason) or event.state.position.put_back
                )
                assert told_later or before is None or (after is not None and before <= after)
            # What a reset says is not held against the source's clock before the next run.
            before = None if event.kind is EventKind.RESET else after

    @invariant()
    def nothing_is_held_twice(self) -> None:
        held = [str(row["status"]) for row in self.world.rows(ORDERS)]
        assert len(held) == len(set(held)), "a version landed twice"

    @invariant()
    def sequences_only_grow(self) -> None:
        sequences = self.world.lake.sequences(ORDERS)
        assert sequences == sorted(set(sequences))
