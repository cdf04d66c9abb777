"""A broker of Kafka, where its jars can be had."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.topics.server import KafkaServer

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """One of this run's own."""
    brought = subprocess.run([ROOT / ".ci/kafka.sh"], capture_output=True, text=True, check=False)
    if brought.returncode != 0:
        pytest.skip(f"no Kafka: {brought.stderr.strip().splitlines()[-1]}")
    server = KafkaServer(ROOT / ".kafka", tmp_path_factory.mktemp("kafka"))
    try:
        server.start()
        yield server
    finally:
        server.stop()
