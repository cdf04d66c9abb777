"""What a watermark must stay below: open transactions, statements, numbers that were drawn, what is not on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from incremental_assets.core.captures.capture import Read
from incremental_assets.core.captures.database import capture, landed_state, last_read, settled_bound
from incremental_assets.core.captures.database.snapshot import shown_by
from incremental_assets.core.model.state import State
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan
from tests.core import stories
from tests.fakes import database, source, world
from tests.model.mutants.variant import Mutant, instead, together, without_the_thought


def _ends_below(window: Window, value: Any) -> bool:
    return (window.lower is None or window.lower < value) and (window.upper is None or value < window.upper)


_landed = landed_state.landed_state


def _watermark_of_the_rows_seen(decision: SyncPlan, read: Read) -> State:
    state = _landed(decision, read)
    seen = [value for value in (decision.previous_watermark, shown_by(read.snapshot).highest) if value is not None]
    return replace(state, position=replace(state.position, watermark=max(seen, default=None)))


class _BoundInsideTheSnapshot(world.World):
    """REPEATABLE READ from its first statement on: the rows are as they were before the bound was asked."""

    def ports(self, process: Any = None) -> Any:
        process = process or self.process()
        ports = super().ports(process)
        probe, read = source.FakeProbe(self.database), source.FakeSource(self.database)
        shown: dict[Any, Any] = {}
        asked = probe.observe

        def observe(looks: Any) -> Any:
            for look in looks:
                shown[look.spec.id] = dict(self.database.tables[look.spec.id].rows), self.database.visible()
            process.meet("in the snapshot")
            return asked(looks)

        @contextmanager
        def snapshot(decision: SyncPlan) -> Iterator[source.FakeSnapshot]:
            yield read.take(decision, *shown[decision.spec.id])

        probe.observe = observe  # type: ignore[method-assign]
        read.snapshot = snapshot  # type: ignore[method-assign, assignment]
        return replace(ports, probe=world.Watched(probe, process), source=world.Watched(read, process))


MUTANTS = [
    Mutant(
        "a window that begins above its lower bound",
        "loses the row exactly at the watermark",
        instead(Window, "contains", _ends_below),
    ),
    Mutant(
        "the watermark is the largest cursor of the rows seen",
        "loses what commits late",
        instead(capture, "landed_state", _watermark_of_the_rows_seen),
    ),
    Mutant(
        "the watermark is the clock",
        "loses what commits late",
        without_the_thought(settled_bound, "_settle_time", ("bound.reached - GUARD", "bound.clock")),
    ),
    Mutant("no guard", "loses a transaction that was not shown yet", instead(settled_bound, "GUARD", timedelta(0))),
    Mutant(
        "only open transactions hold the bound, and not the statements that open them",
        "loses what a procedure stamps as of its CALL, and the later transactions of one message",
        without_the_thought(database, "SimulatedDatabase.bound", ("for each in self.statements]", "for each in ()]")),
    ),
    Mutant(
        "a session that stands still before it shows its stamp holds nothing",
        "loses what it commits",
        without_the_thought(database, "SimulatedDatabase.bound", ("if each.idle_since)", "if False)")),
    ),
    Mutant(
        "a session that is called as ours are is one of ours",
        "loses what an application writes in a session that a pooler has lent to both",
        without_the_thought(
            database,
            "SimulatedDatabase.bound",
            (
                "if not each.prepared and each.shown",
                "if not each.prepared and each.shown and (each.xid or not each.named)",
            ),
        ),
    ),
    Mutant(
        "a transaction without a start is passed over",
        "loses what it commits, in runs that say that they are settled",
        without_the_thought(database, "SimulatedDatabase.bound", ("len(seen) < len(sessions)", "False")),
    ),
    Mutant(
        "prepared transactions are not asked for",
        "loses them: no session holds them any more",
        together(
            without_the_thought(settled_bound, "_settle_time", ("bound.prepared is not None", "False")),
            without_the_thought(settled_bound, "_settle_integer", ("bound.prepared is not None", "False")),
        ),
    ),
    Mutant(
        "the bound is asked inside the snapshot",
        "loses what commits between the two",
        instead(stories, "World", _BoundInsideTheSnapshot),
    ),
    Mutant(
        "numbers are settled by who has a transaction id",
        "loses a number that was drawn and not written yet",
        without_the_thought(
            database,
            "SimulatedDatabase.bound",
            ("if not each.prepared and each.shown", "if not each.prepared and each.xid"),
        ),
    ),
    Mutant(
        "a transaction that was under way at the last read counts as read",
        "loses its rows above the watermark",
        without_the_thought(source, "first_unread", ("if each and each not in open_now", "if False")),
    ),
    Mutant(
        "what was read before the server crashed is believed after it",
        "loses rows of transactions whose numbers were given out a second time",
        without_the_thought(
            last_read,
            "read_already",
            (
                "(kept.started, kept.shape) != (bound.started, _shape(plan))",
                "kept.shape != _shape(plan)",
            ),
        ),
    ),
    Mutant(
        "of a table without an enforced key what was read is not read again",
        "loses one of two equal rows, of which the other was read before",
        without_the_thought(last_read, "_tells_rows_apart", ("and spec.key_enforced", ""), ("bool(spec.key)", "True")),
    ),
    Mutant(
        "the highest number is settled when it is seen",
        "loses lower numbers that commit later",
        without_the_thought(
            settled_bound, "_settle_integer", ("(bound.oldest is None or bound.oldest > pair.clock + GUARD)", "True")
        ),
    ),
    Mutant(
        "a number settles before its row is on disk",
        "loses the row that gets the number after a crash of the source",
        instead(settled_bound, "_on_disk", lambda *_: True),
    ),
    Mutant(
        "a number that was not on disk outlives a crash",
        "loses the row that gets the number next",
        without_the_thought(settled_bound, "_outlived", ("bound.started > earlier.clock", "False")),
    ),
]
