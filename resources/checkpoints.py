"""The checkpoint table of the configuration, opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incremental_assets.adapters.checkpoints.store import SqlCheckpoints


def open_checkpoints(url: str) -> SqlCheckpoints:
    """The checkpoint table. Connects with the first query; a look creates no file."""
    from incremental_assets.adapters.checkpoints.store import SqlCheckpoints

    return SqlCheckpoints(url)
