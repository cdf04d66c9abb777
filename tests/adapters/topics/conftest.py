"""A broker of Kafka, where its jars can be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.lake_store.conftest import object_server, relay
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
