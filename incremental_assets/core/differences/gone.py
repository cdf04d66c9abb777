"""Finds which keys of a copy a later snapshot of its source no longer has: those rows were deleted.

Both sides count and hash their keys by parts; keys are read of parts alone that differ, and in which the sums do not tell which key is
gone. What is then missing is looked for once more by its key, in the same snapshot, so that no slip in that arithmetic deletes a row.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from incremental_assets.core.errors import Refused
from incremental_assets.core.model.cures import allow_shrink
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.key_parts import (
    FEW,
    MOST_PARTS,
    KeyParts,
    KeySpread,
    coarse,
    differing,
    everywhere,
    finer,
    lacking,
    places_by_sums,
    rows_in,
    without,
)
from incremental_assets.core.model.measure import NotByBytes
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import CopyKeys, LakeKeys, Snapshot, SourceKeys
from incremental_assets.core.words import agreeing, counted


@dataclass(frozen=True, slots=True)
class Gone:
    """Keys that are gone: how many, and their columns as the stage takes them (a table of Arrow, or the fake's list)."""

    compared: KeysCompared
    rows: int = 0
    keys: Any = None


def find_gone(plan: SyncPlan, snapshot: Snapshot, lake: LakeKeys) -> Gone | None:
    """What this sync is to take out of the copy; None where it is not its turn to compare. Raises Refused."""
    source = snapshot.keys
    if not plan.reading.finds_gone or source is None:
        return None
    compared = KeysCompared(plan.reading.clock, source.storage)
    places = snapshot.selected.vanished if snapshot.selected else None
    copy = lake.keys(plan.spec)
    if copy is None:
        return Gone(compared)
    # Their keys are none of the copy's, where all of the copy's are gone.
    new = snapshot.rows - snapshot.rejected
    gone = gone_keys(copy, source, lambda least: check_fraction(plan, least, copy.spread().rows, new), places)
    check_storage(plan, len(gone), source)
    # Those were found gone before, within what may go then; one that is back waits for its row.
    marked = copy.marked()
    gone |= marked - source.present(marked) if marked else marked
    return Gone(compared, len(gone), copy.rows(gone)) if gone else Gone(compared)


def gone_keys(
    copy: CopyKeys, source: SourceKeys, check: Callable[[int], None] | None = None, places: KeyParts | None = None
) -> frozenset[str]:
    """The canonical texts of the keys that the copy holds and the source lacks; `check` hears how many at least, as soon as it is known.

    `places`: where they are known to lie; None: anywhere.
    """
    # Where a comparison of rows has shown that none is gone, no key is looked at.
    if (places is not None and not places.numbers) or not copy.spread().rows:
        return frozenset()
    spread = copy.spread()
    if places is not None:
        return _absent(copy.texts(places) - source.texts(places), source, check)
    if spread.rows > FEW and (here := copy.by_bytes()) and (there := source.by_bytes()):
        with suppress(NotByBytes):
            return _absent(_missing(here, there, spread, check), source, check)
    return _absent(_missing(copy, source, spread, check), source, check)


def _missing(
    copy: CopyKeys, source: SourceKeys, spread: KeySpread, check: Callable[[int], None] | None
) -> frozenset[str]:
    """Keys of the copy that the source lacks, by counts, sums and texts. `check` is called with the least number of them after each look."""
    lacked: frozenset[str] = frozenset()
    parts, rows, shift = everywhere(spread), spread.rows, coarse(spread)
    while rows > FEW:
        here, there = copy.sums(parts, shift), source.sums(parts, shift)
        if check is not None:
            check(lacking(here, there))
        found = differing(parts, shift, here, there)
        if len(found.numbers or ()) > MOST_PARTS:
            break
        if spread.by_hash and (alone := places_by_sums(found, here, there)):
            texts = copy.texts(KeyParts(spread.lowest, spread.highest, 0, frozenset(alone.values())))
            # One that the copy has not was no hash of a key, and then each part is looked into.
            if len(texts) == len(alone):
                lacked, found = lacked | texts, without(found, alone)
        if not found.numbers:
            return lacked
        parts, rows = found, rows_in(found, here)
        if shift == 0:
            break
        shift = finer(shift, len(found.numbers), rows)
    return lacked | (copy.texts(parts) - source.texts(parts))


def _absent(missing: frozenset[str], source: SourceKeys, check: Callable[[int], None] | None) -> frozenset[str]:
    gone = missing - source.present(missing) if missing else missing
    if check is not None:
        check(len(gone))
    return gone


def check_fraction(plan: SyncPlan, gone: int, rows: int, new: int = 0) -> None:
    """Stop where more is gone than may go without a person's word, and where nothing would be left, as no `new` row lands either."""
    most, empties = plan.spec.deletes.max_fraction, gone == rows and not new
    if not gone or plan.request.allow_shrink or (gone <= rows * most and not empties):
        return
    allowed = "which would leave none" if empties else f"more than `max_fraction: {most:g}` allows"
    raise Refused(
        f"{plan.spec.id}: {counted(gone, 'row')} of the {rows:,} in the copy {agreeing(gone, 'is', 'are')} gone from the source, {allowed}, "
        f"so the copy was left as it is; {_cure(plan)}"
    )


def check_storage(plan: SyncPlan, gone: int, source: SourceKeys) -> None:
    """Stop where rows are gone from a table that was truncated or rewritten since: who fills it again may not be done."""
    before = plan.previous.compared if plan.previous else None
    if not gone or before is None or plan.request.allow_shrink or not before.rewritten(source.storage):
        return
    raise Refused(
        f"{plan.spec.id}: the table was truncated or rewritten in the source since its keys were last compared, and {counted(gone, 'row')} of the "
        f"copy {agreeing(gone, 'is', 'are')} not there, so the copy was left as it is; {_cure(plan)}"
    )


def _cure(plan: SyncPlan) -> str:
    return f"if that is right, run {allow_shrink(plan.spec.id)}"
