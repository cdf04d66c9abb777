"""References as written and as values: a file is named by its absolute path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incremental_assets.core.config.addresses import absolute
from incremental_assets.core.config.scalars import EnvReference, FileReference
from incremental_assets.core.config.settings import Reference


def located(value: Any, folder: Path) -> Any:
    """A reference as the rest of the program has it; any other value as it is."""
    if isinstance(value, EnvReference):
        return Reference("env", value.env)
    if isinstance(value, FileReference):
        return Reference("file", str(absolute(value.file, folder)))
    return value
