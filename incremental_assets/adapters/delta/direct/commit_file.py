"""The next version of a log, put there only if nobody else has: who is second writes nothing."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Mapping
from importlib.metadata import version as version_of
from typing import Any

from incremental_assets.adapters.delta.direct.log_state import LOG, commit_path

ENGINE = f"incremental-assets/{version_of('incremental-assets')}"


def put_if_absent(table: str, version: int, actions: Iterable[Mapping[str, Any]]) -> bool:
    """Commit these actions as a version; False where that version is there already. On disk, folder included, before it returns."""
    target, temporary = commit_path(table, version), os.path.join(table, LOG, f".{uuid.uuid4()}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.writelines(json.dumps(action, separators=(",", ":"), ensure_ascii=False) + "\n" for action in actions)
            file.flush()
            os.fsync(file.fileno())
        # The data files' names first: what the log names must be there after the machine has lost its power.
        _sync_folder(table)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        _sync_folder(os.path.join(table, LOG))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    return True


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
