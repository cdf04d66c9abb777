"""One server of objects for a worker's tests, each of which has a bucket of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from incremental_assets.adapters.lake_store import objects
from tests.adapters.lake_store.bucket import QUICKLY, Relay, relaying, serving


@pytest.fixture(scope="session")
def object_server() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def relay(object_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """Between a store and its server; pauses are short."""
    monkeypatch.setattr(objects, "_FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(objects, "_RETRY", QUICKLY)
    with relaying(object_server) as between:
        yield between
