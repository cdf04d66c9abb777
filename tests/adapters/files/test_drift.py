"""Files whose columns are not those of the files before: by what `schema_changes` of the table says."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.files import probe
from incremental_assets.core.config.files_settings import FileFormat
from incremental_assets.core.model.column_choice import ColumnChoice
from incremental_assets.core.planning.report import Status
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import ORDERS, Drop, files

PARQUET = files(FileFormat.PARQUET, key=("id",))
CSV = files(key=("id",))


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_a_column_that_comes_with_a_file_comes_into_the_copy(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET)
    drop.put("a.parquet", parquet(id=[1], status=["new"]))
    drop.sync()
    drop.put("b.parquet", parquet(id=[2], status=["new"], more=[7]))
    drop.put("c.parquet", parquet(id=[3], more=[8]))
    drop.sync()
    assert [(row["id"], row["status"], row.get("more")) for row in drop.rows()] == [
        (1, "new", None),
        (2, "new", 7),
        (3, None, 8),
    ]


def test_a_header_names_the_columns_of_csv_all_of_which_are_texts(tmp_path: Path) -> None:
    drop = Drop(tmp_path, CSV)
    drop.put("a.csv", "id,status\n1,new\n")
    drop.sync()
    drop.put("b.csv", "more,id\n007,2\n")
    drop.sync()
    assert [(row["id"], row.get("status"), row.get("more")) for row in drop.rows()] == [
        ("1", "new", None),
        ("2", None, "007"),
    ]


def test_a_column_without_any_value_is_of_the_type_that_other_files_say(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(FileFormat.PARQUET), Strategy.APPEND)
    nothing = parquet(id=[1], note=pa.nulls(1))
    drop.put("a.parquet", nothing)
    drop.sync()
    drop.put("b.parquet", parquet(id=[2], note=["x"]))
    drop.put("c.parquet", nothing)
    assert drop.sync().warnings == ()
    assert [(row["id"], row.get("note")) for row in drop.rows()] == [(1, None), (2, "x"), (1, None)]


def test_columns_that_are_frozen_stop_a_file_that_lacks_one(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET, config={"schema_changes": "freeze"})
    drop.put("a.parquet", parquet(id=[1], status=["new"]))
    drop.sync()
    drop.put("b.parquet", parquet(id=[2]))
    assert "the file 'b.parquet' has no column 'status', and `schema_changes: freeze` keeps it" in drop.refused()
    assert len(drop.rows()) == 1


def test_new_columns_that_are_discarded_are_not_read(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET, config={"schema_changes": "discard"})
    drop.put("a.parquet", parquet(id=[1], status=["new"]))
    drop.sync()
    drop.put("b.parquet", parquet(id=[2], status=["new"], more=[7]))
    assert drop.sync().status is Status.LANDED
    assert [set(row) for row in drop.rows()] == [{"id", "status", "_file", "_file_row"}] * 2


def test_a_narrower_type_fits(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET)
    drop.put("a.parquet", parquet(id=pa.array([1], pa.int64()), n=pa.array([1], pa.int32())))
    drop.sync()
    drop.put("b.parquet", parquet(id=pa.array([2], pa.int16()), n=pa.array([2], pa.int8())))
    drop.sync()
    assert [(row["id"], row["n"]) for row in drop.rows()] == [(1, 1), (2, 2)]


def test_another_type_is_named_with_its_file(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET)
    drop.put("a.parquet", parquet(id=[1], n=["x"]))
    drop.put("b.parquet", parquet(id=[2], n=[1]))
    assert "SchemaChanged: drop.shop.orders: the file 'a.parquet' has 'n' as string, where the table has bigint" in (
        drop.refused()
    )


def test_a_file_without_the_key_is_named(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET)
    drop.put("a.parquet", parquet(id=[1], status=["new"]))
    drop.sync()
    drop.put("b.parquet", parquet(status=["new"]))
    assert "the file 'b.parquet' has no column 'id', by which its rows are known or ordered" in drop.refused()


def test_a_column_that_no_recent_file_has_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_SAMPLED", 1)
    drop = Drop(tmp_path, PARQUET, Strategy.UPSERT)
    drop.put("a.parquet", parquet(id=[1], status=["new"], more=[1]))
    drop.put("b.parquet", parquet(id=[2], status=["new"]))
    assert "the file 'a.parquet' has a column 'more', which the table does not have" in drop.refused()


def test_an_order_that_does_not_count_or_is_left_out_is_named(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(FileFormat.PARQUET, key=("id",), order="at"))
    path = drop.put("a.parquet", parquet(id=[1], at=[1.5]))
    assert "`order` names 'at', a double in the files, which has no order that counts" in drop.refused()
    path.unlink()
    drop.put("b.parquet", parquet(id=[1], at=[1]))
    for name in ("at", "_file"):
        drop.config = {"columns": ColumnChoice(exclude=(name,))}
        assert f"`columns` leaves out {name}, by which the newer of two rows is known" in drop.refused()


def test_a_name_that_a_copy_of_files_has_itself_is_refused(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET)
    drop.put("a.parquet", parquet(id=[1], _file=["x"]))
    assert (
        "the files have a column '_file', which is the name of one that a copy of files has of its own"
        in drop.refused()
    )


def test_a_column_that_a_file_lacks_is_told_by_file_and_column(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(columns={"id": "bigint", "status": "string", "price": "double"}, key=("id",)))
    drop.put("a.csv", "id,status,price\n1,new,1.5\n")
    assert drop.sync().warnings == ()
    drop.put("b.csv", "id,price\n2,1.5\n")
    drop.put("c.csv", "id,status,price\n3,new,1.5\n")
    drop.put("d.csv", "id\n4\n")
    assert drop.sync().warnings == (
        "2 files of this sync have no column 'status', which is NULL in their rows: 'b.csv', 'd.csv'; have them written with that, or set `schema_changes: freeze`, under which such a file stops the table",
        "1 file of this sync has no column 'price', which is NULL in its rows: 'd.csv'; have it written with that, or set `schema_changes: freeze`, under which such a file stops the table",
    )
    assert drop.copy() == {1: "new", 2: None, 3: "new", 4: None}
    assert drop.sync().warnings == ()


def test_of_many_files_that_lack_a_column_some_are_named(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET, Strategy.UPSERT)
    for number in range(8):
        drop.put(f"{number}.parquet", parquet(id=[number]) if number else parquet(id=[0], status=["new"]))
    (said,) = drop.sync().warnings
    assert said.startswith(
        "7 files of this sync have no column 'status', which is NULL in their rows: '1.parquet', '2.parquet', '3.parquet', '4.parquet', '5.parquet' and 2 others; "
    )


def test_what_lacks_every_column_by_intent_says_nothing(tmp_path: Path) -> None:
    drop = Drop(tmp_path, ORDERS)
    drop.put("empty.csv", "")
    drop.config = {"columns": ColumnChoice(exclude=("status",))}
    drop.put("a.csv", "id\n1\n")
    assert drop.sync().warnings == ()
