"""The names in a log: which versions and which checkpoints are there, and whether one is missing among them."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incremental_assets.adapters.delta.log.damage import damaged
from incremental_assets.core.errors import TargetChanged

NO_VERSION = -1
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.([0-9a-f-]{36}))?\.(?:parquet|json)")


@dataclass(frozen=True, slots=True)
class Listing:
    """The names of one moment. `checkpoints`: of each version the names of one that is whole."""

    log: Path
    commits: frozenset[int]
    checkpoints: Mapping[int, Sequence[str]]
    names: frozenset[str]
    """All of them."""

    @property
    def last(self) -> int:
        """The last version; -1 where there is none."""
        return max((*self.commits, *self.checkpoints), default=NO_VERSION)

    def checkpoint(self, version: int) -> int:
        """The newest checkpoint that is not above a version; -1 where there is none."""
        return max((each for each in self.checkpoints if each <= version), default=NO_VERSION)

    def check_contiguous(self) -> None:
        """Raises TargetChanged where a version is missing that a reader of the last one needs."""
        begin = self.checkpoint(self.last)
        missing = next((each for each in range(begin + 1, self.last + 1) if each not in self.commits), None)
        if missing is None:
            return
        if begin == NO_VERSION and missing == 0:
            raise damaged(self.log, commit_name(0), "the log has no checkpoint, and lacks its first version")
        raise damaged(self.log, commit_name(missing), f"this version is missing in the log, where {self.last} is there")


def commit_name(version: int) -> str:
    """The name of the file of a version."""
    return f"{version:020d}.json"


def listed(path: str) -> Listing:
    """The names in the log of a table. Raises FileNotFoundError, and TargetChanged for a folder that may not be read."""
    log = Path(path) / "_delta_log"
    try:
        names = os.listdir(log)  # noqa: PTH208 - names are all that is asked
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TargetChanged(
            f"{path}: the log of this Delta table cannot be listed ({error.strerror}); let this user read it"
        ) from error
    commits = frozenset(int(found[1]) for name in names if (found := _COMMIT.fullmatch(name)))
    return Listing(log, commits, _checkpoints(names), frozenset(names))


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
