"""Segments that are not as they were written stop whoever reads them by name, and those that all have landed go."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from incremental_assets.adapters.logs.segments.manifest import FILE
from incremental_assets.core.errors import LakeRefused
from tests.adapters.logs.log_reader import Reader


@pytest.fixture
def three(reader: Reader) -> tuple[Reader, int]:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    for number in (1, 2, 3):
        reader.stand.execute(f"INSERT INTO orders VALUES ({number})")
        reader.read()
    return reader, oid


def test_a_missing_segment_stops_by_name(three: tuple[Reader, int]) -> None:
    reader, oid = three
    name = reader.shelf.names()[1]
    (reader.shelf.segments / name).rename(reader.shelf.folder / "elsewhere")
    with pytest.raises(LakeRefused, match=f"{name} is missing, a range of the log up to"):
        reader.rows(oid)


def test_a_missing_manifest_stops_by_name(three: tuple[Reader, int]) -> None:
    reader, oid = three
    (reader.shelf.segments / reader.shelf.names()[1] / FILE).unlink()
    with pytest.raises(LakeRefused, match="is missing, so that nobody knows what that range of the log holds"):
        reader.rows(oid)


@pytest.mark.parametrize("text", ["", "{}", '{"version": 99}', "[]", '{"version": 1}'])
def test_a_manifest_that_cannot_be_read_stops_by_name(three: tuple[Reader, int], text: str) -> None:
    reader, oid = three
    (reader.shelf.segments / reader.shelf.names()[1] / FILE).write_text(text)
    with pytest.raises(LakeRefused, match="is no manifest of a segment that this release can read"):
        reader.rows(oid)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-1], "is cut, so that its 1 changes"),
        (lambda data: data[:-9] + b"x" + data[-8:], "was altered, so that its 1 changes"),
        (None, "is missing, with 1 changes of the log"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_stops_by_name(
    three: tuple[Reader, int], damage: Callable[[bytes], bytes] | None, words: str
) -> None:
    reader, oid = three
    (path,) = (reader.shelf.segments / reader.shelf.names()[1]).glob(f"{oid}-*.parquet")
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(LakeRefused, match=words):
        reader.rows(oid)


def test_a_file_that_the_disk_does_not_give_back_stops_by_name(three: tuple[Reader, int]) -> None:
    reader, oid = three
    (path,) = (reader.shelf.segments / reader.shelf.names()[1]).glob(f"{oid}-*.parquet")
    path.unlink()
    path.mkdir()
    with pytest.raises(LakeRefused, match=f"{path.name} cannot be read .*; give access, or restore it"):
        reader.rows(oid)


def test_segments_that_all_have_landed_go_when_they_are_old_enough(three: tuple[Reader, int]) -> None:
    reader, oid = three
    first, second, third = reader.shelf.after(0)
    now = datetime.now(UTC)
    assert reader.shelf.prune(third.end, timedelta(days=1), now) == ()
    assert reader.shelf.prune(first.end, timedelta(), now) == (first.name,)
    assert reader.shelf.prune(third.end, timedelta(), now) == (second.name,)
    assert reader.shelf.names() == [third.name]
    assert reader.rows(oid, second.end) == [{"change": "insert", "id": 3}]
    with pytest.raises(LakeRefused, match="the table has not landed it while it was kept"):
        reader.rows(oid, first.end)


def test_segments_that_go_while_their_bytes_are_counted_stop_nothing(
    three: tuple[Reader, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, _ = three
    last = reader.shelf.segments / reader.shelf.names()[-1]
    left = sum(each.stat().st_size for each in last.iterdir())
    listed = list(reader.shelf.segments.glob("*/*"))
    reader.shelf.prune(reader.shelf.manifest(last.name).end, timedelta(), datetime.now(UTC))
    monkeypatch.setattr(Path, "glob", lambda *_: iter(listed))
    assert reader.shelf.bytes() == left


def test_a_segment_that_cannot_be_read_goes_as_well(three: tuple[Reader, int]) -> None:
    reader, _ = three
    first, second, third = reader.shelf.after(0)
    (reader.shelf.segments / first.name / FILE).write_text("{")
    now = datetime.now(UTC) + timedelta(seconds=1)
    assert reader.shelf.prune(second.end, timedelta(), now) == (first.name, second.name)
    assert reader.shelf.names() == [third.name]


def test_a_table_that_has_landed_a_segment_needs_none_of_an_empty_range_behind_it(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    first = reader.read()
    reader.stand.execute("CREATE TABLE other AS SELECT generate_series(1, 100)")
    assert reader.read().standing.position > first.standing.position
    reader.stand.execute("INSERT INTO orders VALUES (2)")
    reader.read()
    reader.shelf.prune(first.standing.position, timedelta(), datetime.now(UTC))
    assert len(reader.shelf.names()) == 1
    assert reader.rows(oid, first.standing.position) == [{"change": "insert", "id": 2}]


def test_a_removal_that_died_half_way_is_finished(three: tuple[Reader, int]) -> None:
    reader, _ = three
    name = reader.shelf.names()[0]
    (reader.shelf.segments / name).rename(reader.shelf.segments / f"going-{name}")
    reader.shelf.prune(0, timedelta(), datetime.now(UTC))
    assert list(reader.shelf.segments.glob("going-*")) == []
