"""A column of the source that has another name than the one under which it landed."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.model.schema_change import Change, SchemaChange


@dataclass(frozen=True, slots=True)
class Rename:
    """`configured`: whether the configuration says so, and not the source itself."""

    before: str
    after: str
    configured: bool = False

    def of(self, name: str) -> str:
        """The name that a column has after it."""
        return self.after if name.lower() == self.before.lower() else name

    def change(self, rule: str) -> SchemaChange:
        """For the ledger, where the two names stand in the place of types."""
        return SchemaChange(self.after, Change.RENAMED, self.before, self.after, "rename" if self.configured else rule)

    @classmethod
    def from_change(cls, change: SchemaChange) -> Rename | None:
        """What a commit of ours says of itself; None where that is another change."""
        names = change.before, change.after
        if change.change is not Change.RENAMED or None in names:
            return None
        return cls(str(change.before), str(change.after))
