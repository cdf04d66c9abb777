"""What stamps the columns of times of one table of a SQLite file. Pure, from its declarations and its triggers."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.sqlite.stamps.expression import read_all
from incremental_assets.adapters.databases.sqlite.stamps.nested import AllTriggers, kept_from_stamping
from incremental_assets.adapters.databases.sqlite.stamps.trigger import (
    INSERT,
    UPDATE,
    Table,
    Trigger,
    effect_of,
    may_bring,
    may_set,
)
from incremental_assets.adapters.databases.stamps.brought import but_for
from incremental_assets.adapters.databases.stamps.proof import Found, of_default, of_trigger
from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.steps import KEPT, UNKNOWN, Outcome, either
from incremental_assets.adapters.databases.stamps.tokens import NotRead
from incremental_assets.core.model.stamping import Stamping


def stamping_of(column: str, default: str, table: Table, triggers: AllTriggers, version: int) -> Stamping:
    """What stamps a column. `version` is another one once anything of the file's schema was altered: a trigger that was made anew has no mark of its own."""
    insert = _triggered(_of_default(column, default) if default else Found(KEPT), column, table, triggers, INSERT)
    update = _triggered(Found(KEPT), column, table, triggers, UPDATE)
    by_triggers = any(
        isinstance(each.outcome, Reading) and each.why.startswith("the trigger") for each in (insert, update)
    )
    proven = insert.proves(column, as_moment=False), update.proves(column, as_moment=False)
    others = (each for of, found in triggers.items() if of != table.name.lower() for each in found)
    name = next((each.name for each in others if may_bring(each.sql, table, column)), "")
    why = f"the trigger {name}, which writes rows of the table, may give {column!r} another value than the database's own time"
    return Stamping(
        insert=but_for(proven[0], why if name else ""),
        update=but_for(proven[1], why if name else ""),
        marks=f"schema {version}" if by_triggers else "",
        marks_more=by_triggers,
    )


def renumbering(column: str, table: Table, triggers: Sequence[Trigger]) -> str:
    """A trigger that may give the column of a row another number than the file has drawn; empty where none does."""
    return next((each.name for each in triggers if may_set(each.sql, table, column)), "")


def _of_default(column: str, text: str) -> Found:
    why = of_default(column, text)
    try:
        return Found(read_all(text), why)
    except NotRead:
        return Found(UNKNOWN, why)


def _triggered(found: Found, column: str, table: Table, triggers: AllTriggers, event: str) -> Found:
    """After all triggers, of which SQLite does not say in which order they run."""
    left: list[Outcome] = []
    stamping: list[str] = []
    why = found.why
    for trigger in triggers.get(table.name.lower(), ()):
        effect = effect_of(trigger.sql, table, column, event)
        if effect.outcome == KEPT:
            continue
        stamping.append(trigger.name)
        why = of_trigger(column, trigger.name)
        if effect.condition and isinstance(effect.outcome, Reading):
            why = f"the trigger {trigger.name}, which stamps {column!r}, {effect.condition}"
            left.append(either(found.outcome, effect.outcome))
        else:
            left.append(effect.outcome)
    if not left:
        return found
    outcome, *others = left
    for other in others:
        outcome = either(outcome, other)
    if isinstance(outcome, Reading) and (kept := kept_from_stamping(table, triggers, stamping)):
        return Found(UNKNOWN, kept)
    return Found(outcome, why)
