"""Keys of which the source takes values for equal that a copy holds differently."""

from __future__ import annotations

from incremental_assets.core.captures.database import settled_bound
from incremental_assets.core.model import table
from incremental_assets.core.planning import as_landed
from incremental_assets.core.syncing import decide
from tests.model.mutants.variant import Mutant, instead, without_the_thought

MUTANTS = [
    Mutant(
        "keys are told apart as they are written",
        "keeps the row of a key that was written anew beside the new one",
        instead(decide, "as_landed", lambda spec, _: as_landed.uncollated(spec)),
    ),
    Mutant(
        "a copy of an earlier release is like any other",
        "says `settled` of a copy that cannot tell which of its keys are one",
        instead(decide, "as_landed", lambda spec, _: spec),
    ),
    Mutant(
        "a copy of an earlier release tells keys apart as its source does",
        "has a row twice whose key is written in another way, in runs that say that they are settled",
        instead(settled_bound, "of_key", lambda _: ""),
    ),
    Mutant(
        "how the source compares a key is no term of a copy",
        "tells rows apart by collation keys of which some are of another collation",
        without_the_thought(table, "Terms.same_collation", ("None in (self.collation, other.collation) or", "True or")),
    ),
]
