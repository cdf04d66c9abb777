"""Statements about tables that an administrator is shown, where databases say the same in the same words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from incremental_assets.core.checks.doctor import SourceFacts, Wanted, there, unseen
from incremental_assets.core.model.table_id import TableId


@dataclass(frozen=True, slots=True)
class Words:
    """One database's; `no_writes` takes from a user (second) what changes rows of a table (first)."""

    relation: Callable[[TableId], str]
    identifier: Callable[[str], str]
    no_writes: str


def table_statements(
    words: Words, user: str, facts: SourceFacts | None, wanted: Sequence[Wanted], whole: Collection[str]
) -> Iterator[str]:
    """What is missing of reading, what is too much of writing, and an index for each cursor without one.

    `whole`: schemas of which every table is granted already.
    """
    relation, identifier = words.relation, words.identifier
    tables = there(facts, wanted)
    for table in unseen(facts):
        yield f"-- this user sees no such table; if it is there: GRANT SELECT ON {relation(table)} TO {user};"
    for each in tables:
        if not each.readable and each.wanted.table.schema not in whole:
            yield f"GRANT SELECT ON {relation(each.wanted.table)} TO {user};"
    for each in tables:
        if each.writable and facts and not facts.is_superuser:
            yield words.no_writes.format(relation(each.wanted.table), user)
    for each in tables:
        for column in each.worth_an_index:
            name = identifier(f"{each.wanted.table.name}_{column}")
            yield f"CREATE INDEX {name} ON {relation(each.wanted.table)} ({identifier(column)});"
