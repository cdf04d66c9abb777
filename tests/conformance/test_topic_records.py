"""T80: what the records of a topic say of rows, in whatever order they come, is what the copy has."""

from __future__ import annotations

import random
import threading

import pytest

from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.adapters.topics.broker import as_bytes, recorded
from tests.conformance.scenario import of_topic
from tests.conformance.topic_stand import HEAD, WORD, TopicStand
from tests.waiting import until

RECORDED = """\
    topics:
      shop.orders: {{topic: {topic}, format: debezium}}
    tables:
      - {{table: shop.orders}}
"""
OPEN = """\
    topics:
      shop.orders: {{topic: {topic}, format: debezium, columns: {{id: bigint, customer: string}}, key: [id]}}
    tables:
      - {{table: shop.orders}}
"""
LARGE = """\
    topics:
      shop.orders: {{topic: {topic}, format: debezium, columns: {{{columns}}}, key: [id]}}
    tables:
      - {{table: shop.orders}}
"""


@of_topic(
    "T80",
    "inserts, updates, a changed key, deletes with their tombstones, TRUNCATE, as Debezium has recorded them of PostgreSQL, in parts of one to five records",
    holds="after each part the copy is the table as it was then; every record is passed once",
)
@pytest.mark.parametrize("part", [1, 2, 5])
def test_what_a_connector_has_recorded(topics: TopicStand, part: int) -> None:
    records = [(as_bytes(key), as_bytes(value)) for key, value in recorded("pg_schemas")]
    topics.place.configure(RECORDED.format(topic=topics.topic), HEAD.format(address=topics.server.address))
    rows: dict[int, str | None] = {}
    for begin in range(0, len(records), part):
        for key, value in recorded("pg_schemas")[begin : begin + part]:
            _apply(rows, key, value)
        topics.server.put(topics.topic, [(key, value, 0) for key, value in records[begin : begin + part]])
        topics.land(allow_shrink=True)
        held = {2, 10}  # which had a date of infinity for a while
        assert {row["id"]: row["customer"] for row in topics.place.copy() if row["id"] not in held} == {
            row: customer for row, customer in rows.items() if row not in held
        }
    assert list(rows) == [77]
    assert sum(topics.place.at().next) == len(records)


def _apply(rows: dict[int, str | None], key: object, value: object) -> None:
    """One record, by the meaning of its operation."""
    told = value["payload"] if isinstance(value, dict) else None
    if told is None:
        return
    if told["op"] == "t":
        rows.clear()
    elif told["op"] == "d":
        rows.pop(told["before"]["id"], None)
    else:
        rows[told["after"]["id"]] = told["after"]["customer"]


@of_topic(
    "T80",
    "a connector starts again and sends what it has sent before: older versions, the delete of a row that is there again, and the insert of one that is gone",
    holds="nothing goes back, no row is there twice, and none that is gone comes back, wherever a sync cuts what is repeated",
)
def test_a_connector_that_repeats_itself(topics: TopicStand) -> None:
    changes = [
        topics.change("c", 1, "new"),
        topics.change("c", 2, "new"),
        topics.change("d", 2),
        topics.change("c", 2, "again"),
        topics.change("u", 1, "paid"),
        topics.change("c", 3, "new"),
        topics.change("d", 3),
    ]
    topics.put(*changes)
    topics.land()
    for begin in range(len(changes)):
        topics.put(*changes[begin : begin + 2])
        topics.land()
        topics.assert_copy((1, "paid", None), (2, "again", None))


@of_topic(
    "T80",
    "a large value that a change left as it was, for which the connector sends a placeholder: with its row in the copy, before it in the same range, and without",
    holds="the value is that of before; where nobody has it, the row is in quarantine with that reason; the placeholder lands nowhere",
)
def test_a_value_that_was_not_sent(topics: TopicStand) -> None:
    topics.put(topics.change("c", 1, "new", "long"))
    topics.land()
    topics.put(
        topics.change("u", 1, "paid", WORD),
        topics.change("c", 2, "new", "longer"),
        topics.change("u", 2, "paid", WORD),
        topics.change("u", 3, "paid", WORD),
    )
    topics.land()
    topics.assert_copy((1, "paid", "long"), (2, "paid", "longer"))
    assert [column for *_, column, _ in topics.place.quarantined()] == ["note"]
    topics.put(topics.change("u", 3, "sent", "at last"))
    topics.land()
    topics.assert_copy((1, "paid", "long"), (2, "paid", "longer"), (3, "sent", "at last"))


@of_topic(
    "T80",
    "transactions that are open while a connector reads its snapshot, and commit behind it with changes that lie before it in the log, as Debezium has recorded them of PostgreSQL",
    holds="their changes land and nothing stops, wherever a sync ends; what the snapshot has read stays for the other rows",
)
@pytest.mark.parametrize("part", [1, 3, 7])
def test_what_was_open_at_a_snapshot(topics: TopicStand, part: int) -> None:
    records = [(as_bytes(key), as_bytes(value)) for key, value in recorded("pg_open_at_snapshot")]
    topics.place.configure(OPEN.format(topic=topics.topic), HEAD.format(address=topics.server.address))
    for begin in range(0, len(records), part):
        topics.server.put(topics.topic, [(key, value, 0) for key, value in records[begin : begin + part]])
        topics.land()
    rows = {row["id"]: row["customer"] for row in topics.place.copy()}
    assert rows == {1: "seen", 2: "late", 4: "after"}


