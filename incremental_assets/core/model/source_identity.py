"""The identity of a database and the position of its log. Only a dialect knows what names and numbers mean; here they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Compared(StrEnum):
    """What a later answer is, compared with an earlier one."""

    SAME = "same"
    OLDER = "older"
    """The same database, before where it was: restored from an older copy, or a replica that lags behind."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """`names` tell one database from every other. `position` only grows within one `timeline`, and a failover or a recovery begins the next."""

    names: tuple[tuple[str, str], ...]
    timeline: int
    position: int

    @classmethod
    def of(cls, timeline: int, position: int, **names: str) -> SourceIdentity:
        """An identity with the names in the order given: `system="7001", database="shop"`."""
        return cls(tuple(names.items()), timeline, position)

    def is_of(self, other: SourceIdentity) -> bool:
        """Whether both are one database, wherever its log is."""
        return self.names == other.names

    def compared_with(self, before: SourceIdentity) -> Compared:
        """What this answer is, compared with an earlier one."""
        if not self.is_of(before):
            return Compared.OTHER
        return Compared.OLDER if self.position < before.position else Compared.SAME

    def differences_from(self, before: SourceIdentity) -> str:
        """`system 7002, was 7001; database shop_copy, was shop`."""
        was = dict(before.names)
        return "; ".join(f"{kind} {name}, was {was.get(kind, 'unknown')}" for kind, name in self.names)

    def __str__(self) -> str:
        return ", ".join(f"{kind} {name}" for kind, name in self.names)

    def to_json(self) -> dict[str, Any]:
        """The identity as part of a document."""
        return {"names": dict(self.names), "timeline": self.timeline, "position": self.position}

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> SourceIdentity:
        """Read back, also from documents before version 3, which had both names next to the numbers."""
        names = kept["names"] if "names" in kept else {name: kept[name] for name in ("system", "database")}
        return cls.of(kept["timeline"], kept["position"], **names)
