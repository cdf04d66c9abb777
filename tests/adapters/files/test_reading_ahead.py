"""Files that are read ahead and put together: each row keeps its place, its fault and its turn, and few files are held."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.files import gathering, opened, parquet_rows, reading_ahead
from incremental_assets.adapters.files.reading_ahead import ReadingAhead
from incremental_assets.core.config.files_settings import FileFormat
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import Drop, files

PARQUET = files(FileFormat.PARQUET)


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def ids(*values: int) -> bytes:
    return parquet(id=pa.array(values, pa.int64()))


def test_rows_of_files_that_are_put_together_keep_their_file_number_and_fault(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET, Strategy.APPEND)
    for name, texts in (("a", [b"x", b"y"]), ("b", [b"z", b"\xff", b"w"]), ("c", []), ("d", [b"\xfe"])):
        text = pa.array(texts, pa.binary()).view(pa.string())
        drop.put(f"{name}.parquet", parquet(id=pa.array(range(len(texts)), pa.int64()), text=text))
    drop.sync()
    assert [(*place, row["text"]) for place, row in zip(drop.places(), drop.rows(), strict=True)] == [
        ("a.parquet", 1, "x"),
        ("a.parquet", 2, "y"),
        ("b.parquet", 1, "z"),
        ("b.parquet", 3, "w"),
    ]
    assert drop.unfit() == [
        ("b.parquet", 2, "text: a text that is no UTF-8"),
        ("d.parquet", 1, "text: a text that is no UTF-8"),
    ]


def test_files_of_other_columns_and_types_are_not_put_together(tmp_path: Path) -> None:
    drop = Drop(tmp_path, PARQUET, Strategy.APPEND)
    drop.put("a.parquet", parquet(id=pa.array([1], pa.int32())))
    drop.put("b.parquet", parquet(id=pa.array([2**40], pa.int64()), word=pa.array(["x"]).dictionary_encode()))
    drop.put("c.parquet", parquet(word=["y"], id=pa.array([3], pa.int64())))
    drop.put("d.parquet", parquet(id=pa.array([4], pa.int32()), word=["z"]))
    drop.put("e.parquet", parquet(id=pa.array([5], pa.int64()), word=pa.nulls(1)))
    drop.sync()
    found = [(row["id"], row["word"]) for row in drop.rows()]
    assert found == [(1, None), (2**40, "x"), (3, "y"), (4, "z"), (5, None)]


@pytest.mark.parametrize(
    "limits",
    [
        (reading_ahead, "_SMALL", 0),
        (reading_ahead, "_HELD", 0),
        (reading_ahead, "_AHEAD", 0),
        (gathering, "_ROWS", 2),
        (gathering, "_BYTES", 0),
    ],
)
def test_however_few_are_held_at_once_the_rows_are_the_same(
    tmp_path: Path, limits: tuple[Any, str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*limits)
    drop = Drop(tmp_path, PARQUET, Strategy.APPEND)
    for number in range(12):
        drop.put(f"{number:02}.parquet", ids(*range(number, 2 * number)))
    drop.sync()
    assert [row["id"] for row in drop.rows()] == [each for number in range(12) for each in range(number, 2 * number)]
    assert drop.places()[-1] == ("11.parquet", 11)


def test_a_small_file_with_more_rows_than_are_held_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_rows, "_ROWS", 2)
    monkeypatch.setattr(reading_ahead, "_HELD", 20)
    drop = Drop(tmp_path, PARQUET, Strategy.APPEND)
    drop.put("a.parquet", ids(1, 2, 3, 4, 5))
    drop.put("b.parquet", ids(6))
    drop.sync()
    assert [row["id"] for row in drop.rows()] == [1, 2, 3, 4, 5, 6]


def test_of_two_files_that_are_broken_the_first_one_is_named_whichever_is_found_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = Drop(tmp_path, PARQUET, Strategy.APPEND)
    drop.put("a.parquet", ids(1))
    drop.put("d.parquet", ids(1))
    process = drop.world.process()
    ready, later_one_failed = reading_ahead.begun, Event()

    def slow(files: Any, path: str, content: Any) -> Any:
        if path == "b.parquet":
            assert later_one_failed.wait(60)
        try:
            return ready(files, path, content)
        finally:
            if path == "c.parquet":
                later_one_failed.set()

    monkeypatch.setattr(reading_ahead, "begun", slow)
    spec = drop.spec
    drop.put("b.parquet", b"none")
    drop.put("c.parquet", b"none")
    monkeypatch.setattr(Drop, "spec", spec)
    assert "the file 'b.parquet' is broken" in drop.refused(process=process)


def test_no_more_files_are_held_than_are_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drop = Drop(tmp_path, PARQUET, Strategy.APPEND)
    for number in range(60):
        drop.put(f"{number:02}.parquet", ids(number))
    begun, taken, most = 0, 0, 0
    plain, passed = opened.Opening._unaltered, ReadingAhead._taken

    @contextmanager
    def unaltered(self: Any, file: Any) -> Iterator[Any]:
        nonlocal begun, most
        begun += 1
        most = max(most, begun - taken)
        with plain(self, file) as each:
            yield each

    def counted(self: Any, *each: Any) -> Iterator[Any]:
        nonlocal taken
        time.sleep(0.002)
        yield from passed(self, *each)
        taken += 1

    spec = drop.spec
    monkeypatch.setattr(Drop, "spec", spec)
    monkeypatch.setattr(opened.Opening, "_unaltered", unaltered)
    monkeypatch.setattr(ReadingAhead, "_taken", counted)
    drop.sync()
    assert (begun, taken) == (60, 60)
    assert 2 <= most <= reading_ahead._AHEAD + 1


def test_the_end_of_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drop = Drop(tmp_path, PARQUET, Strategy.APPEND)
    drop.put("a.parquet", ids(1, 2))
    spec = drop.spec
    monkeypatch.setattr(Drop, "spec", spec)
    parsed: list[Any] = []
    real = pq.ParquetFile

    def counting(source: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(source, pa.BufferReader):
            parsed.append(source)
        return real(source, *rest, **more)

    monkeypatch.setattr(pq, "ParquetFile", counting)
    drop.sync()
    assert len(parsed) == 1
