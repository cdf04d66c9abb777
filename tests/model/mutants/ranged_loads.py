"""First loads that go range by range of the key."""

from __future__ import annotations

from incremental_assets.core.captures.database import by_cursor, capture, following, landed_state, loading, reading
from tests.model.mutants.variant import Mutant, instead, without_the_thought

MUTANTS = [
    Mutant(
        "a range of a first load moves its watermark on",
        "loses what commits late among keys that have been read",
        without_the_thought(
            following, "plan_by_cursor",
            ("_at_most(stands, window.upper)", "_reached(spec, stands, settled.value)"),
        ),
    ),
    Mutant(
        "what is held back of a range is left to nobody",
        "loses it once it is let go",
        without_the_thought(following, "plan_by_cursor", ("_at_most(stands, window.upper)", "stands")),
    ),
    Mutant(
        "a load that goes on has read its table",
        "has checks, sensors and earlier releases take a part for the whole",
        without_the_thought(landed_state, "kept", ("if loading is None:", "if True:")),
    ),
    Mutant(
        "a backfill between two ranges lands nothing",
        "lands its rows twice",
        without_the_thought(
            landed_state, "_left_there", ("kept.loading and replace(kept.loading, alone=False)", "kept.loading")
        ),
    ),
    Mutant(
        "the highest cursor of a backfill between two ranges counts for nothing",
        "lands its rows twice",
        without_the_thought(capture, "went_on", ("max_cursor_read=read, loading", "loading")),
    ),
    Mutant(
        "the first range has read all that its snapshot shows",
        "lets the next sync take rows for read that no range has",
        instead(loading, "_first", lambda position: position),
    ),
    Mutant(
        "a place means the same in the order of any key",
        "loses what another key has below it",
        without_the_thought(by_cursor, "of_load", ("loading.key != key", "False")),
    ),
    Mutant(
        "a column that comes in the middle of a load is there from its first range on",
        "leaves it empty in rows of earlier ranges",
        instead(reading.DatabaseReading, "whole_from", property(lambda found: found.window.lower)),
    ),
    Mutant(
        "what the last range saw of the definition is what all rows were read by",
        "keeps what was altered in the middle of a load",
        without_the_thought(capture, "landed_state", (", definition=before.definition", "")),
    ),
]  # fmt: skip
