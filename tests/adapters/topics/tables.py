"""Tables as they are made of topics, for tests that need no file."""

from __future__ import annotations

from incremental_assets.adapters.topics.changes import Change, Decoding
from incremental_assets.adapters.topics.events import ReadDocument, json_document
from incremental_assets.adapters.topics.record import Record
from incremental_assets.adapters.topics.shapes import Described, declared, described, shape_of
from incremental_assets.core.config.kafka_settings import Format, Topic
from incremental_assets.core.config.resolve import resolve
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.history import History
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.strategies import Strategy
from tests.adapters.topics.broker import replayed

NAME = "lab.shop.orders"


def topic(form: Format = Format.DEBEZIUM, key: tuple[str, ...] = ("id",), **columns: str) -> Topic:
    """With these columns; without any its records are to tell."""
    declared = tuple((name, Coding.parse(text)) for name, text in columns.items())
    return Topic("shop.orders", NAME, form, declared, key if columns else ())


def table(
    made_of: Topic,
    strategy: Strategy = Strategy.UPSERT,
    told: Described | None = None,
    history: History = History.NONE,
) -> TableSpec:
    """As it is synced."""
    shape = shape_of("shop", made_of, strategy, told or declared(made_of) or Described({}))
    return resolve(TableConfig("shop", "orders", strategy, capture="topic", history=history), shape)


def of_recorded(file: str, strategy: Strategy = Strategy.UPSERT) -> tuple[TableSpec, list[Record]]:
    """The table as the last records tell it, and all of them."""
    records = [record for record in replayed(file).partitions[0] if record is not None]
    made_of = topic()
    return table(made_of, strategy, described(made_of, records)), records


def decoded(
    spec: TableSpec, records: list[Record], form: Format = Format.DEBEZIUM, read: ReadDocument = json_document
) -> list[Change]:
    """Each as a change."""
    decoding = Decoding(spec, form, read)
    return [decoding.change(record) for record in records]
