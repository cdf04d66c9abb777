"""An installation: one checkpoint database and who works with it. A table of the lake has one at a time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Installation:
    """`id` is kept in the checkpoint database; at one `place` there is one such database at a time. `checkpoints` is its address without secrets."""

    id: str
    place: str
    checkpoints: str
    user: str
    host: str

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
            return cls(**{name: str(found[name]) for name in cls.__slots__})
        except (ValueError, TypeError, KeyError):
            return None
