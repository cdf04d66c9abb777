"""What a Parquet file holds of a person is found wherever in it that is, and nothing where it is not."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.erasure.bloom import xxh64
from incremental_assets.adapters.erasure.parquet import held
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.core.model.erasure import Holds
from incremental_assets.core.model.subject import Subject

ANN = Subject((("id", "900001"),), (("email", "ann.planted@example.com"),))
BY_ID = Search((ANN,))


def file_of(rows: pa.Table | list[dict[str, Any]], **settings: Any) -> bytes:
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    kept = io.BytesIO()
    pq.write_table(table, kept, **{"compression": "snappy", **settings})
    return kept.getvalue()


def others(count: int = 50, first: int = 1) -> list[dict[str, Any]]:
    return [{"id": each, "email": f"user{each}@example.com", "amount": 900001} for each in range(first, first + count)]


def ann(**values: Any) -> dict[str, Any]:
    return {"id": 900001, "email": "ann.planted@example.com", "amount": 7, **values}


def test_a_file_without_the_person_holds_nothing_though_an_amount_is_her_key() -> None:
    assert held(file_of(others(), write_page_index=True), BY_ID) == frozenset()


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_her_row_is_found_whatever_packs_it(compression: str) -> None:
    rows = [*others(), ann(id=30_000_000), *others(first=40_000_000)]
    subject = Search((Subject((("id", "30000000"),)),), {"id": frozenset({"id"})})
    assert held(file_of(rows, compression=compression, use_dictionary=False), subject) == {Holds.ROW}


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.int32(), 900001, "900001"),
        (pa.string(), "ann-1", "ann-1"),
        (pa.date32(), __import__("datetime").date(1987, 6, 5), "1987-06-05"),
        (pa.decimal128(12, 2), __import__("decimal").Decimal("900001.50"), "900001.50"),
        (pa.decimal128(30, 0), __import__("decimal").Decimal("900001"), "900001"),
        (pa.timestamp("us", "UTC"), __import__("datetime").datetime(1987, 6, 5, 4, 3, 2), "1987-06-05 04:03:02"),
        (pa.binary(), b"\x09\x01", "0901"),
    ],
)
def test_a_key_of_any_type_is_found_in_rows_and_in_statistics(kind: pa.DataType, value: Any, text: str) -> None:
    data = file_of(pa.table({"id": pa.array([value], kind)}))
    found = held(data, Search((Subject((("id", text),)),), {"id": frozenset({"id"})}))
    assert {Holds.ROW, Holds.STATISTICS, Holds.DICTIONARY} <= found


def test_a_dictionary_holds_a_value_that_no_row_has() -> None:
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), pa.array(["bob-1", "ann-1"]))
    search = Search((Subject((("id", "ann-1"),)),), {"id": frozenset({"id"})})
    data = file_of(pa.table({"id": keys}), write_statistics=False)
    assert Holds.DICTIONARY in held(data, search)
    assert Holds.ROW not in held(data, search)


def test_statistics_hold_a_value_that_no_row_has() -> None:
    data = file_of(pa.table({"id": pa.array([1, 900002], pa.int64())}), use_dictionary=False)
    planted = data.replace((900002).to_bytes(8, "little"), (900001).to_bytes(8, "little"))
    first = planted.index((900001).to_bytes(8, "little"))
    # The page is as it was; what is kept of its ends is not.
    page = bytearray(planted)
    if first < len(data) - 400:
        page[first : first + 8] = (900002).to_bytes(8, "little")
    assert Holds.STATISTICS in held(bytes(page), BY_ID)


def test_a_column_index_holds_the_ends_of_a_page() -> None:
    rows = pa.table({"id": pa.array([1, 5, 900001, 900003], pa.int64())})
    data = file_of(rows, write_page_index=True, max_rows_per_page=2, use_dictionary=False)
    assert held(data, BY_ID) == {Holds.ROW, Holds.INDEX}


def test_a_bloom_filter_tells_of_a_value_in_the_middle_of_a_column() -> None:
    rows = pa.table({"id": pa.array([1, 900001, 900003], pa.int64())})
    settings: dict[str, Any] = {"bloom_filter_options": {"id": {"ndv": 100, "fpp": 0.001}}, "write_statistics": False}
    assert held(file_of(rows, use_dictionary=False, **settings), BY_ID) == {Holds.ROW, Holds.BLOOM}
    without = pa.table({"id": pa.array([1, 900002, 900003], pa.int64())})
    assert held(file_of(without, use_dictionary=False, **settings), BY_ID) == frozenset()


def test_the_hash_of_filters_is_the_published_one() -> None:
    assert [xxh64(each) for each in (b"", b"abc")] == [0xEF46DB3751D8E999, 0x44BC2CF5AD770999]


def test_rows_of_others_that_name_her_are_told_from_her_own() -> None:
    assert Holds.OTHER_ROW in held(file_of([*others(), ann(id=7)]), BY_ID)
    assert Holds.OTHER_ROW not in held(file_of([*others(), ann()]), BY_ID)


def test_a_key_of_two_columns_is_a_row_and_not_what_two_rows_have() -> None:
    rows = [{"tenant": 3, "user": "bob"}, {"tenant": 4, "user": "ann-1"}]
    search = Search(
        (Subject((("tenant", "3"), ("user", "ann-1"))),), {"tenant": frozenset({"tenant"}), "user": frozenset({"user"})}
    )
    assert Holds.ROW not in held(file_of(rows), search)
    assert Holds.ROW in held(file_of([*rows, {"tenant": 3, "user": "ann-1"}]), search)


def test_a_column_that_the_table_maps_to_another_name_is_her_key() -> None:
    search = Search((ANN,), {"id": frozenset({"col-1f"})})
    assert Holds.ROW in held(file_of([{"col-1f": 900001}]), search)


def test_a_rejected_row_is_found_in_its_json() -> None:
    rows = [{"id": None, "_sync_raw": '{"id": "900001", "email": null}'}]
    assert Holds.ROW in held(file_of(rows), BY_ID)


def test_bytes_behind_the_pages_are_read_too() -> None:
    data = file_of(others(), compression="none")
    planted = data[:4] + b"ann.planted@example.com" + data[4:]
    assert Holds.TEXT in held(planted, BY_ID)


def test_what_cannot_be_decoded_is_not_nothing() -> None:
    data = file_of(others())
    assert held(data[:-1] + b"?", BY_ID) == {Holds.UNREADABLE}
    assert held(data[: len(data) // 2], BY_ID) == {Holds.UNREADABLE}
