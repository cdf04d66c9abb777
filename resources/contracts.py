"""Contracts in the user's own code, imported when tables are resolved: a mistake in one is reported by every command that looks at the table."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.core.config.resolve import Resolved, Unresolved
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.table import TableSpec


def with_sound_contracts(resolved: Resolved) -> Resolved:
    """The same; a table whose model cannot be imported, or is none, cannot be synced as it is configured."""
    if not any(spec.contract is not None and spec.contract.model for spec in resolved.specs):
        return resolved
    problems = {spec.id: problem for spec in resolved.specs if (problem := _problem(spec)) is not None}
    sound: Sequence[TableSpec] = [spec for spec in resolved.specs if spec.id not in problems]
    return Resolved(tuple(sound), (*resolved.problems, *problems.values()))


def _problem(spec: TableSpec) -> Unresolved | None:
    if spec.contract is None or not spec.contract.model:
        return None
    # Only here: without a model nobody waits for pandas.
    from incremental_assets.adapters.contracts.schemas import schema_of

    try:
        schema_of(spec.contract)
    except ConfigurationError as error:
        return Unresolved(spec.id, error)
    return None
