"""How stores are reached: told to the one place that opens them, and looked up when one is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.resources.references import looked_up_store

if TYPE_CHECKING:
    from incremental_assets.core.config.settings import Configuration, StoreConfig


def know_stores(configuration: Configuration) -> None:
    """Nothing is opened, and no secret read. A bucket of which nothing is configured is reached as the environment says."""
    if configuration.stores:
        from incremental_assets.adapters.lake_store.opened import configure

        for store in configuration.stores:
            configure(f"s3a://{store.bucket}", partial(_options, store, configuration.path))


def renew_stores(configuration: Configuration) -> None:
    """What references lead to by now, as a process may live longer than a key."""
    if configuration.stores:
        from incremental_assets.adapters.lake_store.opened import renew

        renew()


def _options(store: StoreConfig, file: Path) -> Mapping[str, str]:
    found = {"endpoint": store.endpoint, "region": store.region} | looked_up_store(store, file)
    if (
        store.access_key_id
        and not store.session_token
        and found["access_key_id"] == os.environ.get("AWS_ACCESS_KEY_ID")
    ):
        # Of that key it is, and of no other.
        found["session_token"] = os.environ.get("AWS_SESSION_TOKEN")
    return {f"aws_{name}": value for name, value in found.items() if isinstance(value, str)}
