"""States of tables as this process last saw them: a look at a log that it knows reads only the commits that came since."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from incremental_assets.adapters.delta.log.checkpoint import checkpointed
from incremental_assets.adapters.delta.log.commit_text import actions_of, info_in
from incremental_assets.adapters.delta.log.damage import damaged
from incremental_assets.adapters.delta.log.listing import LAST, NO_VERSION, Listing, commit_name, listed
from incremental_assets.adapters.delta.log.log_state import LogState, commit_path
from incremental_assets.adapters.delta.log.readable import readable
from incremental_assets.adapters.delta.log.version_checksum import check_checkpoint, check_version, newest_checksum
from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks

_TABLES = 1024
"""Kept at the most; the one that was looked at longest ago goes first."""
_COMMITS = 64
"""How many commits are kept with their content; older ones are read again where somebody asks."""
_TRIES = 3
"""How often a log is listed anew whose files were removed while they were read."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A table at one version. `infos`: what the commits say of themselves that were read to get there, by version."""

    state: LogState
    infos: Mapping[int, Mapping[str, Any]]


@dataclass(slots=True)
class _Kept:
    seen: Seen
    tag: str
    """Of the file of its version, so that another table in its place is noticed."""


@dataclass(slots=True)
class _Cache:
    tables: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def get(self, path: str) -> _Kept | None:
        with self.lock:
            kept = self.tables.get(path)
            if kept is not None:
                self.tables.move_to_end(path)
        return kept

    def put(self, path: str, kept: _Kept) -> None:
        with self.lock:
            self.tables[path] = kept
            self.tables.move_to_end(path)
            while len(self.tables) > _TABLES:
                self.tables.popitem(last=False)


_cache = _Cache()


def latest(path: str) -> Seen | None:
    """The table as it is now; None where no version of it is there. Raises NotByTasks for a log that only Delta's own readers know, and TargetChanged for a damaged one."""
    for _ in range(_TRIES):
        kept = _cache.get(path)
        try:
            names = known_on(path)
            if kept is not None and not _is_same(kept, names):
                kept, names = None, listed(path) if names.begin else names
        except FileNotFoundError:
            return None
        with suppress(FileNotFoundError):
            if LAST in names.names:
                # It is not read here; others read it, and would wait for a pipe.
                names.store.check(f"{names.log}/{LAST}")
            if names.last < 0:
                return None
            names.check_contiguous()
            known = kept.seen if kept else None
            seen = _advanced(path, known or _begun(names, names.last), names, names.last)
            if known is None or seen.state.version > known.state.version:
                _cache.put(path, _Kept(seen, _tag(names, seen.state.version)))
            return seen
    raise NotByTasks("another writer is cleaning its log at this moment")


def known_on(path: str) -> Listing:
    """The names in its log, from the version on that this process knows, where it saves anything to leave the others out. Raises as `listed`."""
    kept = _cache.get(path)
    names = listed(path, kept.seen.state.version if kept else NO_VERSION)
    return listed(path) if names.last < 0 and names.begin else names


def at(path: str, version: int) -> LogState:
    """The table at a version that is there, which nobody may change. Raises NotByTasks."""
    known = _known(path)
    if known is not None and known.state.version == version:
        return known.state
    if known is None or known.state.version > version:
        return past(path, version)
    return _at(path, known, listed(path, known.state.version), version)


def past(path: str, version: int) -> LogState:
    """The table at a version below the last checkpoint, too. Raises NotByTasks where its log is no longer there."""
    with readable("its log"):
        names = listed(path, 0)
    return _at(path, _begun(names, version), names, version)


def _at(path: str, seen: Seen, names: Listing, version: int) -> LogState:
    with readable("its log"):
        found = _advanced(path, seen, names, version).state
    if found.version != version:
        raise NotByTasks(f"version {found.version + 1} is not in the log")
    return found


def _begun(names: Listing, version: int) -> Seen:
    number, actions = checkpointed(names, version)
    state = LogState(number, number)
    state.apply(actions)
    if number >= 0:
        _check_described(names, state)
        check_checkpoint(names, state)
    return Seen(state, {})


def _advanced(path: str, seen: Seen, names: Listing, until: int) -> Seen:
    """What was seen, advanced by the commits that follow, as far as they are there; what was passed in stays as it is. Raises FileNotFoundError."""
    version = seen.state.version
    if version >= until or version + 1 not in names.commits:
        return seen
    state = replace(seen.state, files=dict(seen.state.files), sequences=dict(seen.state.sequences))
    infos, told = dict(seen.infos), newest_checksum(names, version, until)
    while state.version < until and state.version + 1 in names.commits:
        following = state.version + 1
        actions = actions_of(names.store, commit_path(path, following))
        state.apply(actions)
        state.version = following
        infos.pop(following - _COMMITS, None)
        infos[following] = info_in(actions)
        if following == told:
            check_version(names, state)
    # One that came with these commits: else a process that goes on from what it knows would write another behind each of them.
    state.checkpoint = max(state.checkpoint, names.checkpoint(state.version))
    _check_described(names, state)
    return Seen(state, infos)


def _check_described(names: Listing, state: LogState) -> None:
    """Every table has a protocol and columns."""
    if not state.metadata or not state.protocol:
        what = f"up to this version the log says nothing of the table's {'protocol' if state.metadata else 'columns'}"
        raise damaged(names.log, commit_name(state.version), what)


def info_of(path: str, version: int) -> Mapping[str, Any] | None:
    """What one commit says of itself; None where log cleaning has removed it. Raises NotByTasks, TargetChanged."""
    store = store_of(path)
    try:
        return info_in(actions_of(store, commit_path(path, version))) if store else None
    except FileNotFoundError:
        return None


def _known(path: str) -> Seen | None:
    """What was kept, unless another table was made in its place."""
    kept, store = _cache.get(path), store_of(path)
    if kept is None or store is None:
        return None
    found = store.head(commit_path(path, kept.seen.state.version))
    return kept.seen if (found.tag if found else "") == kept.tag else None


def _is_same(kept: _Kept, names: Listing) -> bool:
    return _tag(names, kept.seen.state.version) == kept.tag


def _tag(names: Listing, version: int) -> str:
    """As the listing says it, or the store where it does not. Empty where the file is not there."""
    name = commit_name(version)
    if name not in names.names or names.names[name]:
        return names.names.get(name, "")
    found = names.store.head(f"{names.log}/{name}")
    return found.tag if found else ""
