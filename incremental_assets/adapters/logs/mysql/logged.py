"""A source of this database some of whose tables are read from its binlog."""

from __future__ import annotations

from pathlib import Path

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.logs.logged_source import LoggedBySource
from incremental_assets.adapters.logs.mysql.source_log import SourceLog
from incremental_assets.core.config.database_settings import LogTerms


class Logged(LoggedBySource):
    """Implements `logs.registry.Logged`."""

    def __init__(self, address: Address, terms: LogTerms, folder: Path) -> None:
        super().__init__(SourceLog(address, terms, folder))
