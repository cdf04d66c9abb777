"""Known-bad variants of the protocol. Each has lost or doubled rows somewhere; the suite must notice every one of them.

Most are the code itself with one thought left out: a piece of its source is replaced, and a piece that is no longer there fails loudly.
"""

from __future__ import annotations

from tests.model.mutants import (
    bound,
    clocks,
    deletes,
    files,
    first_loads,
    keys,
    outliers,
    ranged_loads,
    reads,
    repairs,
    runs,
    settings,
    stamps,
)
from tests.model.mutants.variant import Mutant

__all__ = ["MUTANTS", "Mutant"]

MUTANTS = [
    *bound.MUTANTS,
    *clocks.MUTANTS,
    *runs.MUTANTS,
    *first_loads.MUTANTS,
    *ranged_loads.MUTANTS,
    *reads.MUTANTS,
    *deletes.MUTANTS,
    *keys.MUTANTS,
    *repairs.MUTANTS,
    *files.MUTANTS,
    *outliers.MUTANTS,
    *settings.MUTANTS,
    *stamps.MUTANTS,
]
