"""Files in a store of objects: found by their keys, known by their tags, read in parts that belong together."""

from __future__ import annotations

import io
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.files import object_parts, opened, pattern
from incremental_assets.adapters.lake_store.opened import configure
from incremental_assets.core.config.files_settings import FileFormat
from incremental_assets.core.model.column_choice import ColumnChoice
from incremental_assets.core.model.dropped_file import Changed
from incremental_assets.core.planning.report import Status
from incremental_assets.core.strategies import Strategy
from tests.adapters.files import test_stories as stories
from tests.adapters.files.drop import ORDERS, TABLE, files
from tests.adapters.files.stored import StoredDrop
from tests.adapters.lake_store.bucket import Relay, new_bucket, options

NAMES = [
    "plain.csv",
    "with a blank.csv",
    "per%cent.csv",
    "per%20cent.csv",
    "pl+us.csv",
    "ünï.csv",
    "e\u0301.csv",
    "日本.csv",
    "a&b=c?.csv",
    "#hash.csv",
    "q'uote\".csv",
    "~tilde*.csv",
    "sub folder/x%2Fy.csv",
    "[b]{c}^|<>`.csv",
]
Dropping = Callable[..., StoredDrop]


@pytest.fixture
def dropping(relay: Relay, tmp_path: Path) -> Dropping:
    root = new_bucket(relay.server)
    configure(root, lambda: options(relay.address))
    return partial(StoredDrop, tmp_path, address=f"{root}/in here/ünd")


def raw(relay: Relay, drop: StoredDrop, key: str) -> None:
    """An empty object whose key the client itself does not write."""
    address = (
        f"http://{relay.server}/{drop.address.removeprefix('s3://').replace(' ', '%20').replace('ü', '%C3%BC')}/{key}"
    )
    urllib.request.urlopen(urllib.request.Request(address, data=b"", method="PUT")).close()


@pytest.mark.parametrize(
    "story",
    [
        stories.test_each_row_of_each_file_lands_once_with_its_place,
        stories.test_of_each_key_the_newest_row_counts_by_path_and_number,
        stories.test_a_file_that_comes_late_takes_no_row_back,
        stories.test_by_an_order_the_larger_value_counts_wherever_it_comes,
    ],
)
def test_the_stories_of_a_folder_are_those_of_a_store(
    story: Callable[[Path], None], dropping: Dropping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stories, "Drop", lambda _, *more: dropping(*more))
    story(tmp_path)


def test_names_may_hold_any_sign(dropping: Dropping) -> None:
    drop = dropping(files(columns={"id": "bigint", "status": "string"}), Strategy.APPEND)
    for number, name in enumerate(NAMES):
        drop.put(name, f"id,status\n{number},x\n")
    drop.sync()
    assert {row["_file"]: row["id"] for row in drop.rows()} == {name: number for number, name in enumerate(NAMES)}
    assert drop.sync().status is Status.IDLE


def test_a_pattern_fits_the_keys_that_it_fits_as_paths(tmp_path: Path) -> None:
    paths = ["a.csv", "b/a.csv", "b/c/a.csv", ".d/a.csv", "b/.a.csv", "b/c.txt", "2024-01/x/a.csv", "2025-01/a.csv"]
    for path in paths:
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).touch()
    for each in (
        "*.csv",
        "**/*.csv",
        "b/*.csv",
        "b/**/*.csv",
        "**/.*.csv",
        ".d/*",
        "2024-*/**/a.csv",
        "**/c/**/*",
        "*/a.csv",
        "**/b/**/**/a.csv",
    ):
        fits = pattern.fitting(each)
        assert sorted(filter(fits, paths)) == sorted(
            path for found in pattern.found(str(tmp_path), each) for path in found.paths
        ), each
    assert [pattern.fixed(each) for each in ("*.csv", "b/*.csv", "b/c/**/*.csv", "b/2*/c/a.csv")] == [
        "",
        "b",
        "b/c",
        "b",
    ]


