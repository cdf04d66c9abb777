"""A range from the slot to a durable segment, and what comes of a run that ends anywhere on its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.postgresql.peek import peek
from incremental_assets.adapters.logs.postgresql.reading import Log, Range, read_on
from incremental_assets.adapters.logs.segments.manifest import FILE
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.adapters.logs.segments.writing import UNFINISHED, Segment
from incremental_assets.core.errors import LakeRefused, SourceExchanged, SourceRefused, SourceUnreachable
from tests.adapters.logs.stand import LogStand, told
from tests.disks import small_disk


class Killed(BaseException):
    """The process is gone: nothing after this moment is done."""


class Reader:
    """Reads the log of a stand into a lake."""

    def __init__(self, stand: LogStand, lake: Path) -> None:
        self.stand = stand
        self.shelf = Shelf(lake / "_log" / "shop")
        self.log = Log(stand.slot, peek, self.shelf, lake)
        self.followed: dict[int, Followed] = {}

    def read(self, moment: Callable[[str], None] = lambda _: None) -> Range:
        with self.stand.asked() as asked:
            return read_on(asked, self.log, self.followed, moment)

    def follow(self, table: str, definition: str, *key: str) -> int:
        oid = self.stand.publish(table, definition)
        self.followed[oid] = Followed(oid, key or ("id",))
        return oid

    def rows(self, oid: int, position: int = 0) -> list[dict[str, object]]:
        found = [table for manifest in self.shelf.after(position) for table in self.shelf.rows(manifest, oid)]
        return [told(row) for table in found for row in table.to_pylist()]

    def transactions(self) -> pa.Table:
        return pa.concat_tables(self.shelf.transactions(each) for each in self.shelf.after(0))


@pytest.fixture
def reader(stand: LogStand, tmp_path: Path) -> Reader:
    return Reader(stand, tmp_path)


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


# --- what stops a read ----------------------------------------------------------------------------------


def test_a_slot_that_somebody_else_has_read_stops_by_name(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    reader.stand.execute(f"SELECT pg_replication_slot_advance('{reader.stand.slot_name}', pg_current_wal_lsn())")
    with pytest.raises(SourceRefused, match=r"stands at .*, ahead of .*: another program reads it"):
        reader.read()
    assert reader.shelf.names() == []


def test_a_slot_that_somebody_else_reads_between_the_look_and_the_read_stops_by_name(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    before = reader.shelf.standing()

    def taken(moment: str) -> None:
        if moment == "spool":
            reader.stand.execute(
                f"SELECT pg_replication_slot_advance('{reader.stand.slot_name}', pg_current_wal_flush_lsn())"
            )

    with pytest.raises(SourceRefused, match=r"stands at .*, ahead of .*: another program reads it"):
        reader.read(taken)
    assert reader.shelf.standing() == before
    assert reader.rows(oid) == []


def test_a_slot_that_is_gone_stops_by_name(reader: Reader) -> None:
    reader.read()
    reader.stand.execute(f"SELECT pg_drop_replication_slot('{reader.stand.slot_name}')")
    with pytest.raises(SourceRefused, match=r"there is no replication slot slot_\w+; run SELECT pg_create_logical"):
        reader.read()


def test_a_slot_that_was_made_again_stops_by_name(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute(
        f"SELECT pg_drop_replication_slot('{reader.stand.slot_name}')", "INSERT INTO orders VALUES (1)"
    )
    reader.stand.make_slot()
    with pytest.raises(SourceRefused, match="ahead of"):
        reader.read()


def test_a_slot_that_the_server_has_given_up_stops_by_name(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()")
    try:
        for _ in range(4):
            reader.stand.execute(
                "INSERT INTO orders SELECT coalesce(max(id), 0) + 1 FROM orders", "SELECT pg_switch_wal()"
            )
        reader.stand.execute("CHECKPOINT")
        with pytest.raises(
            SourceRefused, match=r"has given up the replication slot .*_removed.*`max_slot_wal_keep_size`"
        ):
            reader.read()
    finally:
        reader.stand.execute("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")


def test_a_publication_that_is_gone_stops_by_name(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)", "DROP PUBLICATION p", "INSERT INTO orders VALUES (2)")
    with pytest.raises(SourceRefused, match="there is no publication p, without which the server sends no row"):
        reader.read()


def test_a_publication_that_leaves_deletes_out_stops_by_name(reader: Reader) -> None:
    reader.read()
    reader.stand.execute("ALTER PUBLICATION p SET (publish = 'insert, update')")
    with pytest.raises(SourceRefused, match="leaves out delete, truncate"):
        reader.read()


def test_another_cluster_behind_the_address_stops_by_name(reader: Reader) -> None:
    reader.read()
    path = reader.shelf.folder / "standing.json"
    system = reader.stand.value("SELECT system_identifier::text FROM pg_control_system()")
    path.write_text(path.read_text().replace(system, "7000000000000000001"))
    with pytest.raises(SourceExchanged, match="another database cluster answers"):
        reader.read()


def test_a_slot_that_is_being_read_is_waited_for(reader: Reader) -> None:
    reader.read()
    other = reader.stand.connect(replication="database").pgconn
    start = f"START_REPLICATION SLOT {reader.stand.slot_name} LOGICAL 0/0 (proto_version '1', publication_names 'p')"
    other.send_query(start.encode())
    try:
        assert other.get_result() is not None
        with pytest.raises(SourceUnreachable, match=r"is being read by the session \d+ of the source"):
            reader.read()
    finally:
        other.finish()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (("ALTER PUBLICATION p DROP TABLE orders",), "it was removed from the publication, so that"),
        (
            ("ALTER PUBLICATION p DROP TABLE orders", "ALTER PUBLICATION p ADD TABLE orders"),
            "it was removed from the publication for a while",
        ),
        (
            (
                "ALTER PUBLICATION p SET (publish = 'insert')",
                "ALTER PUBLICATION p SET (publish = 'insert, update, delete, truncate')",
            ),
            "the publication was altered",
        ),
        (("DROP PUBLICATION p", "CREATE PUBLICATION p FOR TABLE orders"), "the publication was altered or made again"),
        (
            (
                "CREATE TABLE days (id int NOT NULL) PARTITION BY RANGE (id)",
                "ALTER PUBLICATION p ADD TABLE days",
                "ALTER TABLE days ATTACH PARTITION orders FOR VALUES FROM (0) TO (9)",
                "INSERT INTO orders VALUES (1)",
                "ALTER TABLE days DETACH PARTITION orders",
            ),
            "it was removed from the publication for a while, or may have been, as a partition or in another schema",
        ),
    ],
)
def test_what_became_of_the_publication_between_two_looks_is_in_the_segment(
    reader: Reader, how: tuple[str, ...], words: str
) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute(*how)
    manifest = reader.read().manifest
    assert manifest is not None
    assert manifest.gaps[oid].startswith(words)
    reader.stand.execute("CREATE TABLE other (id int)")
    assert reader.read().manifest is None


def test_a_table_that_was_in_another_schema_for_a_while_has_a_gap(reader: Reader) -> None:
    reader.stand.execute("DROP PUBLICATION p", "CREATE PUBLICATION p FOR TABLES IN SCHEMA public")
    reader.stand.execute("CREATE TABLE orders (id int PRIMARY KEY)", "CREATE SCHEMA aside")
    oid = int(reader.stand.value("SELECT 'orders'::regclass::oid::bigint"))
    reader.followed[oid] = Followed(oid, ("id",))
    reader.read()
    # None of these makes a gap: they leave the table where it is.
    reader.stand.execute("TRUNCATE orders", "VACUUM FULL orders", "GRANT SELECT ON orders TO public")
    manifest = reader.read().manifest
    assert manifest is not None
    assert dict(manifest.gaps) == {}
    reader.stand.execute(
        "ALTER TABLE orders SET SCHEMA aside",
        "INSERT INTO aside.orders VALUES (1)",
        "ALTER TABLE aside.orders SET SCHEMA public",
    )
    manifest = reader.read().manifest
    assert manifest is not None
    assert "in another schema" in manifest.gaps[oid]


def test_a_table_that_comes_to_the_publication_is_no_gap(reader: Reader) -> None:
    reader.read()
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    manifest = reader.read().manifest
    assert manifest is not None
    assert dict(manifest.gaps) == {}
    assert reader.rows(oid) == [{"change": "insert", "id": 1}]


# --- disks ----------------------------------------------------------------------------------------------


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


# --- segments that are not as they were written -----------------------------------------------------------


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
