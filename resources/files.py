"""Files of the configuration, opened."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.core.config.files_kind import misfit
from incremental_assets.core.config.files_settings import Files, FilesSettings
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.errors import ConfigurationError, Problem
from incremental_assets.core.model.paths import files_path
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.strategies import Strategy, traits_of

if TYPE_CHECKING:
    from incremental_assets.adapters.files.ledger import Ledger
    from incremental_assets.adapters.files.probe import FilesProbe
    from incremental_assets.core.ports import Source


class OpenFiles:
    """Implements `core.ports.OpenSource`. Holds nothing open."""

    def __init__(self, source: SourceConfig, file: Path, lake: str) -> None:
        self._config, self._lake = source, lake
        self._settings = _settings(source, file)

    @cached_property
    def probe(self) -> FilesProbe:
        """Light questions to it."""
        from incremental_assets.adapters.files.probe import FilesProbe

        return FilesProbe(self._settings.folder, self._config.name, self._files, self._ledgers)

    @cached_property
    def source(self) -> Source:
        """What reads it."""
        from incremental_assets.adapters.delta.copied_rows import copied_rows
        from incremental_assets.adapters.files.source import FilesSource

        files = {table: files for table, (files, _) in self._files.items()}
        return FilesSource(self._settings.folder, files, self._ledgers, partial(copied_rows, self._lake))

    def close(self) -> None:
        """Nothing is kept open."""

    @cached_property
    def _ledgers(self) -> dict[TableId, Ledger]:
        from incremental_assets.adapters.files.ledger import Ledger

        return {table: Ledger(files_path(self._lake, table), table) for table in self._files}

    @property
    def _files(self) -> dict[TableId, tuple[Files, Strategy]]:
        strategies = {table.id(self._config.name): table.strategy for table in self._config.tables}
        named = ((TableId(self._config.name, *files.schema_and_name), files) for files in self._settings.files)
        return {table: (files, strategies[table]) for table, files in named}


def _settings(source: SourceConfig, file: Path) -> FilesSettings:
    """Raises ConfigurationError for files and tables that do not fit together."""
    settings: Any = source.settings
    problems = _misfits(source, settings, file)
    if problems:
        raise ConfigurationError(tuple(problems))
    found: FilesSettings = settings
    return found


def _misfits(source: SourceConfig, settings: FilesSettings, file: Path) -> list[Problem]:
    listed = {(table.schema, table.name): table for table in source.tables}
    found = []
    for files in settings.files:
        table = listed.get(files.schema_and_name)
        if table is None:
            cure = f"no table is made of it; add `- {{table: {files.table}}}` to `tables`, or remove it"
            found.append(Problem(str(file), source.line_of("files"), files.table, cure))
        elif table.primary_key is not None:
            cure = "rows of files are known by the `key` below `files`; write it there, and remove `primary_key`"
            found.append(Problem(str(file), table.line, files.table, cure))
        elif cure := misfit(files, keeps_all=traits_of(table.strategy).keeps_versions):
            found.append(Problem(str(file), table.line, files.table, cure))
    return found
