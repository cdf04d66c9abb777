"""Every type of PostgreSQL arrives in Spark as it is, or as PostgreSQL's own text, or its row is rejected with the reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.databases.measure import spark_key_text, spark_row_hash
from incremental_assets.adapters.databases.postgresql.rows.places import row_hashes_sql
from incremental_assets.adapters.databases.postgresql.types import SourceType, spark_type
from incremental_assets.adapters.spark.own_names import HASH, KEY, RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.column import Fidelity
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from tests.adapters.source import Source, planned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AWKWARD = Path(__file__).with_name("awkward.sql").read_text()
WHOLE = (Window(None, None),)


@pytest.mark.parametrize(
    ("text", "spark", "fidelity"),
    [
        ("numeric(38,38)", "decimal(38,38)", Fidelity.EXACT),
        ("numeric", "string", Fidelity.TEXT),
        ("numeric(50,2)", "string", Fidelity.TEXT),
        ("numeric(3,-2)", "string", Fidelity.TEXT),
        ("numeric(2,5)", "string", Fidelity.TEXT),
        ("timestamp(3) with time zone", "timestamp", Fidelity.EXACT),
        ("timestamp without time zone", "timestamp_ntz", Fidelity.EXACT),
        ("character varying(20)", "string", Fidelity.EXACT),
        ("character(5)", "string", Fidelity.EXACT),
        ("time(3) without time zone", "string", Fidelity.TEXT),
        ("integer[]", "string", Fidelity.TEXT),
        ("date[]", "string", Fidelity.TEXT),
        ('public."date"', "string", Fidelity.TEXT),
    ],
)
def test_what_is_not_known_to_fit_travels_as_text(text: str, spark: str, fidelity: Fidelity) -> None:
    assert spark_type(SourceType(text, "b", "whatever")) == (spark, fidelity)


def test_domains_are_what_they_stand_for(source: Source) -> None:
    source.execute(AWKWARD)
    types = {column.name: (column.source_type, column.spark_type) for column in source.shape("everything").columns}
    assert types["dm"] == types["df"] == ("numeric(10,2)", "decimal(10,2)")
    assert types["dc"] == ("character(5)", "string")
    assert types["ds"] == ("timestamp with time zone", "timestamp")


def test_both_sides_count_and_hash_every_type_alike(source: Source, spark: SparkSession) -> None:
    from tests.adapters.reading import loaded, measured, rows_of

    source.execute(AWKWARD)
    spec = source.spec("everything", strategy=Strategy.FULL_REFRESH, key=("id",))
    query, frame = rows_of(spark, source, planned(source.open(), spec))
    assert [frame.schema[column.name].dataType.simpleString() for column in spec.columns] == [
        column.spark_type for column in spec.columns
    ]
    wire = {kind for _, kind in loaded(spark, source, query.sql).dtypes}
    assert {kind.split("(")[0] for kind in wire} <= {
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "boolean",
        "string",
        "binary",
        "decimal",
    }

    key, row_hash = spark_key_text(spec.columns[:1]), spark_row_hash(spec.columns)
    here = {row[0]: row[1] for row in frame.selectExpr(f"{key} AS {KEY}", f"{row_hash} AS {HASH}").collect()}
    there = {row[0]: row[1] for row in loaded(spark, source, row_hashes_sql(spec, WHOLE)).collect()}
    assert len(there) == 309
    probe = source.open()
    if here != there:
        for column in spec.columns:
            alone = replace(spec, shape=replace(spec.shape, columns=(column,)))
            assert measured(frame, (column,)) == probe.measure(alone, WHOLE)[0], column
        pytest.fail("each column is equal and the row is not")
    (whole,) = probe.measure(spec, WHOLE)
    assert (whole.rows, int(whole.digest)) == (309, sum(here.values()))


@pytest.mark.acceptance
def test_a_task_reads_every_type_bit_for_bit_as_spark_does(source: Source, spark: SparkSession, tmp_path: Path) -> None:
    from tests.adapters.reading import copied, rows_of

    source.execute(AWKWARD)
    spec = source.spec("everything", strategy=Strategy.FULL_REFRESH, key=("id",))
    plan = planned(source.open(), spec)
    _, theirs = rows_of(spark, source, plan)
    ours = copied(spark, source, plan, tmp_path)
    assert ours.schema.simpleString() == theirs.schema.simpleString()
    for column in spec.columns:
        # As bytes: NaN is equal to itself there, and -0.0 is not equal to 0.0.
        hashed = [
            {row[0]: row[1] for row in frame.selectExpr("id", f"{spark_row_hash((column,))}").collect()}
            for frame in (theirs, ours)
        ]
        assert hashed[0] == hashed[1], column
        assert len(hashed[1]) == 309


def test_values_are_those_that_postgresql_shows(source: Source, spark: SparkSession) -> None:
    from tests.adapters.reading import rows_of

    source.execute(AWKWARD)
    spec = source.spec("everything", strategy=Strategy.FULL_REFRESH)
    _, frame = rows_of(spark, source, planned(source.open(), spec))
    row = (
        frame.where("id = 1")
        .selectExpr(
            "ch", "chu", "dc", "n", "tm", "iv", "jb", "ta", "mo", "CAST(d AS STRING)", "CAST(ts0 AS STRING)", "ds"
        )
        .collect()[0]
    )
    assert tuple(row)[:-1] == (
        "ab   ", "xy  ", "ab   ", "NaN", "24:00:00", "-1 years -2 mons +3 days 04:05:06.789", '{"a": 1, "b": 2}', '{{a,"b,c"},{NULL,"\\"q\\""}}', "-$1,234.56",
        "0000-01-01", "1500-02-28 23:59:59",
    )  # fmt: skip
    assert frame.where("id = 1").selectExpr("unix_micros(ds)").collect()[0][0] == -1
    assert frame.where("id = 2").selectExpr("unix_micros(tsz)").collect()[0][0] == 2**63 - 2


@pytest.mark.parametrize("by", ["task", "Spark"])
def test_what_spark_cannot_hold_is_flagged_with_the_whole_row_as_text(
    source: Source, spark: SparkSession, tmp_path: Path, by: str
) -> None:
    from tests.adapters.reading import copied, measured, rows_of

    source.execute(AWKWARD)
    spec = source.spec("unholdable", strategy=Strategy.FULL_REFRESH)
    probe = source.open()
    plan = planned(probe, spec)
    with probe.snapshot(plan) as snapshot:
        assert (snapshot.rows, snapshot.rejected) == (7, 6)
    frame = copied(spark, source, plan, tmp_path) if by == "task" else rows_of(spark, source, plan)[1]
    flagged = {row["id"]: row for row in frame.collect()}
    assert {number: row[REJECT_COLUMN] for number, row in flagged.items()} == {
        1: "n",
        2: "d",
        3: "d",
        4: "ts",
        5: "ts",
        6: "tsz",
        7: None,
    }
    assert flagged[1][REJECT_REASON] == "NaN does not fit into decimal(5,2)"
    assert json.loads(flagged[1][RAW]) == {"id": "1", "n": "NaN", "d": None, "ts": None, "tsz": None, "v": 'x"y\\'}
    assert flagged[7][RAW] is None
    assert flagged[7][REJECT_REASON] is None
    landable = frame.where(f"{REJECT_REASON} IS NULL")
    assert measured(landable, spec.columns) == probe.measure(spec, WHOLE)[0], "what cannot land is no drift"
