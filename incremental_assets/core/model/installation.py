"""An installation: one checkpoint database and who works with it. A table of the lake has one at a time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace

_REMEMBERED = 16
"""Of those before, as many are kept."""
_TEXTS = ("id", "place", "checkpoints", "user", "host")


@dataclass(frozen=True, slots=True)
class Installation:
    """`id` is kept in the checkpoint database; at one `place` there is one such database at a time. `checkpoints` is its address without secrets."""

    id: str
    place: str
    checkpoints: str
    user: str
    host: str
    before: tuple[str, ...] = field(default=(), compare=False)
    """Those whose place it has taken in a table, the last one first."""

    def after(self, owner: Installation) -> Installation:
        """The same, in the place of who owned a table so far."""
        known = (*([owner.id] if owner.id != self.id else []), *owner.before)
        return replace(self, before=tuple(each for each in known if each != self.id)[:_REMEMBERED])

    def is_kept_out_by(self, owner: Installation) -> bool:
        """Whether the owner is another one that lives: not one at whose place this one stands now, unless that one has taken the place of this one before."""
        return owner.id != self.id and (owner.place != self.place or self.id in owner.before)

    def __str__(self) -> str:
        return f"{self.user} on {self.host}, with the checkpoint database {self.checkpoints}"

    @property
    def person(self) -> str:
        """Who works with it, on which machine, as the audit names people."""
        return f"{self.user}@{self.host}"

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Installation | None:
        """Read it back; None of any other text, and of one that is cut."""
        try:
            found = json.loads(text)
            before = tuple(str(each) for each in found.get("before", ()))
            return cls(before=before, **{name: str(found[name]) for name in _TEXTS})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
