"""A probe that has just looked at many tables: what it saw then answers for each of them that still stands where it stood."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableShape, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Observation
from incremental_assets.core.ports import Probe, SourceKeys


class CachedProbe:
    """Implements `core.ports.Probe`. A table whose state has changed since the look is asked about anew."""

    def __init__(self, probe: Probe, looks: Sequence[ObserveRequest], seen: Sequence[Observation]) -> None:
        self._probe = probe
        self._seen = {look.spec.id: (look, observation) for look, observation in zip(looks, seen, strict=True)}

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[Observation, ...]:
        """What was seen, if that is about all of these looks."""
        known = [self._seen[look.spec.id] for look in looks if look.spec.id in self._seen]
        if [before for before, _ in known] != list(looks):
            return self._probe.observe(looks)
        return tuple(observation for _, observation in known)

    def catalogue(self) -> tuple[TableShape, ...]:
        """Asked."""
        return self._probe.catalogue()

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Asked."""
        return self._probe.missing_schemas(schemas)

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """Asked."""
        return self._probe.lag(looks)

    def lowest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """Asked."""
        return self._probe.lowest(specs)

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Asked."""
        return self._probe.measure(spec, windows)

    def keys(self, spec: TableSpec) -> AbstractContextManager[SourceKeys]:
        """Asked."""
        return self._probe.keys(spec)
