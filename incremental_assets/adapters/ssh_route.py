"""The server of SSH through which a database is reached: a value of its address, so that no source without one loads what keeps the line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Route:
    """The server of SSH, and who asks it; neither key nor passphrase ever show."""

    host: str
    port: int
    user: str
    key: str = field(repr=False)
    passphrase: str = field(repr=False, default="")
    known_hosts: str = ""
    """The file of the keys of servers that are known; empty: that of the user."""
    within: float = 10.0
    """Seconds in which it has to answer."""

    @property
    def place(self) -> str:
        """As people read it."""
        return f"{self.user}@{self.host}:{self.port}"

    @property
    def known(self) -> str:
        """The file by its path."""
        return self.known_hosts or os.path.expanduser("~/.ssh/known_hosts")  # noqa: PTH111