@of_topic(
    "T80",
    "an update leaves large values as they were, of sixteen types, as Debezium has recorded it of PostgreSQL: texts, octets, documents, and arrays of these, of numbers, days and UUIDs",
    holds="each row keeps its value where the connector says so, in whichever spelling",
)
def test_large_values_of_each_type(topics: TopicStand) -> None:
    ((key, value),) = recorded("pg_unsent")
    told = [name for name, left in value["after"].items() if left is not None and name not in ("id", "n")]
    columns = {name: "binary as base64" if name == "bytea" else "string as json" for name in told}
    written = ", ".join(f"{name}: {coding}" for name, coding in {"id": "bigint", "n": "int", **columns}.items())
    topics.place.configure(
        LARGE.format(topic=topics.topic, columns=written), HEAD.format(address=topics.server.address)
    )
    first = {"id": 1, "n": 1} | {name: "AP9B" if name == "bytea" else ["large", name] for name in told}
    source = {**value["source"], "lsn": value["source"]["lsn"] - 1}
    topics.put((as_bytes(key) or b"", as_bytes({"op": "c", "before": None, "after": first, "source": source})))
    topics.land()
    topics.put((as_bytes(key), as_bytes(value)))
    topics.land()
    (row,) = topics.place.copy()
    assert row == {"id": 1, "n": 2, "bytea": b"\x00\xffA"} | {
        name: f'["large","{name}"]' for name in told if name != "bytea"
    }


@of_topic(
    "T80",
    "records that are no JSON, have no key, lack the row, or a value that the column cannot hold, among others",
    holds="each is in quarantine with partition and offset, all others land, and the next sync has nothing to do",
)
def test_records_that_cannot_land(topics: TopicStand) -> None:
    topics.put(
        topics.change("c", 1, "new"),
        (b'{"id": 2}', b"no json"),
        (None, b'{"op": "c"}'),
        (as_bytes({"id": 3}), as_bytes({"op": "c", "after": {"id": "three", "status": "x", "note": None}})),
        topics.change("c", 4, "new"),
    )
    report = topics.land()
    topics.assert_copy((1, "new", None), (4, "new", None))
    assert (len(topics.place.quarantined()), report.rows.quarantined) == (3, 3)
    assert topics.place.sync().status is Status.IDLE


@of_topic(
    "T80",
    "transactions of the producer that are aborted, and one that is open while others commit behind it",
    holds="what was aborted lands nowhere; what lies behind the open one waits for it, and all of it lands once",
)
def test_transactions_of_the_producer(topics: TopicStand) -> None:
    from confluent_kafka import Producer

    topics.put(topics.change("c", 1, "new"), commit=True)
    topics.put(topics.change("u", 1, "never"), topics.change("c", 2, "never"), commit=False)
    topics.land()
    topics.assert_copy((1, "new", None))
    writer = Producer({**topics.server.client(), "transactional.id": f"open-{topics.topic}"})
    writer.init_transactions(30)
    writer.begin_transaction()
    key, value = topics.change("u", 1, "open")
    writer.produce(topics.topic, value, key)
    writer.flush(30)
    topics.server.put(topics.topic, [topics.change("u", 1, "behind")])
    topics.place.sync()
    topics.assert_copy((1, "new", None))
    before = sum(topics.ends())
    writer.commit_transaction(30)
    until(lambda: sum(topics.ends()) >= before + 2)
    topics.land()
    topics.assert_copy((1, "behind", None))


@of_topic(
    "T80",
    "a hundred keys in three partitions, changed and deleted 2,000 times in transactions, one in five of which is aborted, while the table is synced",
    holds="in the end the copy is what the committed changes come to; meanwhile no row goes back",
)
def test_a_producer_at_work(topics: TopicStand) -> None:
    rows: dict[int, int] = {}
    dice, over = random.Random(7), threading.Event()

    def write() -> None:
        try:
            for number in range(200):
                aborted = dice.random() < 0.2
                changes, after = [], dict(rows)
                for _ in range(10):
                    row = dice.randrange(100)
                    if row in after and dice.random() < 0.3:
                        changes.append(topics.change("d", row))
                        del after[row]
                    else:
                        changes.append(topics.change("u" if row in after else "c", row, str(topics.lsn)))
                        after[row] = topics.lsn - 10
                topics.server.put(topics.topic, changes, commit=not aborted if number % 2 else None)
                if not (aborted and number % 2):
                    rows.clear()
                    rows.update(after)
        finally:
            over.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen: dict[int, int] = {}
    while not over.is_set():
        assert topics.place.sync().error is None
        now = {row: int(status or 0) for row, status, _ in topics.copy()} if topics.place.rows() else {}
        assert {row: (seen[row], at) for row, at in now.items() if at < seen.get(row, 0)} == {}
        seen |= now
    writer.join()
    topics.land()
    assert {row: int(status or 0) for row, status, _ in topics.copy()} == rows


@of_topic(
    "T80",
    "a whole topic is read again after rows were changed in the copy's place by a load anew",
    holds="`--full-refresh` comes to the same rows as all syncs before",
)
def test_a_topic_that_is_read_again(topics: TopicStand) -> None:
    topics.put(*[topics.change("c", row, "new") for row in range(20)])
    topics.land()
    topics.put(
        *[topics.change("d", row) for row in range(5)], *[topics.change("u", row, "paid") for row in range(5, 9)]
    )
    topics.land()
    before = topics.copy()
    topics.land(mode=Mode.FULL_REFRESH)
    assert topics.copy() == before
    assert [row[:2] for row in before] == [(number, "paid" if number < 9 else "new") for number in range(5, 20)]
