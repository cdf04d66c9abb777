"""Repairs, rollbacks, and what is verified or held after them."""

from __future__ import annotations

from typing import Any

from incremental_assets.core.captures.database import by_cursor, landed_state
from incremental_assets.core.checks import reconcile, remember
from incremental_assets.core.differences import differing
from incremental_assets.core.maintenance import rollback
from incremental_assets.core.model import key_parts, verified
from incremental_assets.core.planning import report
from incremental_assets.core.syncing import recovery as recover
from tests.model.mutants.variant import Mutant, instead, together, without_the_thought


def _unlike_as_it_is_now(*arguments: Any) -> Any:
    return key_parts.unlike(*arguments)


MUTANTS = [
    Mutant(
        "a repair has read all of its window",
        "takes a hole that no sync has read for covered",
        without_the_thought(landed_state, "_covered", ("(Mode.REPAIR, Mode.FILL)", "(Mode.FILL,)")),
    ),
    Mutant(
        "counts alone tell which rows differ",
        "mends nothing where as many rows are there",
        together(
            instead(differing, "unlike", _unlike_as_it_is_now),
            without_the_thought(
                key_parts,
                "unlike",
                ("one.get(part) != other.get(part)", "_rows(one.get(part)) != _rows(other.get(part))"),
            ),
        ),
    ),
    Mutant(
        "what only the copy has is not read by a repair",
        "keeps a row that the source has changed to one that cannot land",
        without_the_thought(differing, "_to_read", ("else missing + extra", "else missing")),
    ),
    Mutant(
        "a repair follows no deletes",
        "keeps what is gone, and the drift with it",
        without_the_thought(by_cursor, "compares_keys", ("request.mode is Mode.REPAIR", "False")),
    ),
    Mutant(
        "the lowest drift is where verification ends",
        "verifies what no sync has read",
        instead(reconcile, "_lower", lambda drifted, _: drifted),
    ),
    Mutant(
        "a rollback that died behind its commit has taken the quarantine back",
        "keeps rows in quarantine that the copy has never met",
        without_the_thought(recover, "_take_over", ("commit.rolled_back_to is not None", "False")),
    ),
    Mutant(
        "a run that died behind its commit has said what became of held rows",
        "holds rows for ever that were mended long ago",
        without_the_thought(recover, "_take_over", ("elif commit is not None", "elif False")),
    ),
    Mutant(
        "a rollback keeps the sequence of then",
        "is committed under a sequence that has landed, and never lands",
        without_the_thought(rollback, "rolled_back", ("seq=seq", "seq=past.seq")),
    ),
    Mutant(
        "a rollback keeps the watermark of then",
        "passes over rows that were stamped below it once the clock was put back",
        instead(rollback, "still_settled_since", lambda past, _: past),
    ),
    Mutant(
        "what was read again is verified",
        "passes over a window that nobody has compared",
        without_the_thought(verified, "Verified.read_again", ("if left == known.drifted else None", "")),
    ),
    Mutant(
        "a check records what it has found, whatever has landed since its look",
        "verifies a copy that was rolled back meanwhile",
        instead(remember, "still_true", lambda found, _: found),
    ),
    Mutant(
        "what was verified outlives a rollback",
        "verifies rows that came back while a check was recorded",
        without_the_thought(report, "SyncReport.leaves", ("self.mode is Mode.ROLLBACK", "False")),
    ),
]
