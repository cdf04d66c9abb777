"""What a copy shows: its log, its rows to a reader that is not Spark, and what a report says of its columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.core.planning.report import SyncReport
from tests.conformance.stand import P, Stand, plain


def log_of(desk: Stand[P], name: str = "orders") -> TableLog:
    log = open_log(str(desk.shop.lake(name)))
    assert log is not None
    return log


def by_delta_rs(desk: Stand[P], query: str, name: str = "orders") -> list[tuple[Any, ...]]:
    """What a reader shows that is not Spark."""
    found = QueryBuilder().register("t", DeltaTable(str(desk.shop.lake(name)))).execute(query).read_all()
    return sorted((tuple(plain(value) for value in row.values()) for row in pa.table(found).to_pylist()), key=repr)


def told(report: SyncReport) -> list[str]:
    return [str(change) for change in report.schema_changes]
