"""The hash of the bytes of a row: bit for bit what a real PostgreSQL answers, of every type and of values at all edges."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest

from incremental_assets.adapters.databases import byte_hash
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.rows.byte_hash import hashes_alike
from incremental_assets.adapters.delta.tasks.audit.measure_task import Ends, MeasureUnit, apply
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.core.model.measure import RowHash
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from tests.adapters.source import Source, planned
from tests.adapters.tasks.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AWKWARD = Path(__file__).with_name("awkward.sql").read_text(encoding="utf-8")
WHOLE = (Window(None, None),)


def of_table(source: Source, name: str, spark_type: str, values: Sequence[Any]) -> tuple[int, int]:
    """The sum of hashes of a table of one column, by both sides."""
    spec = source.spec(name, strategy=Strategy.FULL_REFRESH)
    (there,) = source.open().measure(spec, WHOLE, RowHash.BYTES)
    assert [column.spark_type for column in spec.columns] == [spark_type]
    assert there.by is RowHash.BYTES
    column = pa.chunked_array([pa.array(values, required_type(spark_type))])
    return int(there.digest), sum(byte_hash.row_hashes([column]).tolist())


DICE = random.Random(11)
TEXTS = [
    "",
    " ",
    "~",
    "é😀,~",
    *("x" * size for size in (3, 4, 11, 12, 13, 23, 24, 25, 1023, 1024, 1025, 70_000)),
    "é" * 600,
    None,
]


@pytest.mark.parametrize(
    ("kind", "spark_type", "values"),
    [
        ("smallint", "smallint", [0, -1, 32767, -32768, None]),
        ("integer", "int", [0, -1, 2**31 - 1, -(2**31), None]),
        ("bigint", "bigint", [0, -1, 1, 2**32, 2**32 - 1, 2**63 - 1, -(2**63), None]),
        ("boolean", "boolean", [True, False, None]),
        ("text", "string", TEXTS),
        ("varchar", "string", TEXTS),
        ("varchar(300)", "string", ["", "é" * 300, "x" * 300, None]),
        ("varchar(200)", "string", ["", "😀" * 200, None]),
        ("char(300)", "string", ["é" * 300, "x".ljust(300), None]),
        ("char(5)", "string", ["ab   ", "     ", "ünïcö", None]),
        ("bytea", "binary", [b"", b"\x00", b"\xff" * 12, bytes(range(256)) * 4, bytes(range(256)) * 5, None]),
        ("double precision", "double", [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 0.1, None]),
        ("real", "float", [0.0, -0.0, float("nan"), float("inf"), 1.5, None]),
        ("uuid", "string", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None]),
    ],
)
def test_values_of_every_length_and_at_every_edge_hash_alike(
    source: Source, kind: str, spark_type: str, values: list[Any]
) -> None:
    source.execute(f"CREATE TABLE edges (v {kind})")
    with source.connect() as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO edges VALUES (%s)", [(value,) for value in values])
    there, here = of_table(source, "edges", spark_type, values)
    assert there == here
    of_many, here_of_many = (
        3000 * there,
        sum(byte_hash.row_hashes([pa.chunked_array([pa.array(values * 3000, required_type(spark_type))])]).tolist()),
    )
    assert of_many == here_of_many, "few values that come again and again are looked up"


@pytest.mark.parametrize(("precision", "scale"), [(1, 0), (4, 4), (5, 2), (10, 3), (15, 2), (18, 0), (19, 1), (38, 0), (38, 1), (38, 10), (38, 38)])  # fmt: skip
def test_decimals_of_any_precision_and_scale_hash_alike(source: Source, precision: int, scale: int) -> None:
    highest = 10**precision - 1
    whole = [0, 1, -1, highest, -highest, *(DICE.randint(-highest, highest) for _ in range(200))]
    whole += [sign * DICE.randint(1, 9) * 10 ** DICE.randrange(precision) for sign in (1, -1) for _ in range(50)]
    values = [*(Decimal(each).scaleb(-scale, Context(prec=80)) for each in whole), None]
    source.execute(f"CREATE TABLE numbers (v numeric({precision},{scale}))")
    with source.connect() as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO numbers VALUES (%s)", [(value,) for value in values])
    there, here = of_table(source, "numbers", f"decimal({precision},{scale})", values)
    assert there == here


@pytest.mark.acceptance
def test_both_sides_hash_every_type_alike(source: Source, spark: SparkSession) -> None:
    from tests.adapters.reading import rows_of

    source.execute(AWKWARD)
    spec = source.spec("everything", strategy=Strategy.FULL_REFRESH, key=("id",))
    probe = source.open()
    frame = rows_of(spark, source, planned(probe, spec))[1].select(*(f"`{each.name}`" for each in spec.columns))
    rows = frame.toArrow()
    columns = [rows.column(place).cast(required_type(each.spark_type)) for place, each in enumerate(spec.columns)]
    for place, column in enumerate(spec.columns):
        alone = replace(spec, shape=replace(spec.shape, columns=(column,)))
        (there,) = probe.measure(alone, WHOLE, RowHash.BYTES)
        assert (there.rows, int(there.digest)) == (309, sum(byte_hash.row_hashes([columns[place]]).tolist())), column
    (whole,) = probe.measure(spec, WHOLE, RowHash.BYTES)
    assert (whole.rows, int(whole.digest)) == (309, sum(byte_hash.row_hashes(columns).tolist()))


def test_a_table_of_800_columns_hashes_alike(source: Source) -> None:
    names = [f"c{place}" for place in range(800)]
    source.execute(
        f"CREATE TABLE wide ({', '.join(f'{name} smallint' for name in names)})",
        f"INSERT INTO wide VALUES ({', '.join(map(str, range(800)))})",
        "INSERT INTO wide (c7) VALUES (1)",
    )
    (there,) = source.open().measure(source.spec("wide", strategy=Strategy.FULL_REFRESH), WHOLE, RowHash.BYTES)
    columns = [
        pa.chunked_array([pa.array([place, 1 if place == 7 else None], pa.int16())]) for place in range(len(names))
    ]
    assert int(there.digest) == sum(byte_hash.row_hashes(columns).tolist())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "(1, 'open', 5), (2, 'paid', 7)", "(1, 'paid', 5), (2, 'open', 7)", id="two rows exchange a value"
        ),
        pytest.param("(1, 'open', 5)", "(1, 'open', -5)", id="a sign"),
        pytest.param("(1, 'open', 5)", "(4294967296, 'open', 5)", id="bits of the upper half"),
        pytest.param("(-1, 'open', 5)", "(4294967295, 'open', 5)", id="a sign and bits of the upper half"),
        pytest.param("(1, 'open', 5)", "(1, 'open ', 5)", id="a blank at the end"),
        pytest.param("(1, NULL, 5)", "(1, '', 5)", id="nothing in place of NULL"),
    ],
)
def test_what_a_hash_for_a_hash_table_would_not_tell_apart_is_told_apart(
    source: Source, before: str, after: str
) -> None:
    source.execute(
        "CREATE TABLE orders (id bigint, state text, amount numeric(10,2))", f"INSERT INTO orders VALUES {before}"
    )
    probe, spec = source.open(), source.spec("orders", strategy=Strategy.FULL_REFRESH)
    was = probe.measure(spec, WHOLE, RowHash.BYTES)
    source.execute("TRUNCATE orders", f"INSERT INTO orders VALUES {after}")
    (now,) = probe.measure(spec, WHOLE, RowHash.BYTES)
    assert (now.rows, now.digest != was[0].digest) == (was[0].rows, True)


def test_texts_that_a_collation_takes_for_one_are_two(source: Source) -> None:
    try:
        source.execute("CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this build of the server has no collation that takes two texts for one")
    source.execute(
        "CREATE TABLE names (v text COLLATE nocase)",
        "INSERT INTO names VALUES ('Ada'), ('ada')",
    )
    there, here = of_table(source, "names", "string", ["Ada", "ada"])
    assert there == here


def test_windows_and_rows_that_are_gone_count_in_a_task_as_by_their_text(tmp_path: Path) -> None:
    from incremental_assets.adapters.delta.tasks.files.unit import Replacing, Stored

    held = Table(tmp_path, "id bigint, t timestamp, s string")
    held.land(Replacing((0,), compares=True), [(number, None, f"row {number}") for number in range(6)])
    held.land(Replacing((0,), compares=True), [(1, None, "changed")])

    def counted(by: RowHash) -> list[tuple[int, int]]:
        windows = (Ends(None, 1), Ends(1, 3), Ends(4, None))
        gone = Stored("t", "timestamp")
        return apply(
            MeasureUnit(str(held.path), tuple(held.state.files.values()), held.columns, (0,), windows, gone, by)
        )

    def told(*rows: tuple[int, str]) -> int:
        numbers, texts = zip(*rows, strict=True)
        columns = [pa.array(numbers, pa.int64()), pa.nulls(len(rows), pa.timestamp("us", tz="UTC")), pa.array(texts)]
        return sum(byte_hash.row_hashes([pa.chunked_array([each]) for each in columns]).tolist())

    assert counted(RowHash.BYTES) == [
        (1, told((0, "row 0"))),
        (2, told((1, "changed"), (2, "row 2"))),
        (2, told((4, "row 4"), (5, "row 5"))),
    ]
    assert [rows for rows, _ in counted(RowHash.TEXT)] == [1, 2, 2]


def test_a_server_that_hashes_otherwise_is_asked_for_texts(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    assert source.open().row_hash() is RowHash.BYTES
    mixed: Callable[..., None] = byte_hash.lookup3._mix
    monkeypatch.setattr(byte_hash.lookup3, "_mix", lambda a, b, c: mixed(b, a, c))
    assert source.open().row_hash() is RowHash.TEXT


def test_a_server_without_the_function_is_asked_for_texts(source: Source) -> None:
    with source.asked() as asked:
        source.execute("ALTER FUNCTION pg_catalog.hash_record_extended RENAME TO gone")
        try:
            assert not hashes_alike(asked)
            asked.begin("SELECT 1")
            assert not hashes_alike(asked)
            assert one_row(asked, "SELECT 2") == (2,), "a snapshot that is held goes on"
        finally:
            source.execute("ALTER FUNCTION pg_catalog.gone RENAME TO hash_record_extended")
