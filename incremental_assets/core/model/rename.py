"""A column of the source that has another name than the one under which it landed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from incremental_assets.core.model.schema_change import Change, SchemaChange


@dataclass(frozen=True, slots=True)
class Rename:
    """`by`: the key of the configuration that says so; empty where the source itself does."""

    before: str
    after: str
    by: str = ""

    def change(self, rule: str) -> SchemaChange:
        """The rename as a recorded schema change, with the two names in the place of types."""
        return SchemaChange(self.after, Change.RENAMED, self.before, self.after, self.by or rule)

    @classmethod
    def from_change(cls, change: SchemaChange) -> Rename | None:
        """What a commit of ours says of itself; None where that is another change."""
        names = change.before, change.after
        if change.change is not Change.RENAMED or None in names:
            return None
        return cls(str(change.before), str(change.after))


@dataclass(frozen=True, slots=True)
class RenamedAt:
    """What one commit of a copy has renamed, and the version that it made."""

    version: int
    renames: tuple[Rename, ...]


def name_after(renames: Iterable[Rename], name: str) -> str:
    """The name that a column has after all of these, which happen at once: names may be exchanged."""
    return next((each.after for each in renames if each.before.lower() == name.lower()), name)
