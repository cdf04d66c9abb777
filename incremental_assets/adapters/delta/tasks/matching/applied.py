"""What the shares of a batch have done, as the actions of one commit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from pyroaring import BitMap64

from incremental_assets.adapters.delta.tasks.files.marked_file import marked, removed
from incremental_assets.adapters.delta.tasks.files.unit import Applied, ApplyUnit, Overwriting, Replacing, Share


def together(unit: ApplyUnit, shares: Sequence[Share]) -> Applied:
    """A file of which several shares mark rows gets one vector, and all vectors one file."""
    now = time.time_ns() // 1_000_000
    gone, whole = _gone(shares), _is_whole(unit)
    over = () if whole else ((unit.files[place], numbers) for place, numbers in gone.items())
    actions, files = marked(unit.table, over, now)
    actions += [{"remove": removed(add, now)} for add in unit.files] if whole else []
    adds = [share.add for share in shares if share.add is not None]
    return Applied(
        actions=(*actions, *({"add": add} for add in adds)),
        files=(*files, *(add["path"] for add in adds)),
        written=sum(share.written for share in shares),
        kept=sum(share.kept for share in shares),
        flagged=sum(share.flagged for share in shares),
        bytes=sum(int(add["size"]) for add in adds),
        late=sum(share.late for share in shares),
        marked=sum(map(len, gone.values())),
        left=sum(share.left for share in shares),
        unfit=sum(share.unfit for share in shares),
    )


def _gone(shares: Iterable[Share]) -> dict[int, BitMap64]:
    found: dict[int, BitMap64] = {}
    for share in shares:
        for place, numbers in share.gone.items():
            found[place] = found.get(place, BitMap64()) | numbers
    return found


def _is_whole(unit: ApplyUnit) -> bool:
    """Whether no file of the target stays."""
    return unit.how.whole if isinstance(unit.how, Replacing) else isinstance(unit.how, Overwriting)
