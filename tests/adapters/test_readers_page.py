"""Which reader reads which copy: the table of docs/reference/copies.md is what is seen here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.core.model.readers import Readers
from tests.adapters.batches import Desk, Row, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "copies.md"
PLAIN = "id int, note string, at bigint"
FIRST: list[Row] = [(1, "a", 1), (2, "a", 2)]
LATER: list[Row] = [(2, "b", 3)]
EXPECTED = [(1, "a"), (2, "b")]

Copy = tuple[str, str]
"""The path of a copy, and the name of its second column."""


def for_any(folder: Path, spark: SparkSession) -> Copy:
    return _landed(Desk(folder, spark), PLAIN, Readers.ANY)


def with_vectors(folder: Path, spark: SparkSession) -> Copy:
    return _landed(Desk(folder, spark), PLAIN, Readers.VECTORS)


def with_a_mapped_name(folder: Path, spark: SparkSession) -> Copy:
    desk = Desk(folder, spark)
    spec = replace(table("id int, my note string, at bigint"), readers=Readers.VECTORS)
    desk.land(spec, [(1, "a", 1), (2, "b", 2)])
    return desk.path(spec), "my note"


def with_a_wider_type(folder: Path, spark: SparkSession) -> Copy:
    path, note = for_any(folder, spark)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN id TYPE bigint")
    return path, note


def _landed(desk: Desk, columns: str, readers: Readers) -> Copy:
    spec = replace(table(columns), readers=readers)
    desk.land(spec, FIRST)
    desk.land(spec, LATER)
    return desk.path(spec), "note"


COPIES: dict[str, Callable[[Path, SparkSession], Copy]] = {
    "`append`, `full_refresh`, and `copies: {readers: any}`": for_any,
    "`upsert`: deletion vectors": with_vectors,
    "a name with a blank or one of `,;{}()=`: column mapping": with_a_mapped_name,
    "`schema_changes: widen`, once a type was widened": with_a_wider_type,
}


def by_spark(copy: Copy, spark: SparkSession) -> list[Any]:
    return [tuple(row) for row in spark.read.format("delta").load(copy[0]).select("id", f"`{copy[1]}`").collect()]


def by_query_builder(copy: Copy, _: SparkSession) -> list[Any]:
    told = QueryBuilder().register("t", DeltaTable(copy[0])).execute(f'SELECT id, "{copy[1]}" FROM t').read_all()
    return list(zip(*(each.to_pylist() for each in told.columns), strict=True))


def by_pandas(copy: Copy, _: SparkSession) -> list[Any]:
    return [tuple(row) for row in DeltaTable(copy[0]).to_pandas()[["id", copy[1]]].itertuples(index=False)]


def by_duckdb(copy: Copy, _: SparkSession) -> list[Any]:
    rows = DeltaTable(copy[0]).to_pyarrow_dataset()
    return duckdb.sql(f'SELECT id, "{copy[1]}" FROM rows').fetchall() if rows is not None else []


READERS: dict[str, Callable[[Copy, SparkSession], list[Any]]] = {
    "Spark 4": by_spark,
    "delta-rs, `QueryBuilder`": by_query_builder,
    "delta-rs, `to_pandas()`": by_pandas,
    "DuckDB, of `to_pyarrow_dataset()`": by_duckdb,
}


def verdict(read: Callable[[Copy, SparkSession], list[Any]], copy: Copy, spark: SparkSession) -> str:
    try:
        found = sorted(read(copy, spark))
    except Exception:  # noqa: BLE001 - each reader refuses in its own way
        return "refuses"
    assert found == EXPECTED, "a reader that shows other rows than there are is worse than one that refuses"
    return "reads"


@pytest.mark.acceptance
def test_the_table_of_the_page_is_what_each_reader_does(spark: SparkSession, tmp_path: Path) -> None:
    lines = [f"| a copy of | {' | '.join(READERS)} |", f"|---|{'---|' * len(READERS)}"]
    for number, (name, make) in enumerate(COPIES.items()):
        copy = make(tmp_path / str(number), spark)
        lines.append(f"| {name} | {' | '.join(verdict(read, copy, spark) for read in READERS.values())} |")
    assert "\n".join(lines) in PAGE.read_text(encoding="utf-8"), "\n".join(lines)
