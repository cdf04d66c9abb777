"""What is said of several tables alike is said once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Said = TypeVar("Said")
Item = TypeVar("Item")


def alike(found: Iterable[tuple[Said, Item]]) -> list[tuple[Said, list[Item]]]:
    """Those of which the same is said, together; both in the order in which they come first."""
    groups: dict[Said, list[Item]] = {}
    for said, item in found:
        groups.setdefault(said, []).append(item)
    return list(groups.items())
