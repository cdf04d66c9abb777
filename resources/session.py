"""The session of this process, by what the configuration or a resource says of it; Dagster is not imported for it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from incremental_assets.resources.home import engine_folder

if TYPE_CHECKING:
    from pathlib import Path

    from incremental_assets.adapters.spark.kept import Keep
    from incremental_assets.adapters.spark.session import SparkSettings
    from incremental_assets.adapters.spark.session_provider import Session


def session_of(given: SparkSettings, *, own: bool, keep: Keep | None = None) -> Session:
    """The session, not opened yet. With other settings than the default, or `own`, it neither uses a running engine nor leaves one behind."""
    from incremental_assets.adapters.spark.session import SparkSettings

    alone = own or given != SparkSettings()
    return _session(given, None if alone else engine_folder(), None if alone else keep)


@cache
def _session(settings: SparkSettings, engines: Path | None, keep: Keep | None) -> Session:
    """The session of a process, not of a resource: Dagster copies a resource for each run, and a JVM holds one session's settings."""
    from incremental_assets.adapters.spark.session_provider import Session

    return Session(settings, engines, keep)
