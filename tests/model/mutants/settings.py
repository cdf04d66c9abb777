"""What a server, a user or a proxy has set: what a session makes of it, and of answers that are cut."""

from __future__ import annotations

from incremental_assets.adapters.databases import whole
from incremental_assets.adapters.databases.mysql import rows_of, settings, transactions
from tests.model.mutants.variant import Mutant, without_the_thought

MUTANTS = [
    Mutant(
        "what a session has set is not read back",
        "lands what a limit on rows leaves of a table, and says that it is settled",
        without_the_thought(settings, "set_all", ("    check(asked, flavour, place, refused)\n", "")),
    ),
    Mutant(
        "a setting that nobody tells is taken for ours",
        "does the same behind a proxy that hides it",
        without_the_thought(settings, "check_settings", ("if setting.everywhere:", "if False:")),
    ),
    Mutant(
        "the first settings are set after the question how the session is set",
        "is told nothing where a limit allows no rows, and refuses every table",
        without_the_thought(settings, "set_all", ("_set(asked, settings[:_FIRST])", "{}")),
    ),
    Mutant(
        "that a read is dirty is believed",
        "takes rows that somebody has written and not committed for none, and passes their stamps",
        without_the_thought(settings, "check_dirty", ("value=_DIRTY", "value=each.value")),
    ),
    Mutant(
        "the clock of a session is believed",
        "follows a clock that stands still",
        without_the_thought(settings, "_check_clock", ("if first == second:", "if False:")),
    ),
    Mutant(
        "a list of transactions is whole however long it is",
        "passes the stamps of transactions that the server had no room to list",
        without_the_thought(transactions, "_read", ("if is_full(found) else", "if False else")),
    ),
    Mutant(
        "as many rows came as came",
        "lands an answer that something has cut",
        without_the_thought(whole, "check_whole", ("if came == counted or", "if came == came or")),
    ),
    Mutant(
        "the rows of a view may always be others",
        "lands an answer of a view that something has cut",
        without_the_thought(whole, "check_whole", ("and counted != count()", "")),
    ),
    Mutant(
        "a row whose text the server cannot make has no hash",
        "takes two tables for equal that differ in their long rows",
        without_the_thought(rows_of, "checked_sum", ("if int(total) >= TOO_LONG:", "if False:")),
    ),
]
