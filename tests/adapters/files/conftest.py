"""The server of objects of the tests of lakes, for files that are dropped there."""

from __future__ import annotations

from tests.adapters.lake_store.conftest import object_server, relay

__all__ = ["object_server", "relay"]
