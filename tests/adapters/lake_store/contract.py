"""What every place promises. A module imports the tests, and has a fixture `place`: the store, and an address below which nothing is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.lake_store.store import LakeStore


@dataclass(frozen=True)
class Place:
    store: LakeStore
    root: str

    def put(self, name: str, data: bytes = b"text") -> str:
        """The key of a file that is put there."""
        key = f"{self.root}/{name}"
        self.store.make_folder(key.rpartition("/")[0])
        assert self.store.put_if_absent(key, data)
        return key


def test_a_file_is_read_as_it_was_put(place: Place) -> None:
    key = place.put("a~20b/é c+d%20e.json", b"a text")
    assert place.store.read(key) == b"a text"
    assert place.store.read(key, 0, 3) == b"a t"
    assert place.store.read(key, 2, 4) == b"te"
    assert place.store.read(key, 2, 40) == place.store.read(key, 2) == b"text"
    assert place.store.end(key, 3) == (6, b"ext")
    assert place.store.end(key, 30) == (6, b"a text")
    place.store.check(key)


@pytest.mark.parametrize("ask", ["read", "end"])
def test_what_is_not_there_is_said_so(place: Place, ask: str) -> None:
    with pytest.raises(FileNotFoundError):
        getattr(place.store, ask)(f"{place.root}/none", *([3] if ask == "end" else []))
    assert place.store.head(f"{place.root}/none") is None


def test_names_are_listed_from_one_on(place: Place) -> None:
    for name in ("1.json", "2.json", "3.json", "within/1.json", "within/2.json"):
        place.put(f"log/{name}")
    place.put("log2/4.json")
    assert set(place.store.list_from(f"{place.root}/log")) == {"1.json", "2.json", "3.json", "within"}
    assert set(place.store.list_from(f"{place.root}/log", "2")) == {"2.json", "3.json", "within"}
    assert set(place.store.list_from(f"{place.root}/log", "2.json")) == {"3.json", "within"}


def test_every_file_below_a_folder_is_found_with_what_is_known_of_it(place: Place) -> None:
    for name in ("t/a.parquet", "t/_delta_log/1.json", "t/x=1/y~20/b.parquet", "t2/c.parquet"):
        place.put(name)
    found = dict(place.store.files_in(f"{place.root}/t"))
    assert found == {
        name: place.store.head(f"{place.root}/t/{name}")
        for name in ("a.parquet", "_delta_log/1.json", "x=1/y~20/b.parquet")
    }
    assert dict(place.store.files_in(f"{place.root}/none")) == {}


def test_a_listing_says_the_tag_that_the_file_has_or_none(place: Place) -> None:
    head = place.store.head(place.put("log/1.json"))
    assert head is not None
    assert head.bytes == 4
    assert place.store.list_from(f"{place.root}/log")["1.json"] in ("", head.tag)


def test_another_file_under_the_same_key_has_another_tag(place: Place) -> None:
    before = place.store.head(place.put("log/1.json", b"one"))
    place.store.delete(f"{place.root}/log/1.json")
    after = place.store.head(place.put("log/1.json", b"two"))
    assert before is not None
    assert after is not None
    assert after.tag not in (before.tag, "")


def test_who_is_second_puts_nothing(place: Place) -> None:
    key = place.put("log/1.json", b"first")
    assert not place.store.put_if_absent(key, b"second")
    assert place.store.read(key) == b"first"
    assert set(place.store.list_from(f"{place.root}/log")) == {"1.json"}


def test_of_eight_writers_one_wins_each_file(place: Place) -> None:
    place.store.make_folder(f"{place.root}/log")
    keys = [f"{place.root}/log/{number}.json" for number in range(10)]

    def racing(name: int) -> list[str]:
        return [key for key in keys if place.store.put_if_absent(key, f"of {name}".encode())]

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(racing, range(8)))
    assert sorted(key for each in won for key in each) == keys
    assert [place.store.read(key) for key in keys] == [
        f"of {next(name for name in range(8) if key in won[name])}".encode() for key in keys
    ]


def test_what_is_removed_is_gone_and_its_neighbours_stay(place: Place) -> None:
    for name in ("a/1.json", "a/within/2.json", "a.json", "ab/3.json"):
        place.put(name)
    place.store.delete(f"{place.root}/ab/none.json")
    place.store.delete_prefix(f"{place.root}/a")
    place.store.delete_prefix(f"{place.root}/none")
    for name in ("a/1.json", "a/within/2.json"):
        assert place.store.head(f"{place.root}/{name}") is None
    assert place.store.read(f"{place.root}/a.json") == place.store.read(f"{place.root}/ab/3.json") == b"text"
    place.store.delete(f"{place.root}/ab/3.json")
    assert place.store.head(f"{place.root}/ab/3.json") is None


def test_what_is_put_replaces_what_was_there(place: Place) -> None:
    key = place.put("a/1.json", b"a longer text")
    place.store.put(key, b"text")
    assert place.store.read(key) == b"text"


@pytest.mark.parametrize("way", ["new", "passing"])
def test_a_file_is_written_from_its_begin_to_its_end(place: Place, way: str) -> None:
    key = f"{place.root}/{way}.bin"
    with getattr(place.store, way)(key) as file:
        file.write(b"a text")
        file.writelines([pa.py_buffer(b" of"), memoryview(b" three"), b""])
        assert file.tell() == 15
    assert place.store.read(key) == b"a text of three"


def test_arrow_writes_a_file(place: Place) -> None:
    key = f"{place.root}/part-0.parquet"
    with place.store.new(key) as file:
        pq.write_table(pa.table({"id": range(10_000)}), file, row_group_size=1000)
        size = file.tell()
    head = place.store.head(key)
    assert head is not None
    assert head.bytes == size
    assert pq.read_table(place.store.for_arrow(key))["id"].to_pylist() == list(range(10_000))


def test_a_file_whose_writer_fails_is_not_there(place: Place) -> None:
    key = f"{place.root}/part-0.parquet"

    def failing() -> None:
        with place.store.new(key) as file:
            file.write(b"half of ")
            raise ConnectionError("the source's")

    with pytest.raises(ConnectionError, match="the source's"):
        failing()
    assert place.store.head(key) is None


def test_a_file_that_is_finished_has_its_key(place: Place) -> None:
    key = f"{place.root}/a/part-0.parquet"
    place.store.own_folder(f"{place.root}/a")
    with place.store.passing(place.store.unfinished(key)) as file:
        file.write(b"text")
    place.store.finish(key)
    assert place.store.read(key) == b"text"
    assert set(place.store.list_from(f"{place.root}/a")) == {"part-0.parquet"}


def test_arrow_reads_a_file_by_its_parts(place: Place) -> None:
    sink: Any = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": range(10_000)}), sink, row_group_size=1000)
    key = place.put("t/part-0.parquet", sink.getvalue().to_pybytes())
    with pq.ParquetFile(place.store.for_arrow(key)) as file:
        assert file.num_row_groups == 10
        assert file.read_row_group(9)["id"].to_pylist() == list(range(9_000, 10_000))


def test_what_is_settled_and_adopted_is_as_it_was(place: Place) -> None:
    key = place.put("t/1.json")
    place.store.settle(f"{place.root}/t")
    place.store.adopt(key)
    assert place.store.read(key) == b"text"
