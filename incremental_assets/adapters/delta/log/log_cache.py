"""States of local tables as this process last saw them: a look at a log that it knows reads only the commits that came since."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from incremental_assets.adapters.delta.log.checkpoint import LOG, checkpointed, checkpointed_before
from incremental_assets.adapters.delta.log.log_state import LogState, commit_path
from incremental_assets.adapters.delta.log.not_direct import NotDirect, readable
from incremental_assets.adapters.delta.log.plain_file import plain_text

_TABLES = 1024
"""Kept at the most; the one that was looked at longest ago goes first."""
_COMMITS = 64
"""How many commits are kept with their content; older ones are read again where somebody asks."""
_NEWEST = 2**63 - 1
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """A table at one version. `infos`: what the commits say of themselves that were read to get there, by version."""

    state: LogState
    infos: Mapping[int, Mapping[str, Any]]


@dataclass(slots=True)
class _Kept:
    seen: Seen
    stamp: _Stamp | None


@dataclass(slots=True)
class _Cache:
    tables: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def get(self, path: str) -> Seen | None:
        with self.lock:
            kept = self.tables.get(path)
            if kept is not None:
                self.tables.move_to_end(path)
        # Another table may have been made in its place.
        return kept.seen if kept is not None and kept.stamp == _stamp(path, kept.seen.state.version) else None

    def put(self, path: str, seen: Seen) -> None:
        stamp = _stamp(path, seen.state.version)
        with self.lock:
            self.tables[path] = _Kept(seen, stamp)
            self.tables.move_to_end(path)
            while len(self.tables) > _TABLES:
                self.tables.popitem(last=False)


_cache = _Cache()


def latest(path: str) -> Seen | None:
    """The table as it is now; None where no version of it is there. Raises NotDirect for a log that only Delta's own readers know."""
    known = _cache.get(path)
    seen = _advanced(path, known or _begun(path, _NEWEST), _NEWEST)
    if seen.state.version < 0:
        return None
    if known is None or seen.state.version > known.state.version:
        _cache.put(path, seen)
    return seen


def at(path: str, version: int) -> LogState:
    """The table at a version that is there, which nobody may change. Raises NotDirect."""
    known = _cache.get(path)
    if known is None or known.state.version > version:
        known = _begun(path, version)
    found = _advanced(path, known, version).state
    if found.version != version:
        raise NotDirect(f"version {found.version + 1} is not in the log")
    return found


def past(path: str, version: int) -> LogState:
    """The table at a version below the last checkpoint, too. Raises NotDirect where its log is no longer there."""
    number, actions = checkpointed_before(Path(path) / LOG, version)
    state = LogState(number, number)
    state.apply(actions)
    found = _advanced(path, Seen(state, {}), version).state
    if found.version != version or not found.metadata:
        raise NotDirect(f"version {version} is no longer in the log")
    return found


def _begun(path: str, version: int) -> Seen:
    number, actions = checkpointed(Path(path) / LOG, version)
    state = LogState(number, number)
    state.apply(actions)
    return Seen(state, {})


def _advanced(path: str, seen: Seen, until: int) -> Seen:
    """What was seen, advanced by the commits that follow, as far as they are there; what was passed in stays as it is."""
    version = seen.state.version
    if version >= until or not commit_path(path, version + 1).exists():
        return seen
    state = replace(seen.state, files=dict(seen.state.files), sequences=dict(seen.state.sequences))
    infos = dict(seen.infos)
    while state.version < until:
        following = state.version + 1
        actions = _actions(path, following)
        if actions is None:
            break
        state.apply(actions)
        state.version = following
        infos.pop(following - _COMMITS, None)
        infos[following] = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
    return Seen(state, infos)


def _actions(path: str, version: int) -> list[Mapping[str, Any]] | None:
    """The actions of one commit; None where it is not there. Raises NotDirect where it cannot be read as JSON, and TargetChanged for what is no readable file."""
    file = commit_path(path, version)
    if not file.exists():
        return None
    with readable(f"version {version} of the log"):
        text = plain_text(file)
    try:
        # By line feeds alone: a text may hold other signs that end a line.
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError:
        raise NotDirect(f"version {version} of the log is not written as JSON") from None


def info_of(path: str, version: int) -> Mapping[str, Any] | None:
    """What one commit says of itself; None where log cleaning has removed it. Raises NotDirect."""
    actions = _actions(path, version)
    return None if actions is None else next((each["commitInfo"] for each in actions if "commitInfo" in each), {})


def _stamp(path: str, version: int) -> _Stamp | None:
    try:
        found = commit_path(path, version).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
