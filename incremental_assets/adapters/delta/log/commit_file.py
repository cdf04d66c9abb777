"""The next version of a log, put there only if nobody else has: who is second writes nothing."""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Iterable, Mapping
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from incremental_assets.adapters.delta.log.checkpoint import LOG
from incremental_assets.adapters.delta.log.commit_text import ACTIONS
from incremental_assets.adapters.delta.log.log_state import commit_path
from incremental_assets.adapters.delta.log.not_by_tasks import NotByTasks
from incremental_assets.adapters.new_file import new_file, sync_folder

ENGINE = f"incremental-assets/{version_of('incremental-assets')}"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What a file system says that has no hard links."""


def put_if_absent(table: str, version: int, actions: Iterable[Mapping[str, Any]]) -> bool:
    """Commit these actions as a version; False where that version is there already. On disk, folder included, before it returns."""
    target, told = commit_path(table, version), _counted(list(actions))
    temporary = target.with_name(f".{target.name}.{uuid.uuid4()}.tmp")
    try:
        with new_file(temporary) as file:
            for action in told:
                file.write(json.dumps(action, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
        # The data files' names first: what the log names must be there after the machine has lost its power.
        sync_folder(Path(table))
        if not _linked(temporary, target):
            return False
        sync_folder(Path(table) / LOG)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _counted(actions: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The actions, of which what the commit says of itself tells how many there are."""
    return [
        {"commitInfo": {**each["commitInfo"], ACTIONS: len(actions)}} if "commitInfo" in each else each
        for each in actions
    ]


def _linked(temporary: Path, target: Path) -> bool:
    try:
        os.link(temporary, target)
    except FileExistsError:
        # A server of files may answer a question that it was asked twice: then the second link is there, and it is ours.
        return temporary.stat().st_nlink > 1
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise NotByTasks("its file system has no hard links") from error
        raise
    return True
