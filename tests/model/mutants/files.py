"""Variants that see less in a file of SQLite than there is."""

from __future__ import annotations

from incremental_assets.adapters.databases.sqlite import catalogue, errors
from incremental_assets.adapters.databases.sqlite.cursor_values import CursorValues
from tests.model.mutants.variant import Mutant, instead, without_the_thought

MUTANTS = [
    Mutant(
        "a file with a dead process's journal is no file",
        "sends people to look for a file that is there",
        without_the_thought(errors, "explain", ("== sqlite3.SQLITE_READONLY_ROLLBACK", "== -1")),
    ),
    Mutant(
        "a table that a module makes is none",
        "neither copies it nor names it",
        instead(catalogue, "_TABLES", catalogue._TABLES.replace(", 'virtual'", "")),
    ),
    Mutant(
        "a cursor of times that holds numbers holds nothing",
        "quarantines all rows of a table, or passes them over",
        instead(CursorValues, "check", lambda held, spec: None),
    ),
    Mutant(
        "a column is read by its declared type alone",
        "leaves a STRICT table without a cursor of times",
        instead(catalogue, "readings", lambda declared: ()),
    ),
    Mutant(
        "a folder into which nobody may write is no reason",
        "sends people to look for a file that is there",
        instead(errors, "_closed_log", lambda file: ""),
    ),
]
