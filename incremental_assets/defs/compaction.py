"""Compaction at the end of a sync's run, in its session, after every table was reported: needs no run of its own."""

from __future__ import annotations

from collections.abc import Sequence

from dagster import AssetExecutionContext, AssetObservation

from incremental_assets.core.config.settings import Compact
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.maintenance.compact import compact_all
from incremental_assets.core.model.compaction import Compacted
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.sync_many import listening
from incremental_assets.defs import metadata
from incremental_assets.defs.tables import View


def compact_landed(
    context: AssetExecutionContext, view: View, landed: Sequence[TableSpec], ports: Ports, seconds: float
) -> None:
    """Compact copies where that pays; `seconds` is what the syncs have taken. A failure here is a warning."""
    wanted = [spec for spec in landed if terms_of(view.config, spec.id).compact is Compact.AUTO]
    # The sensor requests no other run before this one ends, so it should end before the next look.
    spare = min(seconds, view.config.every.total_seconds() - seconds)
    with listening(compact_all(wanted, context.run.run_id, ports, spare)) as compacting:
        for done in compacting:
            if isinstance(done, Compacted):
                context.log.info(_line(done))
                context.log_event(AssetObservation(view.keys.of(done.table), metadata=metadata.of_compaction(done)))
            else:
                context.log.warning("%s", done.error)


def _line(done: Compacted) -> str:
    return f"{done.table}: {done.why.reason}: {len(done.before.sizes)} files are now {len(done.after.sizes)}, in {done.seconds:.1f} s"
