"""Variants that believe a stamp: that it is the source's clock, to its full precision, and always was."""

from __future__ import annotations

from incremental_assets.core.captures.database import capture, following, parts, settled_bound, stamps, windows
from tests.model.mutants.variant import Mutant, instead, without_the_thought

MUTANTS = [
    Mutant(
        "what is cut off a stamp is forgotten",
        "loses the second row of an hour that a default cuts to it",
        instead(settled_bound, "lowest_stored", lambda _, value: value),
    ),
    Mutant(
        "an application's stamps are taken for the source's",
        "loses what it stamps before its transaction begins",
        instead(settled_bound, "declared", lambda _: None),
    ),
    Mutant(
        "a default is taken to stamp updates",
        "loses, in runs that say that they are settled, an update that an application stamps",
        without_the_thought(stamps, "_needed", ("if spec.traits.one_row_per_key", "if False")),
    ),
    Mutant(
        "rows that lag longer than declared are not looked for",
        "never reports them, and promises more than holds",
        instead(windows, "declared", lambda _: None),
    ),
    Mutant(
        "a row that came later than declared lowers nothing",
        "promises more than holds",
        instead(following, "overdue", lambda *_: ""),
    ),
    Mutant(
        "a watermark stays where it was when stamps turn out to be cut",
        "loses the rows of the hour in which that begins",
        instead(capture, "restamped", lambda _, state: state),
    ),
    Mutant(
        "a trigger that was switched off and on again goes unnoticed",
        "says that it is settled over rows that were written meanwhile",
        instead(stamps, "of_altered_stamps", lambda *_: ""),
    ),
    Mutant(
        "a partition is known by its number alone",
        "keeps the rows that were changed while it was out of its table, in a run that says that it is settled",
        without_the_thought(
            parts,
            "joined",
            ("(member, *numbers([member]))", "numbers([member])"),
            ("set(known)", "set(numbers(known))"),
        ),
    ),
    Mutant(
        "numbers that a trigger gives are taken for those of the sequence",
        "loses rows below the watermark, in runs that say that they are settled",
        without_the_thought(settled_bound, "of_numbers", ("if sequence.trigger:", "if False:")),
    ),
    Mutant(
        "what a row shows is taken to depend on it alone",
        "keeps the old name of a table, a role or a setting, in runs that say that they are settled",
        instead(settled_bound, "of_shown", lambda _: ""),
    ),
]
