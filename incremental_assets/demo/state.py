"""What the demo remembers of its server between commands: one file that only its owner may read."""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

SUPERUSER = "demo_admin"


@dataclass(frozen=True, slots=True)
class ServerState:
    """`home` is the folder that holds the data, from the state's own folder on; `passwords` is by role."""

    home: str
    port: int
    passwords: dict[str, str] = field(repr=False)

    @classmethod
    def fresh(cls, home: str) -> Self:
        return cls(home, free_port(), {SUPERUSER: secrets.token_urlsafe(24)})

    @classmethod
    def read(cls, path: Path) -> Self | None:
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def write(self, path: Path) -> Self:
        """Whole or not at all: a killed command must not cost the password of a server that runs."""
        unfinished = path.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, indent=2)
        unfinished.replace(path)
        return self

    def on_another_port(self) -> Self:
        return replace(self, port=free_port())

    def with_role(self, role: str) -> Self:
        return replace(self, passwords=self.passwords | {role: secrets.token_urlsafe(24)})


def free_port() -> int:
    """A port that is free now; if another program takes it first, the server chooses again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
