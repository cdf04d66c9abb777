"""What one table of PostgreSQL, or one part of it, leaves in a column of a row that is inserted or updated. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from incremental_assets.adapters.databases.postgresql.stamps.expression import Columns, no_columns, read_all
from incremental_assets.adapters.databases.postgresql.stamps.plpgsql import holds, outcome_of
from incremental_assets.adapters.databases.stamps.proof import Found, of_default, of_trigger
from incremental_assets.adapters.databases.stamps.reading import MOMENT, Reading
from incremental_assets.adapters.databases.stamps.steps import DROPPED, KEPT, UNKNOWN, Outcome, either
from incremental_assets.adapters.databases.stamps.tokens import NotRead, NotStamped, tokens

INSERT, UPDATE = "insert", "update"
_HARMLESS = ("tsvector_update_trigger", "tsvector_update_trigger_column", "suppress_redundant_updates_trigger")
"""Functions of PostgreSQL's own that give no column of times a value."""
_WHEN = re.compile(r"\bFOR EACH ROW WHEN (\(.*\)) EXECUTE (?:FUNCTION|PROCEDURE) ", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Default:
    """A column's default, or what it is generated from."""

    text: str
    is_generated: bool = False


@dataclass(frozen=True, slots=True)
class Trigger:
    """One that runs before each row; its definition is known where it has a condition."""

    mark: str
    """What the catalogue knows it and its function by: another text once either was altered."""
    is_of_its_own: bool
    """Whether it is the table's own, or that of a part which was made, or altered, for that part alone."""
    name: str
    enabled: str
    on_insert: bool
    on_update: bool
    of_columns: bool
    definition: str | None
    function: str
    language: str
    source: str
    arguments: Sequence[str]
    settings: str
    alike: str = ""
    """A column of the table of which `=` takes values that show something else for the same; empty if there is none."""
    replicating: str = ""
    """Who may write the table in sessions that begin as replicas, in which only some triggers run."""
    nullable: Collection[str] = ()
    """The columns of the table that may be NULL."""

    @property
    def is_plain(self) -> bool:
        """Whether it does not run in a session that is taken for a replica's."""
        return self.enabled == "O"

    @property
    def off(self) -> str:
        """Why it does not run wherever an application writes; empty if it does."""
        if self.enabled == "D":
            return "is switched off"
        if self.enabled == "R":
            return "runs in sessions of a replica alone"
        if self.is_plain and self.replicating:
            return (
                f"does not run in sessions of {self.replicating}, which begin with session_replication_role = replica"
            )
        return ""

    def runs_at(self, event: str) -> bool:
        """Whether it is one of that event."""
        return self.on_insert if event == INSERT else self.on_update

    def leaves(self, column: str, event: str) -> Outcome:
        """What its function leaves in the column, if it runs."""
        if self.function == "moddatetime" and self.language == "c":
            return MOMENT if list(self.arguments[:1]) == [column] else KEPT
        if self.function in _HARMLESS:
            return KEPT
        if self.language != "plpgsql" or "timezone" in self.settings.lower():
            return UNKNOWN
        return _outcome(self.source, column, event, not self.alike, column not in self.nullable)

    def passes_over(self, column: str, event: str) -> str:
        """Which updates it does not stamp as it takes them for none; empty where there are no such."""
        if not self.alike or event != UPDATE:
            return ""
        exact = replace(self, alike="")
        before, after = ((each.leaves(column, event), each.conditional(column, event)) for each in (exact, self))
        if before == after or not isinstance(before[0], Reading) or before[1]:
            return ""
        return f"compares by `=`, which takes different values of {self.alike!r} for the same: have it compare rows by `*<>`"

    def renumbers(self, column: str) -> bool:
        """Whether it may give the column of a row that is inserted another number than its default has drawn."""
        return self.on_insert and self.enabled != "D" and self.leaves(column, INSERT) not in (KEPT, DROPPED)

    def conditional(self, column: str, event: str) -> str:
        """On what it depends whether it runs, though a row is written with other values; empty if on nothing."""
        if self.definition is not None:
            found = _WHEN.search(self.definition)
            if found is None or not _holds(found[1], column, event, self):
                return "runs on a condition"
        return "runs only where certain columns are written" if self.of_columns and event == UPDATE else ""


def at_insert(column: str, default: Default | None, triggers: Sequence[Trigger], columns: Columns) -> Found:
    """What is in the column of a row that brings no value for it."""
    found = Found(KEPT) if default is None else _of_default(column, default, columns)
    return found if default and default.is_generated else _triggered(found, column, triggers, INSERT)


def at_update(column: str, default: Default | None, triggers: Sequence[Trigger], columns: Columns) -> Found:
    """What is in the column of a row that is updated."""
    if default is not None and default.is_generated:
        return _of_default(column, default, columns)
    return _triggered(Found(KEPT), column, triggers, UPDATE)


def _of_default(column: str, default: Default, columns: Columns) -> Found:
    try:
        found = read_all(default.text, columns if default.is_generated else no_columns)
    except NotStamped:
        return Found(KEPT)
    except NotRead:
        return Found(UNKNOWN, of_default(column, default.text))
    # Why, should it be a time of another zone.
    return Found(found, of_default(column, default.text))


def _triggered(found: Found, column: str, triggers: Sequence[Trigger], event: str) -> Found:
    """After all triggers, in the order in which they run: that of their names."""
    for trigger in triggers:
        if not trigger.runs_at(event):
            continue
        outcome = trigger.leaves(column, event)
        if outcome in (KEPT, DROPPED):
            continue
        why = of_trigger(column, trigger.name)
        if trigger.off:
            # What it would have proven is why nothing is.
            why = f"the trigger {trigger.name}, which stamps {column!r}, {trigger.off}"
            found = Found(found.outcome, why) if isinstance(outcome, Reading) and found.outcome == KEPT else found
            continue
        passes_over = trigger.passes_over(column, event)
        condition = passes_over or trigger.conditional(column, event)
        if condition and (passes_over or isinstance(outcome, Reading)):
            outcome = either(found.outcome, outcome)
            why = f"the trigger {trigger.name}, which stamps {column!r}, {condition}"
        found = found.then(outcome, why)
    return found


@lru_cache(maxsize=1024)
def _outcome(source: str, column: str, event: str, exact: bool, filled: bool) -> Outcome:  # noqa: FBT001 - keys of the cache
    """The same function often stands behind the triggers of many tables."""
    return outcome_of(source, column, event, exact=exact, filled=filled)


def _holds(condition: str, column: str, event: str, of: Trigger) -> bool:
    filled = column not in of.nullable
    try:
        return holds(tokens(condition), column=column, event=event, exact=not of.alike, filled=filled) is True
    except NotRead:
        return False
