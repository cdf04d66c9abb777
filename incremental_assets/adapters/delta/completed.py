"""Rows that were read in part, completed by what the target holds of them: as one query."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from incremental_assets.adapters.delta.dedup import Present
from incremental_assets.adapters.delta.live import live
from incremental_assets.adapters.spark.expressions import all_of, column
from incremental_assets.adapters.spark.own_names import BATCH, LATE, TARGET
from incremental_assets.core.model.table import cursor_of
from incremental_assets.core.planning.plan import SyncPlan


def completed(
    session: SparkSession, rows: DataFrame, plan: SyncPlan, present: Present, new: Sequence[str]
) -> DataFrame:
    """Whole rows: `new` from those that were read, the others from the target, of the keys that it holds with the same cursor.

    One whose cursor has moved since is the next sync's to read: half of it would be of another version.
    """
    spec, by = plan.spec, dict.fromkeys((*plan.spec.key, *cursor_of(plan.spec).columns))
    same = all_of(column(name, BATCH).eqNullSafe(column(name, TARGET)) for name in by)
    target = live(session.read.format("delta").load(present.path), present.columns)
    names = {name.lower() for name in new}
    whole = [column(name, BATCH if name.lower() in names else TARGET).alias(name) for name in spec.shape.names]
    return rows.alias(BATCH).join(target.alias(TARGET), on=same).select(*whole, column(LATE, BATCH).alias(LATE))
