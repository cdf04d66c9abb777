"""What the machines of a cluster lack of the packages that tasks import is sent to them, once in a session."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.spark.packages import archive_of, imported
from incremental_assets.adapters.spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "incremental_assets_packages"
"""In the working directory of each executor, where Spark unpacks it."""
_PATH = "PYTHONPATH"

_once = threading.Lock()
_log = logging.getLogger(__name__)


def expected(session: SparkSession) -> Mapping[str, str]:
    """The packages that workers elsewhere have to have, with their versions; none for those of this machine, and of a server's session, to whose workers nothing is sent."""
    return {} if is_remote(session) or str(session.sparkContext.master).startswith("local") else imported()


def send(session: SparkSession, names: Collection[str]) -> None:
    """Have each executor unpack these before its next task, and its Python find them first."""
    context: Any = session.sparkContext
    with _once:
        theirs = str(context.environment.get(_PATH, ""))
        if FOLDER in theirs.split(":"):
            return  # by another thread, whose job has asked at the same time
        archive = archive_of(names)
        _log.info("the cluster lacks %s packages, which are sent to it: %s", len(names), archive)
        context.addArchive(f"{archive}#{FOLDER}")
        # Spark starts other workers for another environment, so that nothing of theirs has been imported before.
        context.environment[_PATH] = ":".join(filter(None, [FOLDER, theirs]))
