"""Has another writer changed a copy since its last sync? Decided here for syncs, which stop at it, and for looks, which report it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.cures import full_refresh, reset
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.target import NO_TABLE, AsLeft, Target
from incremental_assets.core.ports import LakeReader


def knows_less(position: Checkpoint, target: Target) -> bool:
    """Whether the checkpoint table is lost, or an older copy: every sequence is announced there before the lake sees it."""
    if position.state is None:
        return target.seq > position.last_seq or target.state is not None
    if position.app_id not in ("", target.app_id):
        return False
    return target.seq > position.last_seq or (target.state is not None and target.state.seq > position.state.seq)


def other_hand(position: Checkpoint, target: Target | None) -> str:
    """What another writer did to the copy; empty if it is as our commits left it, or if nothing is recorded of it."""
    relied = position.target
    if target is None:
        return "" if relied is None else "the table is gone from the lake"
    if relied is not None:
        if position.app_id not in ("", target.app_id):
            return "another table has taken its place"
        replaced = "" if knows_less(position, target) else other_version(relied, target)
        if replaced:
            return replaced
    found = rows_changed(target) if relied is not None or position.state is None else ""
    return found or (target.lacks if relied is not None else "")


def other_version(relied: AsLeft, target: Target) -> str:
    """Whether the table has been replaced: by a new one, or by an older copy of itself."""
    table_id, version, seq = relied
    if target.table_id != table_id:
        return "the table was recreated"
    if target.version < version:
        return f"the table is at version {target.version}, before the {version} of the last sync: it was restored from an older copy"
    # Versions grow again by whatever is done to an older copy. One that has forgotten its sequences, after something landed, tells nothing.
    is_told = target.seq >= 0 or not target.landed
    if seq is not None and target.seq < seq and is_told:
        return f"the table lacks the last sync (its sequence is {target.seq}, and {seq} had landed): it was restored from an older copy"
    return ""


def rows_changed(target: Target) -> str:
    """The first commit that changed rows and is not ours."""
    return f"the rows were changed by another writer ({target.foreign})" if target.foreign else ""


def not_ours(spec: TableSpec) -> str:
    """What is said of a table that no commit of ours has made."""
    return f"{spec.id}: the lake already holds a table there that this program did not make; choose another `lake`, or move that table away"


def stands(spec: TableSpec, position: Checkpoint, lake: LakeReader) -> bool:
    """Whether the copy is certainly as the last sync left it, by the log's last commit alone; a store is not queried, as that takes long."""
    if position.target is None:
        return True
    found = lake.last_commit(spec)
    return found is None or found.is_of(position.target, position.app_id)


def seen_in(spec: TableSpec, position: Checkpoint, lake: LakeReader) -> str:
    """What the next sync of a table will stop at, in one sentence; empty if the copy is unchanged, or while a run is syncing it.

    The log is read, whoever made its last commit: a data file may be gone from a copy that stands. A store is not queried.
    """
    if position.open is not None or position.target is None:
        return ""
    try:
        if lake.last_commit(spec) is None:
            return ""
        target = lake.inspect(spec, position.target.version)
    except IncrementalAssetsError as error:
        return str(error)
    if target is not None and not target.app_id:
        return not_ours(spec)
    what = other_hand(position, target)
    if not what:
        return ""
    return (
        f"{spec.id}: {what}, so that the next sync stops; read everything again with {full_refresh(spec)}, "
        f"or start over with {reset(spec)}"
    )


def unrecorded(spec: TableSpec, position: Checkpoint, lake: LakeReader) -> str:
    """What is said of a copy of ours of which nothing is recorded, as where the checkpoint table was lost: "never synced" would not be true. Empty where there is none."""
    if position.state is not None or position.target is not None or position.open is not None:
        return ""
    try:
        found = lake.last_commit(spec)
        if found is None or found.version == NO_TABLE:
            return ""
        target = lake.inspect(spec, None)
    except IncrementalAssetsError as error:
        return str(error)
    if target is None or not target.app_id or not knows_less(position, target):
        return ""
    return (
        f"{spec.id}: rows of it are in the lake, and the checkpoint table has no record of any sync, as where it was lost or is another installation's; "
        "the next sync goes on from what the copy's log says, or names who else writes it"
    )


def look_for(
    specs: Sequence[TableSpec],
    positions: Mapping[TableId, Checkpoint],
    lake: LakeReader,
    known: Mapping[TableId, int],
    seconds: float,
) -> Iterator[tuple[TableSpec, int, str]]:
    """Tables whose log grew without a sync: its version, and what another writer did there, or NO_TABLE and the error where it cannot be read.

    Maintenance moves a version as well, and a log takes a while to read: one that was found in order up to a version (`known`) is not read
    again, and what does not fit into so many seconds is left to the next look.
    """
    ends = time.monotonic() + seconds
    for spec in specs:
        position = positions.get(spec.id, Checkpoint())
        if position.target is None or position.open is not None:
            continue
        try:
            found = lake.last_commit(spec)
        except IncrementalAssetsError as error:
            yield spec, NO_TABLE, str(error)
            continue
        if found is None or found.is_of(position.target, position.app_id) or found.version == known.get(spec.id):
            continue
        yield spec, found.version, seen_in(spec, position, lake)
        if time.monotonic() >= ends:
            return
