"""The lake of the configuration, and its staging area. Both receive a session provider, and use it only when rows move."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from incremental_assets.adapters.databases.dialect import Address
    from incremental_assets.adapters.delta.ownership import Ownership
    from incremental_assets.adapters.spark.tasks import Tasks
    from incremental_assets.core.model.installation import Installation
    from incremental_assets.core.ports import Lake, Stage

Session = Callable[[], "SparkSession"]


def open_lake(root: str, session: Session, address: Address, tasks: Tasks, owner: Ownership) -> Lake:
    """Delta tables below `root`, and where the source is that they are compared with."""
    from incremental_assets.adapters.databases.registry import dialect_of
    from incremental_assets.adapters.delta.lake import DeltaLake

    return DeltaLake(root, session, dialect_of(address.dialect).reader(address), tasks, owner)


def open_ownership(root: str, installation: Callable[[], Installation]) -> Ownership:
    """Which installation writes which table below `root`."""
    from incremental_assets.adapters.delta.ownership import Ownership

    return Ownership(root, installation)


def open_stage(root: str, session: Session, tasks: Tasks, owner: Ownership) -> Stage:
    """Staged batches below `root`."""
    from incremental_assets.adapters.delta.staging.stage import ParquetStage

    return ParquetStage(root, session, tasks, owner)
