"""What is read again, and which of its rows land."""

from __future__ import annotations

from incremental_assets.core.captures import landed
from incremental_assets.core.captures.database import (
    altered,
    last_read,
    settled_bound,
    standing_still,
    windows,
)
from incremental_assets.core.maintenance import reset
from incremental_assets.core.planning import preflight
from tests.fakes import lake, rows, source, stage
from tests.model.mutants.variant import Mutant, instead, together, without_the_thought

MUTANTS = [
    Mutant(
        "a number that repeats settles above itself",
        "loses a row that gets the highest number after that has settled",
        without_the_thought(settled_bound, "_after", ("holdback if spec.repeats else holdback - 1", "holdback - 1")),
    ),
    Mutant(
        "a partition that joins is read from the watermark on",
        "loses its rows that were stamped before",
        instead(windows, "reaching", lambda lower, *_: lower),
    ),
    Mutant(
        "a fingerprint outlives a reset",
        "never reads what the reset asked for",
        without_the_thought(standing_still, "_differs", ("return kept.lower is not None and", "return False and")),
    ),
    Mutant(
        "what is held back has a fingerprint too",
        "never reads it, since nothing moves when its time comes",
        together(
            without_the_thought(source, "FakeProbe._kept", (".clamp_upper(upper)", "")),
            without_the_thought(
                source, "FakeSource.take", ("Window(lower, upper), table", "Window(lower, None), table")
            ),
        ),
    ),
    Mutant(
        "keys are compared with =",
        "lands a row without a key again on every sync",
        together(
            instead(rows, "rejected", lambda *_: ""),
            instead(stage, "rejected", lambda *_: ""),
            instead(lake, "rejected", lambda *_: ""),
            instead(
                lake,
                "key_of",
                lambda spec, row: tuple(object() if row[name] is None else row[name] for name in spec.key),
            ),
        ),
    ),
    Mutant(
        "columns are known by their names alone",
        "mixes the values of two columns of which one took the other's name",
        instead(preflight, "check_columns_kept", lambda *_: None),
    ),
    Mutant(
        "what the catalogue says of a table is not asked for",
        "goes on to show what rows showed before the table was altered",
        instead(altered, "altered", lambda *_: ()),
    ),
    Mutant(
        "an alteration is known once it was seen, and not once the rows were compared",
        "forgets it with a run that reads a window again",
        instead(landed, "_definition", lambda plan: landed.definition_of(plan.spec, plan.previous)),
    ),
    Mutant(
        "a comparison reads what was written since the last read alone",
        "leaves rows as they were that an alteration changed under their versions",
        without_the_thought(last_read, "read_already", ("or plan.reading.finds_differing ", "")),
    ),
    Mutant(
        "what goes to quarantine leaves the copy as it is",
        "shows a version that the source no longer has",
        instead(lake.FakeLake, "withdrawn", lambda *_: set()),
    ),
    Mutant(
        "a reset forgets the sync that died before it",
        "is undone when that one turns out to have landed",
        without_the_thought(reset, "reset_state", ("return rewound if", "return rewound if True or")),
    ),
]
