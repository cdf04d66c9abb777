"""A log that begins anew: behind another slot, on another server, or where segments were lost. A segment of its own says so of all tables that went on from before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from incremental_assets.adapters.logs.following import Record
from incremental_assets.adapters.logs.segments.manifest import Manifest, Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.model.cures import LOAD_AGAIN


def start_anew(shelf: Shelf, known: Record, after: Standing, left: int) -> Record:
    """From a position on; `left`: the one up to which was read before. Nothing of an earlier segment is needed from then on."""
    begin = after.position
    why = (
        f"the log was left at {lsn_text(left)} and goes on at {lsn_text(begin)}, from another place in the source or as segments were lost: what changed in between is in "
        f"none; load it again with {LOAD_AGAIN}"
    )
    names = shelf.names()
    with shelf.segment() as segment:
        transactions, pieces = segment.files()
        # Also of tables whose record was lost: a copy may be taken back to before this.
        gaps = dict.fromkeys({*known.tables, *after.membership.tables}, why)
        follows = names[-1] if names else ""
        manifest = Manifest(left, follows, after, datetime.now(UTC), None, transactions, pieces, gaps)
        segment.finish(manifest)
        # Also where the segments are removed it is known that the slot is ahead of them.
        shelf.stand(after)
    return replace(known, last=manifest.name)
