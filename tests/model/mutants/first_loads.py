"""Rows that go to the target before their position does."""

from __future__ import annotations

from incremental_assets.core.syncing import decide
from tests.fakes import lake
from tests.model.mutants.variant import Mutant, instead, without_the_thought

MUTANTS = [
    Mutant(
        "the rows of a first load are committed without a sequence",
        "replaces what landed while their run was asleep",
        without_the_thought(lake, "FakeLake.load", ("commit_ids=under", "commit_ids=None")),
    ),
    Mutant(
        "the rows of a first load are not counted before they get a position",
        "loses what was lost on the way",
        without_the_thought(lake, "FakeLake.load", ("len(rows) != snapshot.rows", "False")),
    ),
    Mutant(
        "a first load is one that nobody remembers",
        "replaces what has landed when the checkpoint table is lost beside a cleaned log",
        instead(decide, "loads_directly", lambda spec, request, state, target: state is None and spec.shape.bytes > 0),
    ),
    Mutant(
        "a staged batch is added to the rows of a load that died",
        "lands them twice",
        without_the_thought(lake, "FakeLake.written", (" or not (table.landed or table.cleaned)", "")),
    ),
]
