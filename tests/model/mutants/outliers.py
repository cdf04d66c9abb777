"""Variants that take the highest number there is for one like the others."""

from __future__ import annotations

from incremental_assets.core.captures.database import settled_bound
from incremental_assets.core.preview import bulk, pending
from tests.model.mutants.variant import Mutant, instead, without_the_thought

MUTANTS = [
    Mutant(
        "one grid has to cover the numbers that stand for none",
        "refuses a table for the sake of one row",
        instead(pending, "is_too_wide", lambda *_: False),
    ),
    Mutant(
        "the bulk is where the first rows lie",
        "lays the grid around a number that stands for none",
        without_the_thought(bulk, "_fullest", ("max(runs)", "runs[0]")),
    ),
    Mutant(
        "the last number there is says how far the others have come",
        "says that it is settled, and never looks for a lower number that comes",
        instead(settled_bound, "of_last_number", lambda *_: ""),
    ),
]
