"""The request of a light look: one table, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class ObserveRequest:
    """One table to be observed, with the state whose fingerprint is to be compared."""

    spec: TableSpec
    state: State | None
    """The state; None as well where it is of other terms: its values then belong to another cursor."""

    def __post_init__(self) -> None:
        if self.state is not None and self.state.terms != self.spec.terms:
            object.__setattr__(self, "state", None)
