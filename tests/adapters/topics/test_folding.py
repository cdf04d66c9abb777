"""What a range of records leaves of each row: the newest by the source's log, whatever comes again and in which order."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from incremental_assets.adapters.topics.changes import Change
from incremental_assets.adapters.topics.folding import Folded, OtherLog, folded
from incremental_assets.core.captures.topic.position import Log
from incremental_assets.core.config.kafka_settings import Format
from tests.adapters.topics.broker import START, FakeTopic, envelope
from tests.adapters.topics.tables import decoded, table, topic

ORDERS = topic(id="bigint", status="string")
WORD = "__debezium_unavailable_value"
Said = tuple[str, int, str | None, int]
"""What happened to an order, its status, and where in the log."""


def made(*said: Said | None, partitions: int = 1) -> FakeTopic:
    """A topic of these; each order has a partition of its own where there are several."""
    found = FakeTopic([[] for _ in range(partitions)], [0] * partitions)
    for each in said:
        if each is None:
            found.mark()
            continue
        op, key, status, lsn = each
        value: Any = (
            None if op == "tombstone" else envelope(op, None if op == "t" else {"id": key, "status": status}, lsn)
        )
        found.put(None if op == "t" else {"id": key}, value, key % partitions)
    return found


def fold(found: FakeTopic, before: Log | None = None) -> Folded:
    records = [each for partition in found.partitions for each in partition if each]
    return folded(decoded(table(ORDERS), records), before or Log(), by_place=True)


def left(found: Folded) -> dict[Any, tuple[str, Any]]:
    """What becomes of each order."""
    return {key[0]: _told(chain[-1]) for key, chain in found.rows.items()}


def _told(change: Change) -> tuple[str, Any]:
    return change.op, change.values[1] if change.values else None


def test_of_each_row_the_last_change_counts() -> None:
    found = fold(
        made(
            ("c", 1, "new", 10),
            ("c", 2, "new", 20),
            ("u", 1, "paid", 30),
            ("d", 2, None, 40),
            ("tombstone", 2, None, 0),
        )
    )
    assert left(found) == {1: ("u", "paid"), 2: ("tombstone", None)}
    assert found.log == Log("", 40, (START + 40) * 1000, 0, has_changes=True)


def test_changes_that_come_again_take_nothing_back() -> None:
    first = [("c", 1, "new", 10), ("d", 1, None, 20), ("tombstone", 1, None, 0), ("c", 1, "again", 30)]
    for cut in range(len(first) + 1):
        found = fold(made(*first, *first[:cut]))  # type: ignore[arg-type]
        assert left(found) == {1: ("c", "again")}, cut


def test_a_row_that_came_and_went_and_comes_again_is_there() -> None:
    assert left(fold(made(("c", 1, "a", 10), ("d", 1, None, 20), ("tombstone", 1, None, 0), ("c", 1, "b", 30)))) == {
        1: ("c", "b")
    }


def test_a_delete_of_which_compaction_has_left_the_tombstone_alone_is_a_delete() -> None:
    found = fold(made(None, ("tombstone", 1, None, 0), ("c", 2, "new", 40)))
    assert left(found) == {1: ("tombstone", None), 2: ("c", "new")}
    assert left(fold(made(("tombstone", 1, None, 0), ("c", 1, "after", 5)), Log("", 90, 1, 0))) == {1: ("c", "after")}


def test_a_transaction_that_began_early_and_committed_late_has_its_changes_counted() -> None:
    found = fold(made(("c", 1, "a", 100), ("c", 2, "early", 50)), Log("", 100, (START + 10) * 1000, 0))
    assert left(found) == {1: ("c", "a"), 2: ("c", "early")}


def test_a_truncation_takes_what_lies_before_it_in_the_log_from_every_partition() -> None:
    said: list[Said] = [("t", 0, None, 50), ("c", 1, "before", 40), ("c", 2, "before", 45), ("c", 3, "after", 60)]
    found = fold(made(*said, partitions=2))
    assert (left(found), found.log.emptied, found.emptied) == ({3: ("c", "after")}, 50, True)


def test_what_lies_before_a_truncation_of_an_earlier_range_is_gone_too() -> None:
    before = Log("", 50, (START + 50) * 1000, 50)
    found = fold(made(("c", 1, "before", 40), ("t", 0, None, 50), ("c", 2, "after", 60)), before)
    assert (left(found), found.emptied) == ({2: ("c", "after")}, False)


def test_a_row_in_two_partitions_after_one_was_added_is_the_newer_one() -> None:
    found = made(partitions=2)
    found.put({"id": 1}, envelope("u", {"id": 1, "status": "paid"}, 30), 0)
    found.put({"id": 1}, envelope("c", {"id": 1, "status": "new"}, 10), 1)
    assert left(fold(found)) == {1: ("u", "paid")}


def test_a_log_that_goes_back_while_its_time_goes_on_is_another_servers() -> None:
    found = made(("c", 1, "new", 100))
    later = envelope("u", {"id": 1, "status": "paid"}, 7, ts_ms=START + 900)
    found.put({"id": 1}, later)
    with pytest.raises(OtherLog, match="offset 1 of partition 0: the source's log goes back while its time goes on"):
        fold(found)


def test_an_incremental_snapshot_shows_rows_at_the_place_of_another_change() -> None:
    found = made(("c", 1, "new", 100))
    found.put({"id": 1}, envelope("r", {"id": 1, "status": "new"}, 90, ts_ms=START + 900, snapshot="incremental"))
    assert left(fold(found)) == {1: ("c", "new")}


def mysql(file: str, pos: int, server: int, status: str, at: int = START) -> dict[str, Any]:
    source = {"connector": "mysql", "file": file, "pos": pos, "server_id": server, "ts_ms": at, "row": 0}
    return {"before": None, "after": {"id": 1, "status": status}, "source": source, "op": "u"}


def test_files_of_a_binlog_are_ordered_by_their_numbers() -> None:
    found = made()
    found.put({"id": 1}, mysql("bin.1000000", 4, 1, "newer"))
    found.put({"id": 1}, mysql("bin.999999", 90_000, 1, "older"))
    assert left(fold(found)) == {1: ("u", "newer")}


def test_a_binlog_that_begins_anew_is_another_one() -> None:
    found = made()
    found.put({"id": 1}, mysql("bin.000007", 4, 1, "new"))
    found.put({"id": 1}, mysql("bin.000001", 4, 1, "newer", START + 1000))
    with pytest.raises(OtherLog, match="the source's log goes back while its time goes on"):
        fold(found)


def test_another_server_of_a_binlog_is_named_and_its_snapshot_is_of_none() -> None:
    found = made()
    found.put({"id": 1}, mysql("bin.000002", 4, 0, "read"))
    found.put({"id": 1}, mysql("bin.000002", 8, 1, "new"))
    assert fold(found).log.server == "1"
    found.put({"id": 1}, mysql("bin.000001", 4, 2, "elsewhere"))
    with pytest.raises(OtherLog, match="it is of the log of server 2, and those before of server 1"):
        fold(found)


def test_records_that_do_not_say_where_they_are_are_ordered_by_their_offsets() -> None:
    made_of = topic(Format.UNWRAPPED, id="bigint", status="string")
    found = FakeTopic([[], []], [0, 0])
    for partition, status in ((0, "a"), (0, "b"), (1, "c")):
        found.put({"id": 1}, {"id": 1, "status": status}, partition)
    # The clock of the producer went back between two records.
    (older,) = [each for each in found.partitions[0][1:] if each]
    found.partitions[0][1] = older._replace(at=START - 5)
    records = [each for partition in found.partitions for each in partition if each]
    changes = decoded(table(made_of), records, Format.UNWRAPPED)
    assert left(folded(changes[:2], Log(), by_place=False)) == {1: ("u", "b")}
    assert left(folded(changes, Log(), by_place=False)) == {1: ("u", "c")}


def test_a_value_that_did_not_come_leaves_the_changes_from_which_it_is_taken() -> None:
    found = fold(made(("c", 1, "large", 10), ("u", 1, WORD, 20)))
    (chain,) = found.rows.values()
    assert [(each.op, each.unsent) for each in chain] == [("c", frozenset()), ("u", frozenset({1}))]


def test_records_that_cannot_be_read_are_kept_by_their_key_and_else_as_lost_and_messages_change_none() -> None:
    found = made(("m", 0, "hello", 5), ("c", 1, "new", 10))
    found.put({"id": 1}, b"poison")
    found.put(b"poison", b"poison")
    found.put(None, b"poison")
    told = fold(found)
    assert [(key, chain[-1].reject and chain[-1].reject.reason) for key, chain in told.rows.items()] == [
        ((1,), "the value is no JSON")
    ]
    assert [change.record.offset for change in told.lost] == [3, 4]


def test_a_transaction_that_was_open_when_a_snapshot_read_its_rows_changes_them_though_it_wrote_before() -> None:
    found = made(("r", 1, "new", 100), ("r", 2, "new", 100), ("r", 3, "new", 100))
    for op, key, at in (("u", 1, 95), ("d", 2, 97)):
        found.put({"id": key}, envelope(op, {"id": key, "status": "late"}, at, ts_ms=START + 900))
    assert left(fold(found)) == {1: ("u", "late"), 2: ("d", None), 3: ("r", "new")}


def test_a_row_that_a_snapshot_has_read_counts_over_what_comes_again_of_before() -> None:
    found = made(("c", 1, "a", 50), ("u", 1, "b", 60), ("r", 1, "b", 65), ("c", 1, "a", 50))
    assert left(fold(found)) == {1: ("r", "b")}
    found = made(("r", 1, "new", 100), ("t", 0, None, 120), ("r", 1, "again", 130))
    assert left(fold(found)) == {1: ("r", "again")}
    assert left(fold(made(("r", 1, "new", 100), ("t", 0, None, 120)))) == {}


def test_a_row_in_two_partitions_is_what_a_snapshot_has_read_of_it_last() -> None:
    found = made(partitions=2)
    found.put({"id": 1}, envelope("r", {"id": 1, "status": "read"}, 100), 0)
    found.put({"id": 1}, envelope("u", {"id": 1, "status": "older"}, 90), 1)
    assert left(fold(found)) == {1: ("r", "read")}
    found.put({"id": 1}, envelope("u", {"id": 1, "status": "newer"}, 110), 1)
    assert left(fold(found)) == {1: ("u", "newer")}


def test_a_snapshot_that_is_taken_again_is_known_by_its_place_or_by_the_changes_before_it() -> None:
    def told(*said: tuple[str, int, str], before: Log | None = None, partitions: int = 1) -> Log:
        found = FakeTopic([[] for _ in range(partitions)], [0] * partitions)
        for key, (op, at, snapshot) in enumerate(said):
            row = envelope(op, {"id": key, "status": "x"}, at, snapshot=snapshot)
            found.put({"id": key}, row, key % partitions)
        return fold(found, before).log

    first = (("r", 100, "first"), ("r", 100, "true"), ("r", 100, "last"))
    late, change = ("u", 90, "false"), ("c", 120, "false")
    for more in ((), (late, change), (change, ("r", 130, "incremental"))):
        assert not told(*first, *more).is_taken_again
        assert not told(*more, before=told(*first)).is_taken_again
    # A snapshot of which a sync reads a part, and one whose other partition has changes already.
    assert not told(*first[1:], before=told(first[0])).is_taken_again
    assert not told(first[0], change, first[1], partitions=3).is_taken_again
    for log in (
        told(*first, ("r", 140, "first")),
        told(("r", 140, "first_in_data_collection"), before=told(*first)),
        told(change, ("r", 140, "last")),
        told(("r", 140, "last"), before=told(change)),
    ):
        assert log.is_taken_again
        assert told(change, before=Log.from_json(asdict(log))).is_taken_again


def test_what_a_log_has_told_is_read_back_and_an_older_one_may_have_told_of_changes() -> None:
    kept = fold(made(("r", 1, "new", 10), ("d", 1, None, 20))).log
    assert kept == Log("", 20, (START + 20) * 1000, 0, ((0, 1, 20),), has_changes=True)
    assert not fold(made(("r", 1, "new", 10))).log.has_changes
    document = json.loads(json.dumps(asdict(kept)))
    assert Log.from_json(document) == kept
    for name in ("deletes", "has_changes"):
        del document[name]
    assert Log.from_json(document) == Log("", 20, (START + 20) * 1000, 0, (), has_changes=True)
