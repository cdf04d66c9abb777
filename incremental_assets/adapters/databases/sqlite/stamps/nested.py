"""Triggers that keep others from stamping: one that ends a write early, and one that writes the table while the trigger that stamps it is at work. Pure.

SQLite runs no trigger within itself, unless the session that writes has `PRAGMA recursive_triggers`, which nobody else sees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from incremental_assets.adapters.databases.sqlite.stamps.trigger import Table, Trigger, finds_the_row
from incremental_assets.adapters.databases.stamps.tokens import NotRead, Token, Words, is_word, tokens

AllTriggers = Mapping[str, Sequence[Trigger]]
"""Those of a whole file, by their table's name in lower case."""


def kept_from_stamping(table: Table, triggers: AllTriggers, stamping: Collection[str]) -> str:
    """Why the triggers of these names may leave a row of the table unstamped; empty if nothing shows it."""
    own = triggers.get(table.name.lower(), ())
    for trigger in own:
        if _ignores(trigger.sql):
            return f"the trigger {trigger.name} may end a write before it is stamped, by RAISE(IGNORE)"
    for trigger in own:
        if trigger.name not in stamping and _comes_back(trigger, table, triggers):
            return (
                f"the trigger {trigger.name} may change other rows of {table.name} while the trigger {min(stamping)} is at work, "
                "which SQLite does not run within itself"
            )
    return ""


def _ignores(sql: str) -> bool:
    try:
        found = tokens(sql)
    except NotRead:
        return True
    return any(
        is_word(raises, "raise") and is_word(opens, "(") and is_word(what, "ignore")
        for raises, opens, what in zip(found, found[1:], found[2:], strict=False)
    )


def _comes_back(trigger: Trigger, table: Table, triggers: AllTriggers) -> bool:
    """Whether what it writes, or what is written by the triggers of that, is another row of the table."""
    try:
        ahead, seen = set(_written(trigger, table)), set[str]()
        while ahead - seen:
            name = min(ahead - seen)
            seen.add(name)
            if name != table.name.lower():
                ahead |= {each for other in triggers.get(name, ()) for each in _written(other, Table(name, ()))}
    except NotRead:
        return True
    return table.name.lower() in seen


def _written(trigger: Trigger, table: Table) -> Iterator[str]:
    """The tables whose rows it writes, but for that of its own row."""
    words = Words(tokens(trigger.sql))
    words.until("begin")
    words.expect("begin")
    while not (words.is_done or words.follows("end")):
        statement = words.until(";")
        words.expect(";")
        for name in _targets(statement):
            if name != table.name.lower() or not _of_its_row(statement, table):
                yield name


def _targets(statement: Sequence[Token]) -> Iterator[str]:
    for place, (token, following) in enumerate(pairwise(statement)):
        is_delete = is_word(token, "delete") and is_word(following, "from")
        if not (is_word(token, "update") or is_word(token, "into") or is_delete) or is_word(following, "set"):
            continue
        words = Words(statement[place + 2 if is_delete else place + 1 :])
        if words.accept("or"):
            words.name()
        name = words.take().text
        yield (words.take().text if words.accept(".") else name).lower()


def _of_its_row(statement: Sequence[Token], table: Table) -> bool:
    words = Words(statement)
    if not words.accept("update"):
        return False
    words.until_end("where")
    return words.accept("where") and finds_the_row(words.until_end(), table)
