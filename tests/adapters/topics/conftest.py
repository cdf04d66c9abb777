"""A broker of Kafka, where its jars can be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from incremental_assets.core.config.kafka_settings import Format
from tests.adapters.lake_store.conftest import object_server, relay
from tests.adapters.topics import shop
from tests.adapters.topics.server import KafkaServer, kafka_server

__all__ = ["object_server", "relay"]


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """One of this run's own."""
    with kafka_server(tmp_path_factory.mktemp("kafka")) as server:
        yield server


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the lakes are of shops in memory, which keep the keys of deleted rows as files."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=[Format.DEBEZIUM, Format.DEBEZIUM_AVRO], ids=str)
def written(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In which way shops in memory write their records: in JSON, and in Avro by a registry."""
    monkeypatch.setattr(shop, "WRITTEN", request.param)
