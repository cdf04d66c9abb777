"""What a run tells Dagster beside its results: partitions that had landed before it, and were not announced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dagster import AssetExecutionContext

from incremental_assets.core.errors import IncrementalAssetsError, sentence_of
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.defs.announced import Announced, CatchUp, said
from incremental_assets.defs.names import AssetKeys
from incremental_assets.defs.partitions import Scheme
from incremental_assets.defs.tags import FIRST_TAG, MODE_TAG

_GOOD = (Status.LANDED, Status.IDLE)


@dataclass(frozen=True, slots=True)
class EarlierLandings:
    """Of one run. `behind`: tables of which more may have landed than Dagster shows."""

    context: AssetExecutionContext
    keys: AssetKeys
    scheme: Scheme
    ports: Ports
    behind: set[TableId]

    @classmethod
    def begun(
        cls, context: AssetExecutionContext, keys: AssetKeys, scheme: Scheme, specs: Sequence[TableSpec], ports: Ports
    ) -> EarlierLandings:
        """Before the run lands anything."""
        positions = ports.checkpoints.positions()
        behind = set(Announced(context.instance, keys).behind({spec.id: scheme for spec in specs}, positions))
        # A sync that a person starts on one partition announces no other one; a killed run may have landed what no position knows yet.
        is_by_hand = MODE_TAG in context.run.tags and FIRST_TAG not in context.run.tags
        left = {spec.id for spec in specs if positions.get(spec.id, Checkpoint()).open is not None}
        behind |= {spec.id for spec in specs} if is_by_hand else left
        return cls(context, keys, scheme, ports, behind)

    def after(self, report: SyncReport, spec: TableSpec) -> None:
        """After the results of a table, which are announced."""
        if report.status not in _GOOD or (report.status is Status.IDLE and spec.id not in self.behind):
            return
        position = self.ports.checkpoints.position(spec.id)
        if spec.id not in self.behind:
            Announced(self.context.instance, self.keys).remember(spec.id, self.scheme, position)
            return
        try:
            done = CatchUp.of_run(self.context, self.ports, self.keys).table(spec, self.scheme, position)
        except IncrementalAssetsError as error:
            self.context.log.warning("%s", sentence_of(spec.id, error))
            return
        self.behind.discard(spec.id)
        if done:
            self.context.log.info("%s", said(spec, done))
