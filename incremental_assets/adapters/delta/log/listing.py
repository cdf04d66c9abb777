"""The names in a log: which versions and which checkpoints are there, and whether one is missing among them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from incremental_assets.adapters.delta.log.damage import damaged
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.lake_store.store import LakeStore

NO_VERSION = -1
LAST = "_last_checkpoint"
_LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.([0-9a-f-]{36}))?\.(?:parquet|json)")


@dataclass(frozen=True, slots=True)
class Listing:
    """The names of one moment. `checkpoints`: of each version the names of one that is whole."""

    store: LakeStore
    log: str
    commits: frozenset[int]
    checkpoints: Mapping[int, Sequence[str]]
    names: Mapping[str, str]
    """All of them, and the tag of each that the listing said."""
    begin: int = 0
    """Names of versions below this one were not asked for."""

    @property
    def last(self) -> int:
        """The last version; -1 where there is none."""
        return max((*self.commits, *self.checkpoints), default=NO_VERSION)

    def checkpoint(self, version: int) -> int:
        """The newest checkpoint that is not above a version; -1 where there is none."""
        return max((each for each in self.checkpoints if each <= version), default=NO_VERSION)

    def check_contiguous(self) -> None:
        """Raises TargetChanged where a version is missing that a reader of the last one needs."""
        begin = max(self.checkpoint(self.last), self.begin - 1)
        missing = next((each for each in range(begin + 1, self.last + 1) if each not in self.commits), None)
        if missing is None:
            return
        if begin == NO_VERSION and missing == 0:
            raise damaged(self.log, commit_name(0), "the log has no checkpoint, and lacks its first version")
        raise damaged(self.log, commit_name(missing), f"this version is missing in the log, where {self.last} is there")


def commit_name(version: int) -> str:
    """The name of the file of a version."""
    return f"{version:020d}.json"


def listed(path: str, begin: int = NO_VERSION) -> Listing:
    """The names in the log of a table; where a listing comes in pages, those from a version on, or else from the last checkpoint.

    Raises FileNotFoundError, NotByTasks for what only Spark can list, and TargetChanged for a folder that may not be read.
    """
    store, log = store_for(path), f"{path}/{_LOG}"
    if not store.promises.paged:
        return _listed(store, log, 0)
    if begin != NO_VERSION:
        return _listed(store, log, begin)
    hint = _hint(store, log)
    found = _listed(store, log, hint)
    return found if not hint or found.checkpoint(found.last) >= hint else _listed(store, log, 0)


def misleads(names: Listing) -> bool:
    """Whether the file that names the last checkpoint names one that is not there: a reader that believes it refuses the table."""
    if LAST not in names.names:
        return False
    try:
        return int(json.loads(names.store.read(f"{names.log}/{LAST}"))["version"]) not in names.checkpoints
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return False


def _hint(store: LakeStore, log: str) -> int:
    """The version of the last checkpoint, as its writer has noted it: a hint, and 0 where there is none."""
    try:
        return max(0, int(json.loads(store.read(f"{log}/{LAST}"))["version"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return 0


def _listed(store: LakeStore, log: str, begin: int) -> Listing:
    names = store.list_from(log, f"{begin:020d}" if begin else "")
    commits = frozenset(int(found[1]) for name in names if (found := _COMMIT.fullmatch(name)))
    return Listing(store, log, commits, _checkpoints(names), names, begin)


def _checkpoints(names: Iterable[str]) -> Mapping[int, Sequence[str]]:
    """One in several files counts once all of them are there."""
    found: dict[int, Sequence[str]] = {}
    parts: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in names:
        if (match := _CHECKPOINT.fullmatch(name)) is None:
            continue
        version, _, of, _ = match.groups()
        if of is not None:
            parts[int(version), int(of)].append(name)
        elif match[4] is None or int(version) not in found:
            # Of two kinds of one version, the one in one file is read here.
            found[int(version)] = (name,)
    for (version, of), each in parts.items():
        if len(each) == of:
            found.setdefault(version, tuple(sorted(each)))
    return found