def test_only_what_a_pattern_begins_with_is_listed(dropping: Dropping) -> None:
    drop = dropping(replace(ORDERS, path="orders/*.csv"))
    drop.put("orders/a.csv", "id,status\n1,new\n")
    drop.put("orders2/a.csv", "id,status\n2,new\n")
    drop.put("orders/deeper/a.csv", "id,status\n3,new\n")
    drop.sync()
    assert drop.copy() == {1: "new"}


def test_a_file_that_is_replaced_is_another_one_and_one_that_comes_again_is_not(dropping: Dropping) -> None:
    drop = dropping()
    drop.put("a.csv", "id,status\n1,new\n2,new\n")
    drop.sync()
    drop.put("a.csv", "id,status\n1,new\n2,new\n")
    assert drop.sync().status is Status.IDLE
    drop.put("a.csv", "id,status\n1,old\n2,new\n")
    assert "is no longer the one that landed" in drop.refused()
    drop.files = replace(drop.files, changed=Changed.IGNORE)
    assert drop.sync().status is Status.IDLE
    drop.files = replace(drop.files, changed=Changed.AGAIN)
    drop.put("a.csv", "id,status\n1,old\n")
    drop.sync()
    assert drop.copy() == {1: "old"}


def test_a_file_is_read_once_its_marker_is_there_and_no_marker_is_asked_for(dropping: Dropping, relay: Relay) -> None:
    drop = dropping(replace(ORDERS, marker=".done"))
    drop.put("day/a.csv", "id,status\n1,new\n")
    drop.put("a.csv.done", "")
    assert "1 file waits for the file that says that it is complete" in drop.sync().warnings
    drop.put("day/a.csv.done", "")
    drop.sync()
    assert drop.copy() == {1: "new"}
    # Markers are empty and many, and what could be a folder is asked for.
    assert not [each for each in relay.asked if each.startswith("HEAD")]


def test_a_file_settles_by_the_time_of_the_store(dropping: Dropping) -> None:
    drop = dropping(replace(ORDERS, settle=timedelta(minutes=5)))
    drop.put("a.csv", "id,status\n1,new\n")
    assert "1 file waits until it stays as it is for 5m" in drop.sync().warnings
    drop.files = replace(drop.files, settle=timedelta(0))
    drop.sync()
    assert drop.copy() == {1: "new"}


def test_an_empty_file_lands_and_what_stands_for_a_folder_is_no_file(dropping: Dropping, relay: Relay) -> None:
    drop = dropping()
    drop.put("a.csv", "")
    drop.put("b.csv", "id,status\n1,new\n")
    raw(relay, drop, "c.csv/")
    drop.sync()
    assert drop.landed() == ["a.csv", "b.csv"]
    assert drop.copy() == {1: "new"}


def test_a_key_that_is_no_path_stops_the_table(dropping: Dropping, relay: Relay) -> None:
    drop = dropping()
    drop.put("a.csv", "id,status\n1,new\n")
    raw(relay, drop, "b//c.csv")
    said = drop.refused()
    assert said.startswith("SourceRefused: drop.shop.orders: ")
    assert "has an object whose key is no path" in said


def test_a_store_without_the_bucket_is_not_one_without_files(dropping: Dropping, relay: Relay) -> None:
    configure("s3://nobodys", lambda: options(relay.address))
    said = replace(dropping(), address="s3://nobodys/in").refused()
    assert "'s3://nobodys/in' is in no bucket that is there" in said


def test_a_listing_that_is_denied_stops_the_table(dropping: Dropping, relay: Relay) -> None:
    drop = dropping()
    relay.faults["GET"] = ["403"]
    said = drop.refused()
    assert said.startswith("SourceRefused: ")
    assert "cannot be listed" in said
    assert "check its credentials and the rights that they have" in said


def test_a_store_that_does_not_answer_is_not_an_empty_folder(dropping: Dropping, relay: Relay) -> None:
    drop = dropping()
    drop.put("a.csv", "id,status\n1,new\n")
    relay.faults["GET"] = ["cut"] * 4
    told = drop.refused()
    assert told.startswith("SourceUnreachable: drop.shop.orders: s3")
    assert ": the store did not answer (" in told
    relay.faults.clear()
    drop.sync()
    assert drop.copy() == {1: "new"}


