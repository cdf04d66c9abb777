"""No time of a contender counts whose copy is not its source."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from bench.measuring import Failed
from bench.verifying import Copy, difference, of_copy, of_csv, prove_sums

TYPES = {
    "id": "bigint", "amount": "numeric(12,2)", "state": "character(4)", "note": "character varying(20)",
    "day": "date", "updated_at": "timestamp with time zone",
}  # fmt: skip
CSV = """\
1,10.50,open,first,2026-11-20,2026-11-20 10:00:00.000001+00
2,,paid,"",2026-11-20,2026-11-20 10:00:01+00
3,0.10,ab  ,"a ""quoted"", one",,2026-11-20 10:00:02+00
"""
ROWS = """
    SELECT * FROM (VALUES
        (1::BIGINT, 10.50::DECIMAL(12,2), 'open', 'first', DATE '2026-11-20', TIMESTAMP '2026-11-20 10:00:00.000001'),
        (2, NULL, 'paid', '', DATE '2026-11-20', TIMESTAMP '2026-11-20 10:00:01'),
        (3, 0.10, 'ab', 'a "quoted", one', NULL, TIMESTAMP '2026-11-20 10:00:02')
    ) AS t(id, amount, state, note, day, updated_at)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source.csv").write_text(CSV)
    return tmp_path / "source.csv"


def told(source: Path, copy: Copy) -> str | None:
    return difference(of_csv(source, TYPES), of_copy(copy, TYPES)[0])


def parquet(folder: Path, query: str) -> Copy:
    duckdb.execute(f"COPY ({query}) TO '{folder / 'copy.parquet'}' (FORMAT parquet)")
    return Copy("parquet", str(folder / "copy.parquet"))


def delta(folder: Path, query: str) -> Copy:
    write_deltalake(str(folder / "delta"), pa.table(duckdb.sql(query).to_arrow_table()))
    return Copy("delta", str(folder / "delta"))


def csv(folder: Path, query: str) -> Copy:
    rows = f"SELECT * REPLACE (strftime(updated_at, '%Y-%m-%d %H:%M:%S.%f +00') AS updated_at) FROM ({query})"
    duckdb.execute(f"COPY ({rows}) TO '{folder / 'copy.csv'}' (FORMAT csv, HEADER)")
    return Copy("csv", str(folder / "copy.csv"))


@pytest.mark.parametrize("written", [parquet, delta, csv])
def test_a_copy_with_the_same_rows_in_another_order_is_equal(written, source: Path, tmp_path: Path) -> None:
    assert told(source, written(tmp_path, f"{ROWS} ORDER BY id DESC")) is None


@pytest.mark.parametrize("written", [parquet, delta, csv])
def test_a_lost_row_is_noticed(written, source: Path, tmp_path: Path) -> None:
    sentence = told(source, written(tmp_path, f"SELECT * FROM ({ROWS}) WHERE id <> 2"))
    assert sentence == "its copy has 2 rows and the source 3"


def test_a_row_that_lies_there_twice_is_noticed(source: Path, tmp_path: Path) -> None:
    assert "4 rows" in str(told(source, parquet(tmp_path, f"{ROWS} UNION ALL SELECT * FROM ({ROWS}) WHERE id = 1")))


@pytest.mark.parametrize(
    "change",
    ["10.51 AS amount", "'first ' AS note", "DATE '2026-11-21' AS day", "updated_at + INTERVAL 1 microsecond AS updated_at", "NULL AS note"],
)  # fmt: skip
def test_one_changed_value_is_noticed(change: str, source: Path, tmp_path: Path) -> None:
    rows = f"SELECT * REPLACE ({change}) FROM ({ROWS}) WHERE id = 1 UNION ALL SELECT * FROM ({ROWS}) WHERE id <> 1"
    assert told(source, parquet(tmp_path, rows)) == "its copy has as many rows as the source, and other values"


def test_values_that_changed_places_between_rows_are_noticed(source: Path, tmp_path: Path) -> None:
    rows = f"SELECT * REPLACE (CASE id WHEN 1 THEN '' WHEN 2 THEN 'first' ELSE note END AS note) FROM ({ROWS})"
    assert told(source, parquet(tmp_path, rows)) is not None


def test_a_deleted_row_of_a_delta_table_is_not_counted(source: Path, tmp_path: Path) -> None:
    copy = delta(tmp_path, f"{ROWS} UNION ALL SELECT * REPLACE (4 AS id) FROM ({ROWS}) WHERE id = 1")
    DeltaTable(copy.place).delete("id = 4")
    assert told(source, copy) is None


def test_numbers_held_as_floating_point_are_compared_and_noted(source: Path, tmp_path: Path) -> None:
    copy = parquet(tmp_path, f"SELECT * REPLACE (amount::DOUBLE AS amount) FROM ({ROWS})")
    found, notes = of_copy(copy, TYPES)
    assert difference(of_csv(source, TYPES), found) is None
    assert notes == ("holds numeric columns as DOUBLE: amount",)


def test_a_copy_that_is_not_there_is_a_failure_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="cannot be read"):
        of_copy(Copy("delta", str(tmp_path / "nothing")), TYPES)
    with pytest.raises(Failed, match="cannot be read"):
        of_copy(Copy("parquet", str(tmp_path / "nothing.parquet")), TYPES)


def test_a_copy_comes_to_the_sums_of_its_source_however_many_digits_they_are_written_with(tmp_path: Path) -> None:
    copy = delta(tmp_path, ROWS)
    prove_sums(copy.place, "count(*), sum(id), sum(amount)", (3, Decimal(6), Decimal("10.6")))
    prove_sums(copy.place, "count(*), sum(id), sum(amount)", (3, 6, Decimal("10.6000")))


@pytest.mark.parametrize("source", [(4, 6, Decimal("10.60")), (3, 7, Decimal("10.60")), (3, 6, Decimal("10.61"))])
def test_a_sum_that_differs_is_a_failure_in_a_sentence(source: tuple[object, ...], tmp_path: Path) -> None:
    copy = delta(tmp_path, ROWS)
    with pytest.raises(Failed, match=r"its copy comes to 3, 6, 10\.60 and the source to"):
        prove_sums(copy.place, "count(*), sum(id), sum(amount)", source)
