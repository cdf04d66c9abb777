"""Topics on a real lake: Spark's tasks, Delta's commits, the checkpoint database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.config.kafka_settings import Format
from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.planning.report import Status, SyncReport
from tests.adapters.topics.broker import FakeTopic, envelope, recorded
from tests.adapters.topics.place import Place, use
from tests.adapters.topics.registry_server import RegistryServer, registry_server
from tests.fakes import Killed, Process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORD = "__debezium_unavailable_value"


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[RegistryServer]:
    monkeypatch.setenv("REGISTRY_PASSWORD", "s3cret")
    with registry_server() as server:
        server.access = "reader", "s3cret"
        yield server


ORDERS = """\
    topics:
      shop.orders: {topic: lab.shop.orders, format: debezium, columns: {id: bigint, customer: string, big: string}, key: [id]}
    tables:
      - {table: shop.orders}
"""


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path, spark)
    use(found.broker, monkeypatch)
    return found


@pytest.mark.acceptance
def test_changes_land_in_one_commit_with_their_offsets(place: Place) -> None:
    place.configure(ORDERS)
    topic = place.broker.topics["lab.shop.orders"] = FakeTopic()
    topic.put({"id": 1}, envelope("c", {"id": 1, "customer": "ann", "big": "x"}, 10))
    topic.put({"id": 2}, envelope("c", {"id": 2, "customer": "bob", "big": None}, 20))
    report = place.sync()
    assert (report.status, report.guarantee) == (Status.LANDED, "as_delivered")
    assert place.copy() == [{"id": 1, "customer": "ann", "big": "x"}, {"id": 2, "customer": "bob", "big": None}]
    assert place.at().next == (2,)
    assert place.sync().status is Status.IDLE
    topic.put({"id": 1}, envelope("u", {"id": 1, "customer": "ada", "big": WORD}, 30))
    topic.put({"id": 2}, envelope("d", {"id": 2, "customer": None, "big": None}, 40))
    topic.put({"id": 2}, None)
    topic.put({"id": 3}, b"not json")
    topic.put(None, b"not json either")
    report = place.sync()
    assert place.copy() == [{"id": 1, "customer": "ada", "big": "x"}]
    assert place.quarantined() == [("0", "5", None, "the value is no JSON"), ("0", "6", None, "the value is no JSON")]
    assert report.rows.deleted == 1
    topic.put(None, envelope("t", None, 50))
    topic.put({"id": 7}, envelope("c", {"id": 7, "customer": "eve", "big": "y"}, 60))
    place.sync()
    assert [row["id"] for row in place.copy()] == [7]


RECORDED = """\
    schema_registry: {url: "%s", user: reader, password: {env: REGISTRY_PASSWORD}}
    topics:
      shop.orders: {topic: lab.shop.orders, format: debezium-avro}
    tables:
      - {table: shop.orders, history: scd2}
"""


@pytest.mark.acceptance
@pytest.mark.parametrize("form", [Format.DEBEZIUM, Format.DEBEZIUM_AVRO], ids=str)
def test_what_a_connector_has_written_of_a_table_lands_with_its_schema_and_follows_it(
    place: Place, form: Format, registry: RegistryServer
) -> None:
    text = RECORDED % registry.url
    place.configure(text if form.is_avro else text[text.index("    topics:") :].replace("-avro", ""))
    records = recorded("pg_schemas")
    topic = place.broker.topics["lab.shop.orders"] = FakeTopic()
    if form.is_avro:
        topic.encode = registry.as_bytes

    def come(first: int, last: int) -> SyncReport:
        for key, value in records[first:last]:
            topic.put(key, value)
        return place.sync()

    come(0, 4)
    first, *_ = place.copy()
    assert {name: first[name] for name in ("id", "amount", "anynum", "tstz", "d", "t", "ar", "by", "f8", "en")} == {
        "id": 1,
        "amount": Decimal("1.10"),
        "anynum": "1" + "0" * 30,
        "d": date(2024, 2, 29),
        "t": "23:59:59.999999",
        "tstz": datetime.fromisoformat("2024-03-10T07:30:00.123456"),
        "ar": "[1,null,3]",
        "by": b"\x00\xffA",
        "f8": 1.5,
        "en": "x",
    }
    assert first["ts"] == datetime.fromisoformat("2024-03-10T02:30:00.123456")
    come(4, 12)
    # Orders 2 and 10 got a date of infinity; 2 is gone since, and 3 has become 100.
    assert [(row["id"], row["customer"], len(row["big"])) for row in place.copy()] == [
        (1, "renamed", 12800),
        (100, "c3", 5),
    ]
    infinite = "a moment that no calendar has, such as infinity"
    assert place.quarantined() == [("0", "6", "tstz", infinite)]
    come(12, 13)
    assert [(row["id"], row["extra"]) for row in place.copy()] == [(1, None), (100, None), (11, 8)]
    come(13, 16)
    assert [(row["id"], row["extra"]) for row in place.copy()] == [(77, 7)]
    assert place.at().next == (16,)


JSON = """\
    topics:
      shop.clicks: {topic: clicks, format: json, columns: {who: bigint, what: string, price: "decimal(12,2)", at: timestamp as milliseconds}}
      shop.orders: {topic: lab.shop.orders, format: debezium, columns: {id: bigint, status: string}, key: [id]}
    tables:
      - {table: shop.clicks, strategy: append}
      - {table: shop.orders, strategy: append}
