"""The checkpoint table of the configuration, opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incremental_assets.adapters.checkpoints.store import SqlCheckpoints


def open_checkpoints(url: str, *, writes: bool = True) -> SqlCheckpoints:
    """The memory of what has landed. Connects with the first question; a look creates no file, and without `writes` no table either."""
    from incremental_assets.adapters.checkpoints.store import SqlCheckpoints

    return SqlCheckpoints(url, writes=writes)
