"""A variant that takes keys for equal wherever they are written alike, and nowhere else."""

from __future__ import annotations

from incremental_assets.core.captures.database import settled_bound
from tests.model.mutants.variant import Mutant, instead

MUTANTS = [
    Mutant(
        "the source tells keys apart as the copy does",
        "has a row twice whose key is written in another way, in runs that say that they are settled",
        instead(settled_bound, "of_key", lambda _: ""),
    ),
]
