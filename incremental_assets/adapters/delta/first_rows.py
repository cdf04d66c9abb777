"""Some rows of a copy, read without Spark, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.delta.log import delta_rs
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.schema_drift import sql_type
from incremental_assets.core.model.table_id import TableId


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The columns of a table with their types in SQL's words, and some of its rows as texts."""

    types: Mapping[str, str]
    rows: tuple[Mapping[str, str | None], ...]


def first_rows(table: TableId, path: str, most: int) -> FirstRows | None:
    """The first that come, in no order; None where there is no table. Raises LakeRefused where delta-rs cannot read it, and TargetChanged where nobody can."""
    import pyarrow as pa
    from deltalake import QueryBuilder

    from incremental_assets.adapters.spark.arrow_types import shown

    log = open_log(path)
    if log is None:
        return None
    try:
        question = QueryBuilder().register("t", delta_rs.opened(path))
        rows = pa.table(question.execute(f"SELECT * FROM t LIMIT {most:d}").read_all())  # noqa: S608 - a number
    except Exception as error:  # delta-rs raises what has no class of its own
        raise LakeRefused(
            f"{table}: the copy cannot be shown without Spark ({_first_line(error)}); read it with Spark: {path}"
        ) from error
    types = {column.name: sql_type(column.type) for column in log.columns()}
    return FirstRows(
        types, tuple({name: _text(shown(rows[name][row])) for name in types} for row in range(rows.num_rows))
    )


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return f"x'{value.hex()}'" if isinstance(value, bytes) else str(value)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
