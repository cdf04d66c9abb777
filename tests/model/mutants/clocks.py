"""A source's clock that is put back."""

from __future__ import annotations

from typing import Any

from incremental_assets.core.captures.database import by_cursor, settled_bound
from incremental_assets.core.captures.database import clock_steps as clocks
from incremental_assets.core.captures.database import reading as database_reading
from incremental_assets.core.captures.database.capture import DatabaseCapture
from incremental_assets.core.model.state import State
from tests.model.mutants.variant import Mutant, instead, together, without_the_thought


def _kept_watermark(_spec: Any, _bound: Any, state: State | None) -> Any:
    return state.position.watermark if state else None


MUTANTS = [
    Mutant(
        "nobody looks whether the clock was put back",
        "loses what is stamped while it comes to the watermark again",
        together(instead(settled_bound, "put_back", lambda *_: None), instead(by_cursor, "put_back", lambda *_: None)),
    ),
    Mutant(
        "only the source's own clock tells that it was put back",
        "loses what was stamped before it had caught up",
        without_the_thought(
            clocks, "_fallen", ("at_most = fell + longest", "at_most = fell"), ("fell + shortest", "fell")
        ),
    ),
    Mutant(
        "the watermark stays where it was when the clock is put back",
        "loses what is stamped below it",
        together(
            *(
                instead(module, "still_settled", _kept_watermark)
                for module in (settled_bound, database_reading, by_cursor)
            )
        ),
    ),
    Mutant(
        "a run that comes to nothing does not keep that the clock was put back",
        "loses what was stamped meanwhile, if the clock is put forward again before the next look",
        instead(DatabaseCapture, "noticed", lambda *_: None),
    ),
    Mutant(
        "that the clock was put back matters to one run",
        "loses what a transaction stamps that was open meanwhile",
        instead(clocks, "_still_repeated", lambda *_: None),
    ),
    Mutant(
        "a transaction that began later than now is like any other",
        "loses what it has stamped since the clock was put back, if no earlier run knew the clock",
        instead(clocks, "_ahead", lambda *_: None),
    ),
    Mutant(
        "numbers are settled by the clock of the look alone",
        "loses the number of a transaction that began before the clock was put back",
        without_the_thought(
            settled_bound, "_settle_integer", ("max(bound.clock, bound.newest or bound.clock)", "bound.clock")
        ),
    ),
]
