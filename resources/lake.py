"""The lake of the configuration, and its staging area. Both receive a session provider, and use it only when rows move."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from incremental_assets.adapters.databases.dialect import Reader
    from incremental_assets.adapters.delta.erased import LakeErasures
    from incremental_assets.adapters.delta.lake import DeltaLake
    from incremental_assets.adapters.delta.lake_part import Versions
    from incremental_assets.adapters.delta.ownership import Ownership
    from incremental_assets.adapters.spark.tasks import Tasks
    from incremental_assets.core.model.installation import Installation
    from incremental_assets.core.ports import Lake, Stage

Session = Callable[[], "SparkSession"]


def open_lake(root: str, session: Session, reader: Reader | None, tasks: Tasks, owner: Ownership) -> DeltaLake:
    """Delta tables below `root`, and the rows that they are compared with, where they are with any."""
    from incremental_assets.adapters.delta.lake import DeltaLake

    return DeltaLake(root, session, reader, tasks, owner)


def open_logged_lake(lake: DeltaLake, versions: Versions | None, erasures: LakeErasures) -> Lake:
    """The same; its histories take the versions of tables whose log is read from there, without what was erased."""
    lake.versions, lake.erasures = versions, erasures
    return lake


def open_ownership(root: str, installation: Callable[[], Installation]) -> Ownership:
    """Which installation writes which table below `root`."""
    from incremental_assets.adapters.delta.ownership import Ownership

    return Ownership(root, installation)


def open_stage(root: str, session: Session, tasks: Tasks, owner: Ownership, erasures: LakeErasures) -> Stage:
    """Staged batches below `root`."""
    from incremental_assets.adapters.delta.staging.stage import ParquetStage

    return ParquetStage(root, session, tasks, owner, erasures)
