"""A range from the slot to a durable segment, and what comes of a run that ends anywhere on its way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.adapters.logs.postgresql.peek import peek
from incremental_assets.adapters.logs.postgresql.reading import Log
from incremental_assets.adapters.logs.segments.writing import UNFINISHED, Segment
from incremental_assets.core.errors import LakeRefused
from tests.adapters.logs.log_reader import Killed, Reader
from tests.adapters.logs.stand import LogStand
from tests.disks import small_disk


def test_a_range_becomes_a_segment_and_then_the_slot_is_given_up_to_there(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)", "INSERT INTO orders VALUES (2)")
    found = reader.read()
    assert reader.rows(oid) == [{"change": "insert", "id": 1}, {"change": "insert", "id": 2}]
    assert found.manifest is not None
    assert reader.stand.confirmed() == found.manifest.end == found.standing.position
    assert len(reader.transactions()) == 2
    assert reader.read().manifest is None


def test_a_second_range_follows_the_first_and_has_none_of_its_changes(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    first = reader.read().standing.position
    reader.stand.execute("INSERT INTO orders VALUES (2)")
    reader.read()
    assert reader.rows(oid) == [{"change": "insert", "id": 1}, {"change": "insert", "id": 2}]
    assert reader.rows(oid, first) == [{"change": "insert", "id": 2}]


def test_changes_of_others_move_the_slot_and_make_no_segment(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("CREATE TABLE other (id int)", "INSERT INTO other SELECT generate_series(1, 1000)")
    flushed = reader.stand.flushed()
    assert reader.read().manifest is None
    assert reader.stand.confirmed() >= flushed
    assert reader.shelf.names() == []


def test_transactions_of_published_tables_that_are_not_followed_are_kept_by_number(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.followed.clear()
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    found = reader.read()
    assert found.manifest is not None
    assert (found.left_out, reader.rows(oid), len(reader.transactions())) == (1, [], 1)


def test_what_the_source_has_forgotten_in_a_crash_is_not_read_twice(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("CHECKPOINT")
    for number in (1, 2, 3):
        reader.stand.execute(f"INSERT INTO orders VALUES ({number})")
        position = reader.read().standing.position
    reader.stand.postgres.restart("immediate")
    assert reader.stand.confirmed() < position
    reader.stand.execute("INSERT INTO orders VALUES (4)")
    reader.read()
    assert [row["id"] for row in reader.rows(oid)] == [1, 2, 3, 4]
    assert len(reader.transactions()) == 4


MOMENTS = ("spool", "decode", "write", "finish", "advance", "end")


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_dies_at_any_step_is_followed_by_one_that_ends_with_the_same_rows(
    reader: Reader, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process that is killed clears nothing away.
    monkeypatch.setattr(Segment, "discard", lambda _: None)
    oid = reader.follow("orders", "id int PRIMARY KEY, state text")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1, 'a'), (2, 'b')", "UPDATE orders SET id = 3 WHERE id = 1")

    def dies(step: str) -> None:
        if step == moment:
            raise Killed

    with pytest.raises(Killed):
        reader.read(dies)
    reader.stand.execute("INSERT INTO orders VALUES (4, 'd')")
    monkeypatch.undo()
    after = reader.read()
    assert [(row["change"], row["id"]) for row in reader.rows(oid)] == [
        ("insert", 1),
        ("insert", 2),
        ("delete", 1),
        ("update", 3),
        ("insert", 4),
    ]
    assert reader.transactions().column("changes").to_pylist() == [2, 1, 1]
    assert reader.stand.confirmed() == after.standing.position
    assert not (reader.shelf.segments / UNFINISHED).exists()


@pytest.mark.parametrize("moment", ["spool", "stand", "advance", "end"])
def test_a_run_over_nothing_may_die_as_well(reader: Reader, moment: str) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("CREATE TABLE other (id int)", "INSERT INTO other VALUES (1)")

    def dies(step: str) -> None:
        if step == moment:
            raise Killed

    with pytest.raises(Killed):
        reader.read(dies)
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    reader.read()
    assert reader.rows(oid) == [{"change": "insert", "id": 1}]


def test_a_slot_that_died_before_it_was_advanced_is_advanced_though_nothing_has_moved(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)")

    def dies(step: str) -> None:
        if step == "advance":
            raise Killed

    with pytest.raises(Killed):
        reader.read(dies)
    found = reader.read()
    assert reader.stand.confirmed() == found.standing.position


def test_a_type_that_only_texts_show_makes_the_range_come_as_texts_and_later_ones_too(reader: Reader) -> None:
    oid = reader.follow("spans", "id int PRIMARY KEY, lasted interval")
    reader.read()
    reader.stand.execute("INSERT INTO spans VALUES (1, '1 day')")
    asked: list[bool] = []

    def counted(*arguments: object, binary: bool) -> None:
        asked.append(binary)
        peek(*arguments, binary=binary)  # type: ignore[arg-type]

    reader.log = Log(reader.stand.slot, counted, reader.shelf, reader.log.scratch)
    reader.read()
    assert (asked, reader.rows(oid)) == ([True, False], [{"change": "insert", "id": 1, "lasted": "1 day"}])
    reader.stand.execute("INSERT INTO spans VALUES (2, NULL)")
    reader.read()
    assert asked == [True, False, False]


def test_a_value_that_no_copy_can_hold_makes_its_range_come_as_texts_and_later_ones_as_before(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY, until date")
    reader.read()
    found = []
    for number, until in ((1, "2024-01-31"), (2, "infinity"), (3, "2024-02-01"), (4, "2024-02-01")):
        reader.stand.execute(f"INSERT INTO orders VALUES ({number}, '{until}')")
        found.append(reader.read().standing.binary)
    assert found == [True, False, True, True]
    assert [(row["id"], row.get("rejected")) for row in reader.rows(oid)] == [
        (1, None),
        (2, ("until", "infinity does not fit into a date of Spark")),
        (3, None),
        (4, None),
    ]


def test_a_layout_that_changes_is_another_file_of_the_segment(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)", "ALTER TABLE orders ADD state text")
    reader.stand.execute("INSERT INTO orders VALUES (2, 'b')")
    manifest = reader.read().manifest
    assert manifest is not None
    assert [[column.name for column in piece.columns] for piece in manifest.pieces] == [["id"], ["id", "state"]]
    assert reader.rows(oid) == [{"change": "insert", "id": 1}, {"change": "insert", "id": 2, "state": "b"}]


@pytest.mark.parametrize("full", ["lake", "scratch"])
def test_a_full_disk_is_named_and_what_was_not_written_is_read_again(
    stand: LogStand, tmp_path: Path, full: str
) -> None:
    folders = {"lake": tmp_path / "lake", "scratch": tmp_path / "scratch"}
    for folder in folders.values():
        folder.mkdir()
    reader = Reader(stand, folders["lake"])
    reader.log = replace(reader.log, scratch=folders["scratch"])
    oid = reader.follow("orders", "id int PRIMARY KEY, note text")
    with small_disk(folders[full], 2):
        reader.read()
        stand.execute(
            "INSERT INTO orders SELECT g, string_agg(md5(h::text || g), '') FROM generate_series(1, 5000) g, generate_series(1, 60) h GROUP BY g"
        )
        before = stand.confirmed()
        with pytest.raises(
            LakeRefused, match=rf"{folders[full]}.* could not be written there \(No space left on device\)"
        ):
            reader.read()
        assert stand.confirmed() == before
        assert reader.shelf.names() == []
        assert list(reader.shelf.segments.glob("*")) == []
        if full == "lake":
            kept = reader.shelf.folder / "standing.json"
            text = kept.read_text()
    if full == "lake":
        # On a disk that has room.
        reader.shelf.folder.mkdir(parents=True)
        kept.write_text(text)
    reader.read()
    assert len(reader.rows(oid)) == 5000
