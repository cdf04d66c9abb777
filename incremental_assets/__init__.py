"""Incremental sync of database tables into Delta Lake, as partitioned Dagster assets.

The names below are what other programs may rely on. Each is imported when it is first asked for, so that `import incremental_assets`
costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incremental_assets.component import IncrementalSource
    from incremental_assets.core.checks.run_checks import Scope, audit
    from incremental_assets.core.config.load import load
    from incremental_assets.core.config.resolve import Resolved, resolve_all
    from incremental_assets.core.config.settings import Configuration, SourceConfig, TableConfig
    from incremental_assets.core.errors import ConfigurationError, IncrementalAssetsError
    from incremental_assets.core.model.cursor import CursorType, CursorValue
    from incremental_assets.core.model.table import TableSpec
    from incremental_assets.core.model.table_id import TableId
    from incremental_assets.core.model.table_shape import TableShape
    from incremental_assets.core.model.verdict import Check, Verdict
    from incremental_assets.core.model.window import Window
    from incremental_assets.core.planning.plan import Mode, Request
    from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
    from incremental_assets.core.ports import Checkpoints, Lake, Ports, Probe, Source, Stage
    from incremental_assets.core.strategies import Strategy
    from incremental_assets.core.syncing.sync import sync_table
    from incremental_assets.core.syncing.sync_many import sync_many

__all__ = [
    "Check",
    "Checkpoints",
    "Configuration",
    "ConfigurationError",
    "CursorType",
    "CursorValue",
    "IncrementalAssetsError",
    "IncrementalSource",
    "Lake",
    "Mode",
    "Ports",
    "Probe",
    "Request",
    "Resolved",
    "RowCounts",
    "Scope",
    "Source",
    "SourceConfig",
    "Stage",
    "Status",
    "Strategy",
    "SyncReport",
    "TableConfig",
    "TableId",
    "TableShape",
    "TableSpec",
    "Verdict",
    "Window",
    "audit",
    "load",
    "resolve_all",
    "sync_many",
    "sync_table",
]

_HOMES = {
    "component": ("IncrementalSource",),
    "core.checks.run_checks": ("Scope", "audit"),
    "core.config.load": ("load",),
    "core.config.settings": ("Configuration", "SourceConfig", "TableConfig"),
    "core.model.cursor": ("CursorType", "CursorValue"),
    "core.errors": ("ConfigurationError", "IncrementalAssetsError"),
    "core.syncing.sync_many": ("sync_many",),
    "core.planning.plan": ("Mode", "Request"),
    "core.ports": ("Checkpoints", "Lake", "Ports", "Probe", "Source", "Stage"),
    "core.planning.report": ("RowCounts", "Status", "SyncReport"),
    "core.config.resolve": ("Resolved", "resolve_all"),
    "core.syncing.sync": ("sync_table",),
    "core.strategies": ("Strategy",),
    "core.model.table": ("TableId", "TableShape", "TableSpec"),
    "core.model.verdict": ("Check", "Verdict"),
    "core.model.window": ("Window",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"incremental_assets.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
