"""What the shares of a batch have done, as the actions of one commit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyroaring import BitMap64

from incremental_assets.adapters.delta.tasks.files.marked_file import marked, removed
from incremental_assets.adapters.delta.tasks.files.unit import (
    Applied,
    ApplyUnit,
    CopyUnit,
    Overwriting,
    Replacing,
    Share,
)

Action = Mapping[str, Any]


def together(unit: ApplyUnit, shares: Sequence[Share], copied: Sequence[Action | None] = ()) -> Applied:
    """A file of which several shares mark rows gets one vector, and all vectors one file. `copied`: what `copies` asks for."""
    now = time.time_ns() // 1_000_000
    gone = _gone(shares)
    over = ((unit.files[place], numbers) for place, numbers in gone.items())
    actions, files = list[Action](), list[str]()
    if _is_whole(unit):
        actions += [{"remove": removed(add, now)} for add in unit.files]
    elif unit.anew:
        actions += [{"remove": removed(add, now)} for add, _ in over]
    else:
        actions, files = marked(unit.table, over, now)
    anew = [add for add in copied if add is not None]
    adds = [share.add for share in shares if share.add is not None]
    return Applied(
        actions=(*actions, *({"add": add} for add in (*anew, *adds))),
        files=(*files, *(add["path"] for add in (*anew, *adds))),
        written=sum(share.written for share in shares),
        kept=sum(share.kept for share in shares),
        flagged=sum(share.flagged for share in shares),
        bytes=sum(int(add["size"]) for add in adds),
        late=sum(share.late for share in shares),
        marked=sum(map(len, gone.values())),
        left=sum(share.left for share in shares),
        unfit=sum(share.unfit for share in shares),
    )


def copies(unit: ApplyUnit, shares: Iterable[Share]) -> list[CopyUnit]:
    """The files that are to be written anew for what these shares have done."""
    if not unit.anew or _is_whole(unit):
        return []
    found = _gone(shares).items()
    return [CopyUnit(unit.table, unit.files[place], numbers, unit.anew, unit.statistics) for place, numbers in found]


def _gone(shares: Iterable[Share]) -> dict[int, BitMap64]:
    found: dict[int, BitMap64] = {}
    for share in shares:
        for place, numbers in share.gone.items():
            found[place] = found.get(place, BitMap64()) | numbers
    return found


def _is_whole(unit: ApplyUnit) -> bool:
    """Whether no file of the target stays."""
    return unit.how.whole if isinstance(unit.how, Replacing) else isinstance(unit.how, Overwriting)
