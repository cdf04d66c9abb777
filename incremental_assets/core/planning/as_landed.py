"""A table as its copy has it: columns that it leaves out, and how its rows are told apart. Pure."""

from __future__ import annotations

from incremental_assets.core.model.collation_key import collated, uncollated
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.discarding import discarding
from incremental_assets.core.planning.renames import with_pii


def as_landed(spec: TableSpec, state: State | None) -> TableSpec:
    """The table as a run meets it that goes on with what has landed."""
    spec = with_pii(discarding(spec, state), state)
    return uncollated(spec) if told_as_written(state) else collated(spec)


def read_anew(spec: TableSpec, state: State | None) -> TableSpec:
    """The table as a run meets it that replaces what has landed."""
    return collated(discarding(spec, state))


def told_as_written(state: State | None) -> bool:
    """Whether the copy was made by an earlier release, and has no collation key."""
    return state is not None and state.terms.collation is None