@contextmanager
def between_list_and_read(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> Iterator[None]:
    ask = object_parts.opened

    def late(*given: Any, **more: Any) -> Any:
        act()
        return ask(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(object_parts, "opened", late)
        yield


@pytest.mark.parametrize("content", ["", "id,status\n1,new\n"])
def test_what_goes_or_is_replaced_before_it_is_read_stops_the_table(
    content: str, dropping: Dropping, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = dropping()
    drop.put("a.csv", content)
    with between_list_and_read(monkeypatch, lambda: drop.put("a.csv", "id,status\n2,new\n")):
        assert "was written while it was read" in drop.refused()
    with between_list_and_read(monkeypatch, lambda: drop.remove("a.csv")):
        assert "has gone before it was read" in drop.refused()
    assert drop.sync().rows.read == 0


def test_parts_of_two_files_are_never_put_together(dropping: Dropping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_parts, "_AT_ONCE", 1000)
    rows = "".join(f"{number},new\n" for number in range(20_000))
    drop = dropping()
    drop.put("a.csv", f"id,status\n{rows}")
    read = object_parts._Parts.between
    asked: list[int] = []

    def replaced(self: Any, begin: int, stop: int) -> bytes:
        asked.append(begin)
        if len(asked) == 3:
            drop.put("a.csv", f"id,status\n{rows.replace('new', 'old')}")
        return read(self, begin, stop)

    with monkeypatch.context() as patched:
        patched.setattr(object_parts._Parts, "between", replaced)
        assert "was written while it was read" in drop.refused()
    drop.sync()
    assert len(asked) == 3
    assert set(drop.copy().values()) == {"old"}


def test_a_file_that_is_denied_is_named(dropping: Dropping, relay: Relay) -> None:
    drop = dropping()
    drop.put("a.csv", "id,status\n1,new\n")
    relay.within = "a.csv"
    relay.faults["GET"] = ["403"]
    said = drop.refused()
    assert said.startswith("SourceRefused: drop.shop.orders: the store denies the file 'a.csv'")


def test_of_parquet_only_the_columns_that_land_are_asked_for(
    dropping: Dropping, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 5_000
    wide = pa.table({"id": range(count), "status": ["new"] * count, "wide": [f"{n:02000}" for n in range(count)]})
    content = io.BytesIO()
    pq.write_table(wide, content, compression="none", use_dictionary=False)
    drop = dropping(files(FileFormat.PARQUET, key=("id",)), config={"columns": ColumnChoice(exclude=("wide",))})
    drop.put("a.parquet", content.getvalue())
    read, asked = object_parts._Parts.between, list[int]()

    def counted(self: Any, begin: int, stop: int) -> bytes:
        asked.append(stop - begin)
        return read(self, begin, stop)

    monkeypatch.setattr(object_parts._Parts, "between", counted)
    drop.sync()
    assert len(drop.rows()) == count
    assert sum(asked) < len(content.getvalue()) / 2


def test_packed_files_and_broken_ones_are_as_in_a_folder(dropping: Dropping) -> None:
    drop = dropping()
    drop.put("a.csv.gz", "id,status\n1,new\n")
    drop.sync()
    assert drop.copy() == {1: "new"}
    drop.put("b.csv", 'id,status\n1,"new\n')
    assert "the file 'b.csv' is broken (a quote is not closed" in drop.refused()


def test_files_are_asked_for_before_it_is_their_turn_and_land_in_order(
    dropping: Dropping, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "_ASKED_AT_ONCE", 3)
    drop = dropping()
    for number in range(10):
        drop.put(f"{number}.csv", f"id,status\n1,{number}\n")
    drop.sync()
    assert drop.copy() == {1: "9"}
    assert drop.landed() == [f"{number}.csv" for number in range(10)]


def test_a_look_and_a_sync_ask_for_each_file_once(dropping: Dropping, relay: Relay) -> None:
    drop = dropping()
    for number in range(5):
        drop.put(f"{number}.csv", f"id,status\n{number},new\n")
    spec = drop.spec
    relay.asked.clear()
    drop.sync()
    listings = [each for each in relay.asked if not each.endswith(".csv")]
    assert len(relay.asked) - len(listings) == 5
    assert len(listings) <= 2
    assert spec.id == TABLE
