"""Keys that are gone in the source."""

from __future__ import annotations

from typing import Any

from incremental_assets.core.captures.database import by_cursor
from incremental_assets.core.differences import gone
from incremental_assets.core.model import key_parts
from incremental_assets.core.model.table import TableSpec
from tests.fakes import database, lake, source, stage
from tests.fakes.keys import FakeKeys
from tests.model.mutants.variant import Mutant, instead, together, without_the_thought


def _differing_as_it_is_now(*asked: Any) -> key_parts.KeyParts:
    return key_parts.differing(*asked)


def _keys_of_the_window(spec: TableSpec, world: database.SimulatedDatabase) -> FakeKeys:
    read = [row for row in world.rows(spec.id) if str(row["updated_at"]) >= "2024-01-29T09:05:00Z"]
    return FakeKeys.of(spec, read)


MUTANTS = [
    Mutant(
        "counts alone tell which keys differ",
        "keeps a row that was deleted beside one that came",
        together(
            instead(gone, "differing", _differing_as_it_is_now),
            without_the_thought(
                key_parts, "differing", ("source.get(part) != held", "_rows(source.get(part)) != held.rows")
            ),
        ),
    ),
    Mutant(
        "what the copy alone has in a part is not looked for again",
        "deletes a row that the source has, by one slip in the arithmetic of parts",
        without_the_thought(gone, "_absent", ("missing - source.present(missing) if missing else missing", "missing")),
    ),
    Mutant(
        "a source may be empty where its fraction allows it",
        "deletes the whole copy",
        without_the_thought(gone, "check_fraction", ("gone == rows and not new", "False")),
    ),
    Mutant(
        "a table that was truncated is like any other",
        "deletes rows that are just being filled in again",
        without_the_thought(gone, "check_storage", ("not before.rewritten(source.storage)", "True")),
    ),
    Mutant(
        "keys are those of the rows that a sync reads",
        "deletes what lies outside of its window",
        instead(source, "keys_of", _keys_of_the_window),
    ),
    Mutant(
        "keys that are gone are not staged",
        "keeps what was deleted, and takes its comparison for done",
        instead(stage, "_gone", lambda *_: []),
    ),
    Mutant(
        "a backfill compares keys, too",
        "gives the turn of a sync away and deletes where rows were only to be read again",
        without_the_thought(by_cursor, "compares_keys", ("request.mode is not Mode.SYNC", "False")),
    ),
    Mutant(
        "a replica is compared with wherever it stands",
        "deletes rows that it has not received yet",
        without_the_thought(by_cursor, "compares_keys", ("(bound.replica and bound.identity is None)", "False")),
    ),
    Mutant(
        "a row that is marked as gone equals one that comes back",
        "keeps it dead",
        without_the_thought(lake, "FakeLake.written", (" if is_live(there)", "")),
    ),
]
