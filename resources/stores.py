"""How the store of a lake is reached: told to the one place that opens it, and looked up when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from incremental_assets.resources.references import looked_up_store

if TYPE_CHECKING:
    from incremental_assets.core.config.settings import Configuration


def know_store(configuration: Configuration) -> None:
    """Nothing is opened, and no secret read. A lake of which nothing is configured is reached as the environment says."""
    if configuration.store is not None:
        from incremental_assets.adapters.lake_store.opened import configure

        configure(configuration.lake, lambda: _options(configuration))


def _options(configuration: Configuration) -> Mapping[str, str]:
    store = configuration.store
    if store is None:
        return {}
    found = {"endpoint": store.endpoint, "region": store.region} | looked_up_store(store, configuration.path)
    return {f"aws_{name}": value for name, value in found.items() if isinstance(value, str)}
