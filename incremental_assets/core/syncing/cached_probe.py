"""A caching probe: answers from one look at many tables, for each table whose state is unchanged since."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableShape, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.ports import PlacedRows, Probe, SourceKeys


class CachedProbe:
    """Implements `core.ports.Probe`. A table whose state has changed since the look is queried again."""

    def __init__(self, probe: Probe, looks: Sequence[ObserveRequest], seen: Sequence[Observation]) -> None:
        self._probe = probe
        self._seen = {look.spec.id: (look, observation) for look, observation in zip(looks, seen, strict=True)}

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[Observation, ...]:
        """The cached answers, if they cover all of these looks."""
        known = [self._seen[look.spec.id] for look in looks if look.spec.id in self._seen]
        if [before for before, _ in known] != list(looks):
            return self._probe.observe(looks)
        return tuple(observation for _, observation in known)

    def catalogue(self) -> tuple[TableShape, ...]:
        """The catalogue, not cached."""
        return self._probe.catalogue()

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """The missing schemas, not cached."""
        return self._probe.missing_schemas(schemas)

    def bound(self) -> Bound:
        """The bound, not cached."""
        return self._probe.bound()

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """The lags, not cached."""
        return self._probe.lag(looks)

    def lowest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """The smallest cursors, not cached."""
        return self._probe.lowest(specs)

    def row_hash(self) -> RowHash:
        """The row hash, not cached."""
        return self._probe.row_hash()

    def measure(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> tuple[Measure, ...]:
        """The measures, not cached."""
        return self._probe.measure(spec, windows, by)

    def keys(self, spec: TableSpec) -> AbstractContextManager[SourceKeys]:
        """The keys, not cached."""
        return self._probe.keys(spec)

    def key_ends(self, spec: TableSpec) -> tuple[int, int] | None:
        """The smallest and the largest key, not cached."""
        return self._probe.key_ends(spec)

    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> AbstractContextManager[PlacedRows | None]:
        """The rows by place, not cached."""
        return self._probe.placed_rows(spec, windows)