"""


def test_every_record_is_a_row_of_a_copy_that_keeps_them(place: Place) -> None:
    place.configure(JSON)
    clicks = place.broker.topics["clicks"] = FakeTopic([[], []], [0, 0])
    orders = place.broker.topics["lab.shop.orders"] = FakeTopic()
    clicks.put(None, {"who": 1, "what": "look", "at": 1710037800123, "price": None})
    clicks.put(None, b'{"who": 2, "what": "buy", "price": 12.10, "more": [1]}', 1)
    clicks.put(None, {"who": "nobody"}, 1)
    orders.put({"id": 1}, envelope("c", {"id": 1, "status": "new"}, 10))
    orders.put({"id": 1}, envelope("u", {"id": 1, "status": "paid"}, 20))
    orders.put({"id": 1}, envelope("d", {"id": 1, "status": None}, 30))
    orders.put({"id": 1}, None)
    for name in ("clicks", "orders"):
        assert place.sync(name).status is Status.LANDED
        assert place.sync(name).status is Status.IDLE
    assert place.copy("clicks") == [
        {"who": 1, "what": "look", "price": None, "at": datetime.fromisoformat("2024-03-10T02:30:00.123000")},
        {"who": 2, "what": "buy", "price": Decimal("12.10"), "at": None},
    ]
    assert place.quarantined("clicks") == [("1", "1", "who", "a text where the column has a whole number")]
    told = sorted(
        (row["_topic_offset"], row["_op"], row["id"], row["status"], row["_log_position"]) for row in place.rows()
    )
    assert told == [
        (0, "c", 1, "new", 10),
        (1, "u", 1, "paid", 20),
        (2, "d", 1, None, 30),
        (3, "tombstone", 1, None, None),
    ]


MOMENTS = (
    "after intent",
    "after snapshot",
    "after write",
    "after staged",
    "before apply",
    "after apply",
    "after follow",
    "after discard",
    "after landed",
)
"""Of each step the one behind it; the stories kill at every moment there is."""


@pytest.mark.acceptance
def test_a_sync_killed_behind_any_step_is_made_good_by_the_next(place: Place) -> None:
    place.configure(ORDERS.replace("{table: shop.orders}", "{table: shop.orders, history: scd2}"))
    topic = place.broker.topics["lab.shop.orders"] = FakeTopic()
    topic.put({"id": 0}, envelope("r", {"id": 0, "customer": "first", "big": "x"}, 1))
    place.sync()
    lsn = 10
    for number, moment in enumerate(MOMENTS):
        for op, key, at in (("c", number % 3, f"at {moment}"), ("d", (number + 1) % 3, None)):
            lsn += 10
            topic.put({"id": key}, envelope(op, {"id": key, "customer": at, "big": "x"}, lsn))
        process = Process("killed")
        process.at[moment] = process.kill
        with pytest.raises(Killed):
            place.sync(process=process)
        lsn += 10
        topic.put(
            {"id": 9},
            envelope("u", {"id": 9, "customer": f"after {moment}", "big": WORD}, lsn)
            if number
            else envelope("c", {"id": 9, "customer": moment, "big": "y"}, lsn),
        )
        place.sync()
        expected = {number % 3: (f"at {moment}", "x"), 9: (f"after {moment}" if number else moment, "y")}
        assert {row["id"]: (row["customer"], row["big"]) for row in place.copy()}.items() >= expected.items(), moment
        assert (number + 1) % 3 not in {row["id"] for row in place.copy()}, moment
        assert place.at().next == topic.ends, moment
        with place.runtime() as runtime:
            assert runtime.checkpoints.position(place.spec().id).open is None, moment
            assert runtime.ports("shop").historian.differing_versions(place.spec()) == FaultyKeys(0), moment
