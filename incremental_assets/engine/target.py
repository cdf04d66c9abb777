"""The Delta table itself: made before its first row, and kept fit for what is about to be written to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.table import Column, TableSpec
from incremental_assets.engine.log import APP_ID, TableLog, open_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN_COLUMNS = (("_sync_run_id", "string"), ("_sync_seq", "bigint"), ("_sync_at", "timestamp"))
"""What a sync adds to every row of a target: who wrote it, in which sequence, when."""

_DELETION_VECTORS = "delta.enableDeletionVectors"
_COLUMN_MAPPING = "delta.columnMapping.mode"
_AWKWARD = re.compile(r"[ ,;{}()\n\t=]")
"""Delta takes names with these only under column mapping, which not every reader knows, so it is not turned on for nothing."""


def opened(session: SparkSession, path: str, spec: TableSpec, app_id: str, columns: Iterable[Column] = ()) -> TableLog:
    """The table's log; an empty table, of the source's columns unless others are given, is made if there is none. Raises TargetChanged.

    A run that dies right after leaves an empty table with its app id, under which the next run goes on.
    """
    log = open_log(path)
    if log is None:
        create(session, path, tuple(columns) or spec.columns, app_id, comment=spec.shape.comment)
        log = open_log(path)
    if log is None or log.app_id != app_id:
        raise TargetChanged(
            f"{spec.id}: another table lies at {path} than the one that this run was planned for; run the sync again"
        )
    return log


def create(session: SparkSession, path: str, columns: Iterable[Column], app_id: str, comment: str = "") -> None:
    """Make an empty table, unless another run has just done so."""
    from pyspark.errors import PySparkException

    from incremental_assets.engine.expressions import literal, quoted

    columns = tuple(columns)
    described = [
        f"{quoted(found.name)} {found.spark_type}" + (f" COMMENT {literal(found.comment)}" if found.comment else "")
        for found in columns
    ]
    own = [f"{name} {kind}" for name, kind in OWN_COLUMNS]
    properties = {_DELETION_VECTORS: "true", APP_ID: app_id}
    if is_awkward(columns):
        properties[_COLUMN_MAPPING] = "name"
    listed = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())
    told = f" COMMENT {literal(comment)}" if comment else ""
    try:
        session.sql(
            f"CREATE TABLE IF NOT EXISTS delta.{quoted(path)} ({', '.join([*described, *own])}) USING delta{told} TBLPROPERTIES ({listed})"
        )
    except PySparkException as error:
        # Without a lock another machine may have been first; whose table it is, the caller looks.
        if open_log(path) is None:
            first = next(iter(str(error).splitlines()), "")
            raise TargetChanged(
                f"no Delta table could be made at {path} ({first}); if other files lie there, move them away"
            ) from error


def prepare(session: SparkSession, path: str, log: TableLog, columns: Iterable[Column]) -> None:
    """Turn on what the coming write needs and the table lacks: a commit without rows, and only then."""
    from incremental_assets.engine.expressions import literal, quoted

    needed = {_DELETION_VECTORS: "true"} | ({_COLUMN_MAPPING: "name"} if is_awkward(columns) else {})
    lacking = {name: value for name, value in needed.items() if log.properties.get(name) != value}
    if lacking:
        listed = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in lacking.items())
        session.sql(f"ALTER TABLE delta.{quoted(path)} SET TBLPROPERTIES ({listed})")


def is_awkward(columns: Iterable[Column]) -> bool:
    """Whether any name needs column mapping."""
    return any(_AWKWARD.search(found.name) for found in columns)
