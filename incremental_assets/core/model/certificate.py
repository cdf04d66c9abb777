"""What an erasure says of itself, for whoever has to show that it was done: places, counts, what was found after it, and what nobody here can reach. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from incremental_assets.core.model.erasure import Examined, Found
from incremental_assets.core.model.table_id import TableId

VERSION = 1


@dataclass(frozen=True, slots=True)
class Certificate:
    """`keys`: as the list of erased keys has them; `beyond`: sentences on places that this program does not reach; `kept`: why it is not erased though nothing was found."""

    table: TableId
    at: datetime
    by: str
    reason: str
    run_id: str
    tool: str
    key_id: str
    keys: Sequence[str]
    before: Examined
    after: Examined
    removed: int
    beyond: Sequence[str]
    kept: Sequence[str] = ()

    @property
    def is_erased(self) -> bool:
        """Whether nothing of them is left in any place that was examined."""
        return not self.after.left and not self.kept

    def to_json(self) -> dict[str, Any]:
        """For a file, and for programs."""
        return {
            "version": VERSION,
            "result": "erased" if self.is_erased else "not erased",
            "table": str(self.table),
            "at": self.at.isoformat(),
            "by": self.by,
            "reason": self.reason,
            "run_id": self.run_id,
            "tool": self.tool,
            "keys": {"method": "HMAC-SHA256", "key_id": self.key_id, "digests": list(self.keys)},
            "examined": [
                {
                    "place": str(place),
                    "files": count,
                    "before": _in(self.before, place),
                    "after": _in(self.after, place),
                }
                for place, count in sorted(self.before.looked.items())
            ],
            "files_removed": self.removed,
            "left": [_entry(each) for each in self.after.left],
            "positions": [_entry(each) for each in self.after.found if each.is_position],
            "kept": list(self.kept),
            "out_of_reach": list(self.beyond),
        }


def _in(found: Examined, place: object) -> int:
    return sum(each.place is place for each in found.left)


def _entry(found: Found) -> dict[str, Any]:
    return {"place": str(found.place), "where": found.where, "how": [str(each) for each in found.how]}
