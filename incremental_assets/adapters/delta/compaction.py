"""Compaction of a table: one commit that leaves every row as it is and carries our metadata, by tasks where we may commit ourselves, else by Delta's OPTIMIZE.

OPTIMIZE takes the metadata of its commit from the session's settings, which all threads of a session share. Therefore it runs in a session of its own
on the same engine: the metadata of one table can never reach a concurrent commit of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks.compaction import gathering
from incremental_assets.adapters.delta.tasks.compaction.gathering import Compacting
from incremental_assets.adapters.spark.expressions import quoted
from incremental_assets.adapters.spark.session import second_session
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.compaction import SMALL, TARGET, How

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATEMENTS = {How.GATHER: "OPTIMIZE {}", How.PURGE: "REORG TABLE {} APPLY (PURGE)"}


def compact(session: SparkSession, tasks: Tasks, work: Compacting) -> int:
    """The version of the commit, confirmed from the log. Raises CommitMissing where nothing was found to do, or where another writer has changed the files."""
    plane.commit(
        work.path,
        f"{work.table}: its files are put together",
        lambda: gathering.compact(tasks, work),
        lambda: _by_spark(session, work),
    )
    log = open_log(work.path)
    for commit in log.commits(work.note.seen) if log else ():
        if commit.note is not None and commit.note.batch_id == work.note.batch_id:
            return commit.version
    raise work.missing()


def _by_spark(session: SparkSession, work: Compacting) -> None:
    settings = {
        **work.note.as_setting(),
        "spark.databricks.delta.optimize.minFileSize": str(SMALL),
        "spark.databricks.delta.optimize.maxFileSize": str(TARGET),
        # Else large files are taken as well, for a twentieth of their rows: what goes for them is decided for all together.
        "spark.databricks.delta.optimize.maxDeletedRowsRatio": "1.0",
    }
    with second_session(session) as own:
        for name, value in settings.items():
            own.conf.set(name, value)
        own.sql(_STATEMENTS[work.how].format(f"delta.{quoted(work.path)}")).collect()
