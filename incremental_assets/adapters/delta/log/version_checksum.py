"""What else tells of a version: the checksum that Delta's writers put beside its commit (how many files, how many bytes), and of a checkpoint the commit of its version."""

from __future__ import annotations

import json

from incremental_assets.adapters.delta.log.checkpoint import Action, no_checkpoint
from incremental_assets.adapters.delta.log.commit_text import actions_of
from incremental_assets.adapters.delta.log.damage import damaged
from incremental_assets.adapters.delta.log.listing import Listing, commit_name
from incremental_assets.adapters.delta.log.log_state import LogState

_NONE = object()


def newest_checksum(listing: Listing, after: int, until: int) -> int | None:
    """The newest version with a checksum of those that are about to be replayed: it speaks of all before it, too."""
    wanted = (each for each in range(until, after, -1) if _name(each) in listing.names)
    return next(wanted, None)


def check_version(listing: Listing, state: LogState) -> None:
    """Raises TargetChanged where the state that was replayed up to a version is not what its checksum says. One that cannot be read says nothing."""
    name = _name(state.version)
    try:
        told = json.loads(listing.store.read(f"{listing.log}/{name}"))
        files, size = told.get("numFiles"), told.get("tableSizeBytes")
    except (OSError, ValueError, AttributeError):
        return
    found = len(state.files), sum(int(each["size"]) for each in state.files.values())
    if (files, size) != found and None not in (files, size):
        raise damaged(
            listing.log,
            commit_name(state.version),
            f"up to this version the log names {found[0]} files of {found[1]} bytes, where its checksum ({name}) says {files} of {size}",
        )


def check_checkpoint(listing: Listing, state: LogState) -> None:
    """Raises TargetChanged where a checkpoint lacks what its own version committed: it is an older one, or another table's. A commit that was cleaned away says nothing. Raises FileNotFoundError, NotByTasks."""
    if state.version not in listing.commits:
        return
    said = LogState(state.version)
    said.apply(actions_of(listing.store, f"{listing.log}/{commit_name(state.version)}"))
    files = {path: _vector(add) for path, add in state.files.items()}
    is_held = all(files.get(path, _NONE) == _vector(add) for path, add in said.files.items())
    if not is_held or any(state.sequences.get(app, seq) < seq for app, seq in said.sequences.items()):
        raise no_checkpoint(
            listing, state.version, f"this checkpoint lacks what {commit_name(state.version)} has committed"
        )


def _vector(add: Action) -> object:
    return (add.get("deletionVector") or {}).get("pathOrInlineDv")


def _name(version: int) -> str:
    return f"{version:020d}.crc"
