"""References as written and as values: a file, and a program with a path, are named by their absolute paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incremental_assets.core.config.addresses import absolute
from incremental_assets.core.config.scalars import CommandReference, EnvReference, FileReference
from incremental_assets.core.config.settings import Reference


def located(value: Any, folder: Path) -> Any:
    """A reference as the rest of the program has it; any other value as it is."""
    if isinstance(value, EnvReference):
        return Reference("env", value.env)
    if isinstance(value, FileReference):
        return Reference("file", str(absolute(value.file, folder)))
    if isinstance(value, CommandReference):
        program, *arguments = value.command
        # One that is named by its name alone is looked for where programs are.
        named = str(absolute(program, folder)) if "/" in program else program
        return Reference("command", named, tuple(arguments))
    return value
