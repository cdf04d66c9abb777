"""Compaction of a table by Delta's OPTIMIZE: one commit that leaves every row as it is and carries our metadata.

Delta takes the metadata of such a commit from the session's settings, which all threads of a session share. Therefore it runs in its own
session on the same engine: the metadata of one table can never reach a concurrent commit of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.spark.expressions import quoted
from incremental_assets.adapters.spark.session import second_session
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.compaction import SMALL, TARGET, How
from incremental_assets.core.model.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATEMENTS = {How.GATHER: "OPTIMIZE {}", How.PURGE: "REORG TABLE {} APPLY (PURGE)"}


def compact(session: SparkSession, table: TableId, path: str, how: How, note: CommitMetadata) -> int:
    """One commit, confirmed from the log; its version. Raises CommitMissing where Delta found nothing to do."""
    settings = {
        **note.as_setting(),
        "spark.databricks.delta.optimize.minFileSize": str(SMALL),
        "spark.databricks.delta.optimize.maxFileSize": str(TARGET),
        # Else large files are taken as well, for a twentieth of their rows: what goes for them is decided for all together.
        "spark.databricks.delta.optimize.maxDeletedRowsRatio": "1.0",
    }
    with second_session(session) as own:
        for name, value in settings.items():
            own.conf.set(name, value)
        own.sql(_STATEMENTS[how].format(f"delta.{quoted(path)}")).collect()
    log = open_log(path)
    found = (
        [commit for commit in log.commits(note.seen) if commit.note and commit.note.batch_id == note.batch_id]
        if log
        else []
    )
    if not found:
        raise CommitMissing(f"{table}: Delta found nothing to compact in {path}")
    return found[0].version
