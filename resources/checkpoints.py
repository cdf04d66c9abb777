"""The checkpoint table of the configuration, opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incremental_assets.engine.checkpoints import SqlCheckpoints

_SQLITE = "sqlite:///"


def open_checkpoints(url: str) -> SqlCheckpoints:
    """The memory of what has landed; made where it does not exist yet."""
    from incremental_assets.engine.checkpoints import SqlCheckpoints

    file = sqlite_file(url)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
    return SqlCheckpoints(url)


def sqlite_file(url: str) -> Path | None:
    """The file behind the URL, None for a server's."""
    return Path(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else None


def may_exist(url: str) -> bool:
    """Whether asking makes sense before anything has synced: a look must not create an empty file."""
    file = sqlite_file(url)
    return file is None or file.exists()
