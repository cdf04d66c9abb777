"""A source of the configuration, opened by its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.core.config.database_settings import DatabaseSettings
from incremental_assets.core.config.files_settings import FilesSettings
from incremental_assets.core.config.kafka_settings import KafkaSettings
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.errors import ConfigurationError, SetupError
from incremental_assets.resources.references import looked_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from incremental_assets.core.ports import OpenSource

GROUP = "incremental_assets.sources"
"""Entry points under which another package opens sources of its kind, by the name that `dialect` has: a function of the source, in whose settings each reference is followed, and the lake."""


def open_source(source: SourceConfig, file: Path, lake: str, session: Callable[[], SparkSession]) -> OpenSource:
    """The source, opened; raises ConfigurationError for references without a usable value."""
    if isinstance(source.settings, DatabaseSettings):
        from incremental_assets.resources.database import OpenDatabase

        return OpenDatabase(source, file, lake, session)
    if isinstance(source.settings, KafkaSettings):
        from incremental_assets.resources.topics import OpenTopics

        return OpenTopics(source, file, lake)
    if isinstance(source.settings, FilesSettings):
        from incremental_assets.resources.files import OpenFiles

        return OpenFiles(source, file, lake)
    values, problems = looked_up(source, file)
    if problems:
        raise ConfigurationError(tuple(problems))
    settings: Any = source.settings
    opened: OpenSource = _opener(source.dialect)(replace(source, settings=replace(settings, **values)), lake)
    return opened


@cache
def _opener(dialect: str) -> Callable[[SourceConfig, str], OpenSource]:
    for entry in entry_points(group=GROUP, name=dialect):
        loaded: Callable[[SourceConfig, str], OpenSource] = entry.load()
        return loaded
    raise SetupError(
        f"the package that brings {dialect!r} opens no source of it: it has no entry point of the group {GROUP!r}"
    )
