"""Every table that a verb may speak of: resolved against the source, or why it could not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incremental_assets.core.config_values import SourceConfig, TableConfig
from incremental_assets.core.errors import IncrementalAssetsError, SelectionError, SourceRefused, SourceUnreachable
from incremental_assets.core.resolve import resolve_all
from incremental_assets.core.table import TableId, TableSpec
from incremental_assets.core.terms import terms_of
from incremental_assets.verbs.select import chosen

if TYPE_CHECKING:
    from resources.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Trouble:
    """A table that cannot be worked on, and why; `error` is of the family."""

    table: TableId
    terms: TableConfig
    error: IncrementalAssetsError


@dataclass(frozen=True, slots=True)
class Survey:
    """The tables that were selected. `unreachable` says by source why its tables were not asked."""

    specs: tuple[TableSpec, ...]
    troubles: tuple[Trouble, ...]
    unreachable: dict[str, IncrementalAssetsError]

    def of(self, source: str) -> tuple[TableSpec, ...]:
        """The tables of one source that can be worked on."""
        return tuple(spec for spec in self.specs if spec.id.source == source)


def survey(runtime: Runtime, patterns: Sequence[str]) -> Survey:
    """Ask each source for its catalogue; one that does not answer does not stop the others. SelectionError for a pattern without a match."""
    specs: list[TableSpec] = []
    troubles: list[Trouble] = []
    unreachable: dict[str, IncrementalAssetsError] = {}
    for source in runtime.configuration.sources:
        try:
            resolved = runtime.specs(source.name)
        except (SourceUnreachable, SourceRefused) as error:
            unreachable[source.name] = error
            troubles += (Trouble(table, terms_of(source, table), error) for table in known_tables(runtime, source))
            continue
        specs += resolved.specs
        troubles += (
            Trouble(problem.table, terms_of(source, problem.table), problem.error) for problem in resolved.problems
        )
    wanted = _wanted(patterns, [*(spec.id for spec in specs), *(trouble.table for trouble in troubles)], unreachable)
    return Survey(
        tuple(spec for spec in specs if spec.id in wanted),
        tuple(trouble for trouble in troubles if trouble.table in wanted),
        unreachable,
    )


def remembered(runtime: Runtime, patterns: Sequence[str]) -> Survey:
    """The same without asking any source: from the configuration and the catalogue last seen."""
    specs: list[TableSpec] = []
    troubles: list[Trouble] = []
    for source in runtime.configuration.sources:
        resolved = resolve_all(source, runtime.checkpoints.catalogue(source.name) or ())
        specs += resolved.specs
        troubles += (
            Trouble(problem.table, terms_of(source, problem.table), problem.error) for problem in resolved.problems
        )
    wanted = _wanted(patterns, [*(spec.id for spec in specs), *(trouble.table for trouble in troubles)], {})
    return Survey(
        tuple(spec for spec in specs if spec.id in wanted),
        tuple(trouble for trouble in troubles if trouble.table in wanted),
        {},
    )


def known_tables(runtime: Runtime, source: SourceConfig) -> tuple[TableId, ...]:
    """What the file lists, and what the catalogue showed when it was last seen."""
    resolved = resolve_all(source, runtime.checkpoints.catalogue(source.name) or ())
    return (*(spec.id for spec in resolved.specs), *(problem.table for problem in resolved.problems))


def _wanted(
    patterns: Sequence[str], tables: Sequence[TableId], unreachable: dict[str, IncrementalAssetsError]
) -> frozenset[TableId]:
    try:
        return chosen(patterns, tables)
    except SelectionError:
        # It may well name a table of a source that could not be asked.
        for error in unreachable.values():
            raise error from None
        raise
