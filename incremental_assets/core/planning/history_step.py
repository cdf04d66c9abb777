"""What the history of a copy has to follow next, from what the logs of both say. Pure.

A history says of each of its commits which version of the copy it shows. Whatever happened to the copy since is either the rows of one batch,
which are then the only ones to look at, or more than that: then the whole copy is compared with the current versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import takewhile

from incremental_assets.core.model.history import Step
from incremental_assets.core.model.rename import Rename, RenamedAt


class Effect(StrEnum):
    """What a commit did to the rows of a copy."""

    NONE = "none"
    BATCH = "batch"
    """Rows of its sequence came in the place of those with their keys."""
    TAKING = "taking"
    """The same, and other rows went."""
    MORE = "more"
    """Which rows changed cannot be known from this commit alone."""
    FOREIGN = "foreign"
    """Rows may have been changed by another writer."""


@dataclass(frozen=True, slots=True)
class CopyCommit:
    """One commit of the copy; `clock` of the source at its snapshot, or of the machine that wrote it; `zone` as in `Step`."""

    version: int
    seq: int
    batch_id: str
    clock: datetime
    zone: str
    effect: Effect
    rolled_back_to: int | None = None
    """The sequence whose rows are there again, for a rollback."""
    renames: tuple[Rename, ...] = ()
    """The renames of columns of the copy, by this commit."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy at its last version; `commits`: those that the log still tells of, newest first, back to `shown` at least if that is there."""

    version: int
    landed: bool
    shown: int | None
    """The last of its versions that the history shows; None where it shows none of this table."""
    commits: Sequence[CopyCommit]


def next_step(copy: Copy) -> Step | None:
    """The next step; None where the history shows the copy as it is, where nothing has landed, and where the newest change is another writer's."""
    if not copy.landed or copy.shown == copy.version:
        return None
    after = -1 if copy.shown is None else copy.shown
    since = [commit for commit in copy.commits if commit.version > after]
    is_complete = copy.shown is not None and len(since) == copy.version - copy.shown
    changes = [commit for commit in since if commit.effect is not Effect.NONE]
    renames = _renames(copy, since)
    if is_complete and not changes:
        return _named_only(copy, renames) if renames else None
    if not changes:
        changes = list(copy.commits[:1])
    if not changes or changes[0].effect is Effect.FOREIGN:
        # A sync of the copy stops at it as well, until a person has decided.
        return None
    newest = changes[0]
    one_batch = is_complete and len(changes) == 1 and newest.effect in (Effect.BATCH, Effect.TAKING)
    return Step(
        version=copy.version,
        seq=newest.seq,
        batch_id=newest.batch_id,
        clock=newest.clock,
        zone=newest.zone,
        whole=not one_batch or newest.effect is Effect.TAKING,
        landed_at=newest.version if one_batch else None,
        restores=newest.rolled_back_to,
        renames=renames,
    )


def _renames(copy: Copy, since: Sequence[CopyCommit]) -> tuple[RenamedAt, ...]:
    """A rollback has taken back those before it. A history that is yet to begin has the copy's names."""
    if copy.shown is None:
        return ()
    upto_rollback = takewhile(lambda commit: commit.rolled_back_to is None, since)
    return tuple(reversed([RenamedAt(each.version, each.renames) for each in upto_rollback if each.renames]))


def _named_only(copy: Copy, renames: tuple[RenamedAt, ...]) -> Step:
    newest = next(commit for commit in copy.commits if commit.renames)
    names = (newest.seq, newest.batch_id, newest.clock, newest.zone)
    return Step(copy.version, *names, whole=False, renames=renames, has_rows=False)
