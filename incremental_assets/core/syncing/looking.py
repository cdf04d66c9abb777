"""One look at the source, which the observer hears of."""

from __future__ import annotations

import time
from collections.abc import Sequence

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import SourceObserved
from incremental_assets.core.ports import Probe, ReadsAhead
from incremental_assets.core.syncing.cached_probe import CachedProbe


def observe(
    probe: Probe, looks: Sequence[ObserveRequest], observer: Observer, run_id: str = ""
) -> tuple[Observation, ...]:
    """The source's answers to these looks; the observer hears of it, unless they were known. Raises SourceUnreachable, SourceRefused.

    Of a log that the source should keep no longer a part is read into the lake: tables that cannot land must not fill the disk of their source.
    """
    if isinstance(probe, CachedProbe) and probe.knows(looks):
        return probe.observe(looks)
    begun, tables = time.monotonic(), tuple(look.spec.id for look in looks)
    try:
        seen = probe.observe(looks)
    except Exception as error:
        observer.notify(SourceObserved(tables, run_id, time.monotonic() - begun, error))
        raise
    observer.notify(SourceObserved(tables, run_id, time.monotonic() - begun))
    return probe.read_ahead(seen) if isinstance(probe, ReadsAhead) else seen
