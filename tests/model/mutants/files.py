"""Variants that see less in a file of SQLite than there is."""

from __future__ import annotations

from incremental_assets.adapters.databases.sqlite import catalogue, errors
from tests.model.mutants.variant import Mutant, instead, without_the_thought

MUTANTS = [
    Mutant(
        "a file with a dead process's journal is no file",
        "sends people to look for a file that is there",
        without_the_thought(errors, "explain", ("== SQLITE_READONLY_ROLLBACK", "== -1")),
    ),
    Mutant(
        "a table that a module makes is none",
        "neither copies it nor names it",
        instead(catalogue, "_TABLES", catalogue._TABLES.replace(", 'virtual'", "")),
    ),
]
