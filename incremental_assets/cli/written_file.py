"""A configuration file that a command writes into: whole or not at all, and only as one that loads."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError, SelectionError


def read_file(path: Path) -> str:
    """With the ends that its lines have."""
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def replace_file(path: Path, before: str, after: str) -> None:
    """Whole or not at all, with the mode that it has; not where somebody has written to it meanwhile."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=".sources-", suffix=".yaml", encoding="utf-8", newline="", delete=False
        ) as file:
            file.write(after)
    except OSError as error:
        raise SelectionError(f"{path} cannot be written ({error.strerror}); change its owner or its folder's") from None
    draft = Path(file.name)
    try:
        load(draft)
        if read_file(path) != before:
            raise SelectionError(f"{path} has changed meanwhile and was left as it is; run the command again")
        draft.chmod(path.stat().st_mode & 0o7777)
        os.replace(draft, path)  # noqa: PTH105 - a name takes another one's place
    except ConfigurationError as error:
        cures = "; ".join(dict.fromkeys(problem.cure for problem in error.problems))
        raise SelectionError(
            f"{path} was left as it is, as it would no longer load with what is proposed: {cures}"
        ) from None
    finally:
        draft.unlink(missing_ok=True)
