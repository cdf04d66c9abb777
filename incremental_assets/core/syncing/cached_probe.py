"""A caching probe: answers from one look at many tables, for each table whose state is unchanged since."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.model.moment import Moment
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.ports import Probe, SourceRows


class CachedProbe:
    """Implements `core.ports.Probe`. A table whose state has changed since the look is queried again."""

    def __init__(self, probe: Probe, looks: Sequence[ObserveRequest], seen: Sequence[Observation]) -> None:
        self._probe = probe
        self._seen = {look.spec.id: (look, observation) for look, observation in zip(looks, seen, strict=True)}

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[Observation, ...]:
        """The cached answers, if they cover all of these looks."""
        if not self.knows(looks):
            return self._probe.observe(looks)
        return tuple(self._seen[look.spec.id][1] for look in looks)

    def knows(self, looks: Sequence[ObserveRequest]) -> bool:
        """Whether it answers these looks without asking the source."""
        return all(self._seen.get(look.spec.id, (None, None))[0] == look for look in looks)

    @property
    def rows(self) -> SourceRows | None:
        """The rows, not cached."""
        return self._probe.rows

    def catalogue(self) -> tuple[TableShape, ...]:
        """The catalogue, not cached."""
        return self._probe.catalogue()

    def bound(self) -> Moment:
        """The bound, not cached."""
        return self._probe.bound()

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """The lags, not cached."""
        return self._probe.lag(looks)
